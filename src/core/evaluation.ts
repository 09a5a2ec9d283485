import { sumUsd } from './money.ts';

type CaseVerdict = 'APPROVED' | 'REVISE' | 'DISCUSS';

/** The result of a review of a past draft. */
export interface ReviewSaid {
  verdict: CaseVerdict;
  /** Tier 1 and 2 only. */
  findings: number;
  /** Findings about something that was changed later. */
  confirmed: number;
}

/** The result of the way from a past issue to a design; null: unknown. */
export interface DesignSaid {
  verdict: 'APPROVED' | 'DISCUSS';
  rounds: number;
  repairs: number | null;
  /** The files that both the design and the implementation name, as a share of those that either names. */
  files: number | null;
}

interface CaseFacts {
  /** `42/002`: a draft of the lineage; `42`: from the issue to a design. */
  case: string;
  candidate: string;
  costUsd: number | null;
}

export interface ReviewResult extends CaseFacts {
  kind: 'review';
  /** The verdict that would have been right, and how we know it. */
  right: 'APPROVED' | 'REVISE';
  because: 'decision' | 'revised' | 'edited' | 'approved' | 'merged';
  said: ReviewSaid;
  recorded: ReviewSaid;
}

export interface DesignResult extends CaseFacts {
  kind: 'design';
  said: DesignSaid;
  recorded: DesignSaid;
}

/** The result of one past case with one candidate, and the recorded one. */
export type CaseResult = ReviewResult | DesignResult;

export interface ReviewRow {
  candidate: string;
  cases: number;
  /** The verdict was right. */
  agreed: number;
  /** It approved a draft that was changed afterwards. */
  missed: number;
  discuss: number;
  findings: number;
  confirmed: number;
  costUsd: number | null;
}

/** `rounds`, `repairs` and `files` are averages. */
export interface DesignRow {
  candidate: string;
  cases: number;
  discuss: number;
  rounds: number;
  repairs: number | null;
  files: number | null;
  costUsd: number | null;
}

export interface Best {
  candidate: string;
  /** How many cases every candidate finished; only these are compared. */
  cases: number;
  /** In how many of them the verdict was right, or the design was approved. */
  hits: number;
  /** The 95 % confidence interval of the share of hits. */
  between: [number, number];
  runnerUp: { candidate: string; hits: number; chance: number } | null;
}

interface Compared<Row> {
  /** Drafts, or items. */
  cases: number;
  recorded: Row;
  candidates: Row[];
  /** Null: no case was finished by all candidates. */
  best: Best | null;
}

export interface Evaluation {
  reviews: Compared<ReviewRow> | null;
  designs: Compared<DesignRow> | null;
}

/** `candidates`: also those that finished nothing. */
export function evaluationOf(
  candidates: readonly Pick<CaseResult, 'kind' | 'candidate'>[],
  results: readonly CaseResult[],
): Evaluation {
  const reviews = results.filter((result) => result.kind === 'review');
  const designs = results.filter((result) => result.kind === 'design');
  const named = (kind: CaseResult['kind']): string[] => [
    ...new Set(candidates.filter((one) => one.kind === kind).map(({ candidate }) => candidate)),
  ];
  return {
    reviews: compared(named('review'), reviews, reviewRow, ({ right, said }) => [
      said.verdict === right ? 1 : 0,
      said.confirmed / Math.max(1, said.findings),
    ]),
    designs: compared(named('design'), designs, designRow, ({ said: { verdict, files, rounds } }) => [
      verdict === 'APPROVED' ? 1 : 0,
      files ?? 0,
      -rounds,
    ]),
  };
}

/** `score`: 1 for a hit, then values that decide between equals. */
function compared<Result extends CaseResult, Row extends { costUsd: number | null }>(
  candidates: readonly string[],
  results: readonly Result[],
  rowOf: (candidate: string, results: readonly Result[]) => Row,
  score: (result: Result) => number[],
): Compared<Row> | null {
  if (results.length === 0) return null;
  const byCandidate = candidates.map((name) => [name, results.filter(({ candidate }) => candidate === name)] as const);
  const once = [...new Map(results.map((result) => [result.case, result])).values()];
  const recorded = once.map((result): Result => ({ ...result, said: result.recorded, costUsd: null }));
  const common = once.filter((one) => byCandidate.every(([, own]) => own.some((result) => result.case === one.case)));
  const ranked = byCandidate.map(([candidate, own]) => {
    const shared = common.flatMap((one) => own.find((result) => result.case === one.case) ?? []);
    const scores = shared.map(score);
    const means = (scores[0] ?? []).map((_, part) => mean(scores.map((each) => each[part] ?? 0)));
    return {
      candidate,
      hits: scores.map(([hit]) => hit === 1),
      rank: [...means, -(total(shared) ?? Number.MAX_VALUE)],
    };
  });
  ranked.sort((a, b) => b.rank.map((value, at) => value - (a.rank[at] ?? 0)).find((difference) => difference) ?? 0);
  return {
    cases: once.length,
    recorded: rowOf('recorded', recorded),
    candidates: byCandidate.map(([candidate, own]) => rowOf(candidate, own)),
    best: common.length === 0 ? null : bestOf(ranked),
  };
}

interface Ranked {
  candidate: string;
  /** One per case, in the same order for all candidates. */
  hits: boolean[];
}

function bestOf([first, second]: readonly Ranked[]): Best | null {
  if (first === undefined) return null;
  const cases = first.hits.length;
  const runnerUp = second && {
    candidate: second.candidate,
    hits: count(second.hits),
    chance: chanceOf(
      first.hits.filter((hit, at) => hit && !second.hits[at]).length,
      second.hits.filter((hit, at) => hit && !first.hits[at]).length,
    ),
  };
  const hits = count(first.hits);
  return { candidate: first.candidate, cases, hits, between: wilson(hits, cases), runnerUp: runnerUp ?? null };
}

function reviewRow(candidate: string, results: readonly ReviewResult[]): ReviewRow {
  return {
    candidate,
    cases: results.length,
    agreed: count(results.map(({ said, right }) => said.verdict === right)),
    missed: count(results.map(({ said, right }) => said.verdict === 'APPROVED' && right === 'REVISE')),
    discuss: count(results.map(({ said }) => said.verdict === 'DISCUSS')),
    findings: results.reduce((sum, { said }) => sum + said.findings, 0),
    confirmed: results.reduce((sum, { said }) => sum + said.confirmed, 0),
    costUsd: total(results),
  };
}

function designRow(candidate: string, results: readonly DesignResult[]): DesignRow {
  const known = (of: (said: DesignSaid) => number | null): number | null => {
    const values = results.flatMap(({ said }) => of(said) ?? []);
    return values.length === 0 ? null : mean(values);
  };
  return {
    candidate,
    cases: results.length,
    discuss: count(results.map(({ said }) => said.verdict === 'DISCUSS')),
    rounds: known(({ rounds }) => rounds) ?? 0,
    repairs: known(({ repairs }) => repairs),
    files: known(({ files }) => files),
    costUsd: total(results),
  };
}

function total(results: readonly CaseResult[]): number | null {
  return sumUsd(...results.map(({ costUsd }) => costUsd));
}

function count(values: readonly boolean[]): number {
  return values.filter(Boolean).length;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Wilson's 95 % interval for a share. */
function wilson(hits: number, cases: number): [number, number] {
  const z = 1.96;
  const share = hits / cases;
  const middle = share + z ** 2 / (2 * cases);
  const reach = z * Math.sqrt((share * (1 - share)) / cases + z ** 2 / (4 * cases ** 2));
  const scale = 1 + z ** 2 / cases;
  return [Math.max(0, (middle - reach) / scale), Math.min(1, (middle + reach) / scale)];
}

/** The probability that chance alone makes a difference this large: the sign test over the cases where only one was right. */
function chanceOf(onlyFirst: number, onlySecond: number): number {
  const cases = onlyFirst + onlySecond;
  let ways = 1;
  let tail = 0;
  for (let k = 0; k <= Math.min(onlyFirst, onlySecond); k++) {
    tail += ways;
    ways = (ways * (cases - k)) / (k + 1);
  }
  return Math.min(1, (2 * tail) / 2 ** cases);
}
