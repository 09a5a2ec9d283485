import { contentWords, sharedWords, subjectsOf } from '../markdown/words.ts';
import { tableOf } from '../markdown/writer.ts';
import type { Finding, Review, Ruling, Tier } from './review/reader.ts';

export type FindingState = 'open' | 'fixed' | 'disputed' | 'withdrawn';

export interface LedgerFinding {
  /** `F1`, `F2`, … in order of appearance; never reused. */
  id: string;
  tier: Tier;
  area: string;
  /** In the reviewer's latest words. */
  text: string;
  /** Without evidence it is only a suggestion, whatever its tier. */
  isUnproven: boolean;
  state: FindingState;
  raisedInRound: number;
  /** The round whose review last changed or confirmed the state. */
  updatedInRound: number;
  /** Number of reviews in a row that left it open without a change to the draft in between. */
  unchangedReviews: number;
  /** Why it is disputed or withdrawn; empty otherwise. */
  reason: string;
  /** The drafter's reason against it, kept whatever the outcome; empty if none. */
  dispute: string;
}

/** Every finding of every round. Plain data: it is stored as JSON and never changed in place. */
export interface Ledger {
  readonly findings: readonly LedgerFinding[];
}

export const emptyLedger: Ledger = { findings: [] };

/*
 * The states of a finding, and how a review changes them. A review repeats a finding by listing it again, in any words; it rules
 * on one by naming its id. A ruling takes precedence over repetition. No review has to contain rulings.
 *
 *   (new)              → open        listed by a review of any verdict
 *   open, disputed     → open        repeated, or ruled open
 *   open               → fixed       not repeated by a REVISE or APPROVED review, or ruled fixed
 *   disputed           → withdrawn   not repeated by a REVISE or APPROVED review
 *   open, disputed     → withdrawn   ruled withdrawn
 *   (new)              → open        a person asks for it (`raise`)
 *   open               → disputed    the drafter gives a reason (`dispute`)
 *   open, disputed     → withdrawn   a person drops it (`withdraw`)
 *   fixed, withdrawn   → open        repeated, or ruled open
 *
 * A DISCUSS review settles only what it rules on. A review without a verdict changes nothing. Tier 2 findings of an APPROVED
 * review stay open in the log for the implementer; Tier 1 findings contradict the approval. Tier 3 never holds a draft back.
 */
export function recordReview(
  ledger: Ledger,
  review: Review,
  { round, draftChanged }: { round: number; draftChanged: boolean },
): Ledger {
  const { verdict } = review;
  if (verdict === null) return ledger;
  const rulings = new Map(review.rulings.map(({ id, state }) => [id, state]));
  const { repeated, added } = matchFindings(ledger.findings, review.findings);
  const findings = ledger.findings.map((entry): LedgerFinding => {
    const again = repeated.get(entry.id);
    const state = nextState(entry.state, verdict, again !== undefined, rulings.get(entry.id));
    if (isSettled(entry.state) && isSettled(state)) return entry;
    const isStillOpen = !isSettled(entry.state) && state === 'open' && !draftChanged;
    const withdrawn = entry.state === 'disputed' ? `disputed: ${entry.reason}` : 'withdrawn by the reviewer';
    return {
      ...entry,
      ...(again && { tier: again.tier, text: latestText(entry, again), isUnproven: again.isUnproven === true }),
      state,
      updatedInRound: round,
      unchangedReviews: isStillOpen ? entry.unchangedReviews + 1 : 0,
      reason: state === 'disputed' ? entry.reason : state === 'withdrawn' ? withdrawn : '',
    };
  });
  return added.reduce<Ledger>((all, finding) => raise(all, finding, round), { findings });
}

function nextState(
  state: FindingState,
  verdict: 'APPROVED' | 'REVISE' | 'DISCUSS',
  isRepeated: boolean,
  ruling: Ruling['state'] | undefined,
): FindingState {
  if (ruling !== undefined) return isSettled(state) && ruling !== 'open' ? state : ruling;
  if (isRepeated) return 'open';
  if (isSettled(state) || verdict === 'DISCUSS') return state;
  return state === 'disputed' ? 'withdrawn' : 'fixed';
}

function isSettled(state: FindingState): boolean {
  return state === 'fixed' || state === 'withdrawn';
}

/** "F3: still open" confirms a finding without repeating its text. */
function latestText(entry: LedgerFinding, again: Finding): string {
  return again.text.length * 2 < entry.text.length ? entry.text : again.text;
}

/** The findings that hold the draft back: Tier 1 and Tier 2, open or disputed. */
export function openFindings(ledger: Ledger): LedgerFinding[] {
  return ledger.findings.filter((finding) => finding.tier < 3 && !isSettled(finding.state));
}

/** Findings that were open twice in a row without a change to the draft: another round would not help. */
export function stuck(ledger: Ledger): string[] {
  return openFindings(ledger)
    .filter(({ unchangedReviews }) => unchangedReviews > 0)
    .map(({ id }) => id);
}

/** Marks an open finding as disputed by the drafter. Ids of other findings are ignored. */
export function dispute(ledger: Ledger, id: string, reason: string): Ledger {
  return withState(ledger, id, { state: 'disputed', reason, dispute: reason });
}

/** Withdraws an open or disputed finding. Ids of other findings are ignored. */
export function withdraw(ledger: Ledger, id: string, reason: string): Ledger {
  return withState(ledger, id, { state: 'withdrawn', reason });
}

/** Adds a finding, without a comparison with those that are there. */
export function raise(ledger: Ledger, finding: Finding, round: number): Ledger {
  const { tier, area, text, isUnproven = false } = finding;
  const rounds = { raisedInRound: round, updatedInRound: round, unchangedReviews: 0 };
  const id = `F${ledger.findings.length + 1}`;
  const entry = { id, tier, area, text, isUnproven, state: 'open' as const, ...rounds, reason: '', dispute: '' };
  return { findings: [...ledger.findings, entry] };
}

function withState(ledger: Ledger, id: string, change: Partial<LedgerFinding>): Ledger {
  return {
    findings: ledger.findings.map((finding) =>
      finding.id === id && !isSettled(finding.state) ? { ...finding, ...change } : finding,
    ),
  };
}

/** The disputes in a drafter's reply: "F2 disputed: the gateway bounds it", on a line or in a row of its own. */
export function disputesIn(reply: string): { id: string; reason: string }[] {
  const lines = reply.split('\n').filter((line) => /\bdisput/i.test(line));
  return lines.flatMap((line) => {
    const [, id, reason] = /(?:^|\W)(F\d+)\b.*?\bdisput\w*[*_]*\s*[:–—-]+\s*(.+)$/i.exec(line) ??
      /^\W*disput\w*\s+(?:finding\s+)?(F\d+)[*_]*\s*[:–—-]+\s*(.+)$/i.exec(line) ?? [null, undefined, ''];
    const said = (reason ?? '').replace(/[\s|*_]+$/, '');
    return id === undefined || said === '' ? [] : [{ id: id.toUpperCase(), reason: said }];
  });
}

/** The ledger as a table, for prompts and for people. */
export function formatLedger(ledger: Ledger): string {
  const rows = ledger.findings.map(
    ({ id, tier, isUnproven, area, state, reason, dispute: held, raisedInRound, text }) => [
      id,
      isUnproven ? `3 (raised as ${tier}, without evidence)` : String(tier),
      area,
      reason !== '' ? `${state} (${reason})` : held !== '' ? `${state} (disputed before: ${held})` : state,
      String(raisedInRound),
      text,
    ],
  );
  return tableOf(['Id', 'Tier', 'Area', 'State', 'Raised in round', 'Finding'], rows);
}

/** Two findings are the same if they share this part of the shorter one's words; less is enough for the same subject. */
const SAME_SUBJECT = 0.2;
const SAME_PLACE = 0.35;
const OTHER_PLACE = 0.55;
const ENOUGH_COMMON_WORDS = 3;

type Entry = Finding & { id: string };

/**
 * Finds the findings of a review that are in the ledger already. A finding with an id in front or in brackets is that entry;
 * the others are matched by likeness, best pairs first, each entry once.
 */
function matchFindings(
  entries: readonly Entry[],
  findings: readonly Finding[],
): { repeated: Map<string, Finding>; added: Finding[] } {
  const repeated = new Map<string, Finding>();
  const known = entries.map((entry) => ({ entry, words: wordsOf(entry.text) }));
  const unnamed = findings.filter((finding) => {
    const id = namedId(finding.text);
    const isKnown = entries.some((entry) => entry.id === id);
    if (isKnown && id !== null && !repeated.has(id)) repeated.set(id, finding);
    return !isKnown;
  });
  const pairs = unnamed.flatMap((finding) => {
    const words = wordsOf(finding.text);
    return known.flatMap(({ entry, words: own }) => {
      const isSamePlace = entry.tier === finding.tier && entry.area.toLowerCase() === finding.area.toLowerCase();
      const score = likeness(own, words, isSamePlace);
      return score === null ? [] : [{ finding, id: entry.id, score }];
    });
  });
  const taken = new Set<Finding>();
  for (const { finding, id } of pairs.toSorted((a, b) => b.score - a.score)) {
    if (taken.has(finding) || repeated.has(id)) continue;
    taken.add(finding);
    repeated.set(id, finding);
  }
  return { repeated, added: unnamed.filter((finding) => !taken.has(finding)) };
}

function namedId(text: string): string | null {
  const match = /^\W{0,4}(?:finding )?(F\d+)\b(?!\s*[-\s]?scores?\b)/i.exec(text) ?? /[[(](F\d+)[\])]/i.exec(text);
  return match?.[1]?.toUpperCase() ?? null;
}

interface Words {
  words: Set<string>;
  /** The requirements, scenarios, sections and paths that it names. */
  subjects: Set<string>;
}

function wordsOf(text: string): Words {
  const subjects = subjectsOf(text);
  return { words: new Set([...contentWords(text), ...subjects]), subjects };
}

/** Null: they are not the same. Two that name different things of one kind never are. */
function likeness(a: Words, b: Words, samePlace: boolean): number | null {
  const shared = sharedWords(a.subjects, b.subjects);
  const kinds = kindsOf(b);
  if (shared === 0 && [...kindsOf(a)].some((kind) => kinds.has(kind))) return null;
  const common = sharedWords(a.words, b.words);
  const share = common / Math.max(1, Math.min(a.words.size, b.words.size));
  const threshold = shared > 0 ? SAME_SUBJECT : samePlace ? SAME_PLACE : OTHER_PLACE;
  const isContained = samePlace && share === 1 && common === ENOUGH_COMMON_WORDS - 1;
  const isSame = (share >= threshold && common >= ENOUGH_COMMON_WORDS) || isContained;
  return isSame ? share + (samePlace ? 1 : 0) + shared : null;
}

function kindsOf({ subjects }: Words): Set<string> {
  return new Set([...subjects].map((subject) => subject.split(' ', 1)[0] ?? ''));
}
