import type { DesignSize } from '../core/config.ts';
import type { DesignResult, DesignSaid, ReviewResult, ReviewSaid } from '../core/evaluation.ts';
import { sumUsd } from '../core/money.ts';
import { designFacts } from '../documents/lld/document.ts';
import { isTrustworthy, readReview } from '../documents/review/reader.ts';
import { LLD_FORM } from '../documents/revise/form.ts';
import type { Issue } from '../source/port.ts';
import { confirmedFindings, type LaterChange } from './confirmed.ts';
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
  const { commit } = past;
  const { value } = await item.journal.step({ name: 'begin', inputs: { commit, issue: issue.hash } }, async () => ({
    context: await repository.contextFor(commit, issue),
  }));
  const base = await repository.open(commit);
  const questions = createDocumentQuestions(lldSubject(issue, value.context, item.prompts, size), item, commit);
  let round = 0;
  let lastReview = '';
  const loop: DocumentReview = {
    form: LLD_FORM,
    questions,
    check: (draft) => lldCheck(draft, issue, base, repository),
    ...evidenceRule(item, base, issue.raw),
    lineage: {
      async add(kind, text) {
        if (kind === 'draft') round += 1;
        else lastReview = text;
        item.emit({ type: 'set-aside', what: kind === 'draft' ? 'draft' : 'verdict', round, text });
      },
    },
    emit: item.emit,
    maxRounds: item.maxRounds,
  };
  if (past.kind === 'review') {
    const said = await reviewOnce(past, loop, () => lastReview);
    const { kind, right, because, recorded } = past;
    const result = { kind, case: past.case, candidate, right, because, said, recorded, costUsd: costOf(item) };
    item.emit({ type: 'case-judged', result });
  } else {
    const said = await designAgain(past, await questions.draft(), loop);
    const { kind, recorded } = past;
    item.emit({
      type: 'case-judged',
      result: { kind, case: past.case, candidate, said, recorded, costUsd: costOf(item) },
    });
  }
  return { status: 'succeeded', reason: null, outputs: [] };
}

/** The draft was reviewed at the time, so it is reviewed again, as in a first round, whatever the checks say now. */
async function reviewOnce(
  { draft, later }: PastReview,
  loop: DocumentReview,
  lastReview: () => string,
): Promise<ReviewSaid> {
  const { verdict, ledger } = await reviewDocument(draft, {
    ...loop,
    // The prompt names the usual number of rounds.
    questions: {
      ...loop.questions,
      review: (input, checked, again) => loop.questions.review({ ...input, maxRounds: loop.maxRounds }, checked, again),
    },
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

async function designAgain({ files }: PastDesign, draft: string, loop: DocumentReview): Promise<DesignSaid> {
  let repairs = 0;
  const repair: DocumentReview['questions']['repair'] = (...asked) => {
    repairs += 1;
    return loop.questions.repair(...asked);
  };
  const outcome = await reviewDocument(draft, { ...loop, questions: { ...loop.questions, repair } });
  const { verdict, rounds, text } = outcome;
  return {
    verdict: verdict === 'APPROVED' ? 'APPROVED' : 'DISCUSS',
    rounds,
    repairs,
    files: fileAgreement(designFacts(text).files, files),
  };
}

/** The share of files that both name; null if neither names any. */
export function fileAgreement(designed: readonly string[], built: readonly string[]): number | null {
  const all = new Set([...designed, ...built]);
  const both = [...all].filter((path) => designed.includes(path) && built.includes(path));
  return all.size === 0 ? null : both.length / all.size;
}

/** Replayed answers included. */
function costOf({ spending }: ItemContext): number | null {
  return sumUsd(...spending.all().map(({ costUsd, metered }) => costUsd ?? (metered ? null : 0)));
}
