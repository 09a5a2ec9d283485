import { diffLines } from 'diff';
import type { DesignSize } from '../core/config.ts';
import type { DesignResult, ReviewResult, ReviewSaid } from '../core/evaluation.ts';
import { sumUsd } from '../core/money.ts';
import { designFacts } from '../documents/lld/document.ts';
import { isTrustworthy, readReview } from '../documents/review/reader.ts';
import { LLD_FORM } from '../documents/revise/reply.ts';
import { withoutReviewLog } from '../documents/revise/review-log.ts';
import { contentWords, sharedWords, subjectsOf } from '../markdown/words.ts';
import type { Issue } from '../source/port.ts';
import { type DocumentRepository, evidenceRule } from './document.ts';
import { createDocumentQuestions, type DocumentReview, reviewDocument } from './document-review.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { lldCheck, lldSubject } from './lld.ts';

interface PastFacts {
  /** `42/002`, or `42`. */
  case: string;
  /** The issue as it was then, whole. */
  issue: string;
  /** The base commit. */
  commit: string;
}

/** A stored draft, to review once. */
export interface PastReview extends PastFacts, Pick<ReviewResult, 'kind' | 'right' | 'because' | 'recorded'> {
  draft: string;
  /** What was changed after its review. */
  later: LaterChange[];
}

/** An issue, to design once more. */
export interface PastDesign extends PastFacts, Pick<DesignResult, 'kind' | 'recorded'> {
  /** The files that were built, or else designed. */
  files: string[];
}

/** JSON: it is sent to a worker. */
export type PastCase = PastReview | PastDesign;

export interface Replay {
  past: PastCase;
  /** The issue as it was then. */
  issue: Issue;
  candidate: string;
  size: DesignSize | null;
}

/**
 * Replays one past case with the models, prompts and bounds of a candidate, in the review loop of every LLD. Drafts and
 * reviews go to the audit file of the run only.
 */
export async function replayCase(
  item: ItemContext,
  repository: DocumentRepository,
  { past, issue, candidate, size }: Replay,
): Promise<ItemResult> {
  const { journal, emit, maxRounds } = item;
  const { commit } = past;
  const { value } = await journal.step({ name: 'begin', inputs: { commit, issue: issue.hash } }, async () => ({
    context: await repository.contextFor(commit, issue),
  }));
  const base = await repository.open(commit);
  const questions = createDocumentQuestions(lldSubject(issue, value.context, item.prompts, size), item, commit);
  let round = 0;
  let repairs = 0;
  let lastReview = '';
  const repair: typeof questions.repair = (...asked) => {
    repairs += 1;
    return questions.repair(...asked);
  };
  const loop: DocumentReview = {
    form: LLD_FORM,
    questions: { ...questions, repair },
    check: (draft) => lldCheck(draft, issue, base, repository),
    weigh: evidenceRule(item, base, issue.raw),
    lineage: {
      async add(kind, text) {
        if (kind === 'draft') round += 1;
        else lastReview = text;
        emit({ type: 'set-aside', what: kind === 'draft' ? 'draft' : 'verdict', round, text });
      },
    },
    emit,
    maxRounds,
  };
  // Replayed answers included.
  const costUsd = (): number | null =>
    sumUsd(...item.spending.all().map((one) => one.costUsd ?? (one.metered ? null : 0)));
  if (past.kind === 'review') {
    const { kind, right, because, recorded } = past;
    const said = await reviewOnce(past, loop, () => lastReview);
    const result = { kind, case: past.case, candidate, right, because, said, recorded, costUsd: costUsd() };
    emit({ type: 'case-judged', result });
  } else {
    const { kind, recorded } = past;
    const { verdict: ended, rounds, text } = await reviewDocument(await questions.draft(), loop);
    const verdict = ended === 'APPROVED' ? 'APPROVED' : 'DISCUSS';
    const said = { verdict, rounds, repairs, files: fileAgreement(designFacts(text).files, past.files) } as const;
    emit({ type: 'case-judged', result: { kind, case: past.case, candidate, said, recorded, costUsd: costUsd() } });
  }
  return { status: 'succeeded', reason: null, outputs: [] };
}

/** The draft was reviewed at the time, so it is reviewed again, as in a first round, whatever the checks say now. */
async function reviewOnce(
  { draft, later }: PastReview,
  loop: DocumentReview,
  lastReview: () => string,
): Promise<ReviewSaid> {
  const { questions, maxRounds } = loop;
  const { verdict, ledger } = await reviewDocument(draft, {
    ...loop,
    // The prompt names the usual number of rounds.
    questions: { ...questions, review: (input, ...more) => questions.review({ ...input, maxRounds }, ...more) },
    check: async (text) => {
      const checked = await loop.check(text);
      return { ...checked, findings: checked.findings.filter(({ severity }) => severity === 'warning') };
    },
    maxRounds: 1,
  });
  const review = readReview(lastReview());
  // The last round ends in DISCUSS for a REVISE too.
  const asksForMore = isTrustworthy(review) && review.verdict === 'REVISE';
  const findings = ledger.findings.filter(({ tier, isUnproven }) => tier < 3 && !isUnproven).map(({ text }) => text);
  return {
    verdict: verdict === 'APPROVED' ? 'APPROVED' : asksForMore ? 'REVISE' : 'DISCUSS',
    findings: findings.length,
    confirmed: confirmedFindings(findings, later),
  };
}

/** The share of files that both name; null if neither names any. */
export function fileAgreement(designed: readonly string[], built: readonly string[]): number | null {
  const all = new Set([...designed, ...built]);
  const both = [...all].filter((path) => designed.includes(path) && built.includes(path));
  return all.size === 0 ? null : both.length / all.size;
}

/** A design before and after later changes. */
export type LaterChange = readonly [before: string, after: string];

/** Compares without the review log, which every review changes. */
export function saysTheSame(one: string, other: string): boolean {
  return withoutReviewLog(one).trim() === withoutReviewLog(other).trim();
}

/** How many words of a finding without a subject must be in the changed lines. */
const ENOUGH_WORDS = 3;
const ENOUGH_SHARE = 0.5;

/**
 * How many of these findings later changes confirm: the section, requirement, scenario or path that a finding names was changed,
 * or, if it names none of these, most of its words are in changed lines.
 */
export function confirmedFindings(findings: readonly string[], changes: readonly LaterChange[]): number {
  const lines = changes.flatMap(([before, after]) => changedLines(withoutReviewLog(before), withoutReviewLog(after)));
  const subjects = new Set(lines.flatMap(subjectsOfLine));
  const words = contentWords(lines.map(({ text }) => text).join('\n'));
  const isConfirmed = (finding: string): boolean => {
    const about = subjectsOf(finding);
    if (about.size > 0) return sharedWords(about, subjects) > 0;
    const own = contentWords(finding);
    const shared = sharedWords(own, words);
    return shared >= ENOUGH_WORDS && shared >= own.size * ENOUGH_SHARE;
  };
  return findings.filter(isConfirmed).length;
}

interface ChangedLine {
  text: string;
  /** `2.6`; null: above the first section. */
  section: string | null;
}

/** Lines that are in only one of the two, with their section. */
function changedLines(before: string, after: string): ChangedLine[] {
  const at: Record<'before' | 'after', string | null> = { before: null, after: null };
  return diffLines(before, after).flatMap(({ value, added, removed }) => {
    const sides = added ? (['after'] as const) : removed ? (['before'] as const) : (['before', 'after'] as const);
    return value.split('\n').flatMap((text) => {
      const heading = /^#{1,6}\s+(\d{1,2}(?:\.\d{1,2})?)\b/.exec(text)?.[1];
      if (heading !== undefined) for (const side of sides) at[side] = heading;
      return sides.length === 2 || text.trim() === '' ? [] : [{ text, section: at[sides[0]] }];
    });
  });
}

function subjectsOfLine({ text, section }: ChangedLine): string[] {
  const [whole = ''] = section?.split('.') ?? [];
  const requirement = whole === '3' ? /^\W*(?:REQ-|R)?0*(\d{1,4})\b/i.exec(text)?.[1] : undefined;
  const scenario = whole === '10' ? /^\|\W*0*(\d{1,4})\b/.exec(text)?.[1] : undefined;
  return [
    ...subjectsOf(text),
    ...(section === null ? [] : [`section ${section}`, `section ${whole}`]),
    ...(requirement === undefined ? [] : [`req ${requirement}`]),
    ...(scenario === undefined ? [] : [`scenario ${scenario}`]),
  ];
}
