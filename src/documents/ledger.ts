import { tableOf } from '../markdown/writer.ts';
import { headline } from './finding.ts';
import { matchFindings } from './ledger-match.ts';
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
    const state = nextState(entry, verdict, again !== undefined, rulings.get(entry.id));
    const latest =
      again === undefined
        ? entry
        : { ...entry, tier: again.tier, text: latestText(entry, again), isUnproven: again.isUnproven === true };
    if (isSettled(entry) && isSettled({ state })) return entry;
    const stayedOpen = !isSettled(entry) && state === 'open';
    return {
      ...latest,
      state,
      updatedInRound: round,
      unchangedReviews: stayedOpen && !draftChanged ? entry.unchangedReviews + 1 : 0,
      reason: state === 'disputed' ? entry.reason : state === 'withdrawn' ? withdrawnBecause(entry) : '',
    };
  });
  const more = added.map((finding, index) => fresh(finding, ledger.findings.length + index, round));
  return { findings: [...findings, ...more] };
}

function nextState(
  { state }: Pick<LedgerFinding, 'state'>,
  verdict: 'APPROVED' | 'REVISE' | 'DISCUSS',
  isRepeated: boolean,
  ruling: Ruling['state'] | undefined,
): FindingState {
  const settled = isSettled({ state });
  if (ruling !== undefined) return settled && ruling !== 'open' ? state : ruling;
  if (isRepeated) return 'open';
  if (settled || verdict === 'DISCUSS') return state;
  return state === 'disputed' ? 'withdrawn' : 'fixed';
}

function isSettled({ state }: Pick<LedgerFinding, 'state'>): boolean {
  return state === 'fixed' || state === 'withdrawn';
}

function withdrawnBecause({ state, reason }: LedgerFinding): string {
  return state === 'disputed' ? `disputed: ${reason}` : 'withdrawn by the reviewer';
}

/** "F3: still open" confirms a finding without repeating its text. */
function latestText(entry: LedgerFinding, again: Finding): string {
  return again.text.length * 2 < entry.text.length ? entry.text : again.text;
}

/** The findings that hold the draft back: Tier 1 and Tier 2, open or disputed. */
export function openFindings(ledger: Ledger): LedgerFinding[] {
  return ledger.findings.filter((finding) => finding.tier < 3 && !isSettled(finding));
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

/** Adds a finding that comes from a person, not from a review. It is never matched with another one. */
export function raise(ledger: Ledger, finding: Finding, round: number): Ledger {
  return { findings: [...ledger.findings, fresh(finding, ledger.findings.length, round)] };
}

function fresh({ tier, area, text, isUnproven = false }: Finding, index: number, round: number): LedgerFinding {
  const rounds = { raisedInRound: round, updatedInRound: round, unchangedReviews: 0 };
  return { id: `F${index + 1}`, tier, area, text, isUnproven, state: 'open', ...rounds, reason: '', dispute: '' };
}

function withState(ledger: Ledger, id: string, change: Partial<LedgerFinding>): Ledger {
  return {
    findings: ledger.findings.map((finding) =>
      finding.id === id && !isSettled(finding) ? { ...finding, ...change } : finding,
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

/** The table of a Review Log: one row for each finding and what was done about it, then the given rows. */
export function formatReviewLog(ledger: Ledger, more: readonly [finding: string, answer: string][] = []): string {
  const findings = ledger.findings.map((finding) => [
    `${finding.id} (round ${finding.raisedInRound}, Tier ${finding.tier}${finding.area ? `, ${finding.area}` : ''}): ${finding.state === 'open' && finding.tier < 3 ? finding.text : headline(finding.text, 160)}`,
    answer(finding),
  ]);
  return tableOf(
    ['Finding', 'Answer'],
    [...(findings.length > 0 ? findings : [['None', 'No finding was raised']]), ...more],
  );
}

function answer(finding: LedgerFinding): string {
  const { dispute: held, reason } = finding;
  return held === '' || reason.includes(held)
    ? outcome(finding)
    : `${outcome(finding)}; the drafter disputed it: ${held}`;
}

function outcome({ tier, isUnproven, state, updatedInRound, reason }: LedgerFinding): string {
  switch (state) {
    case 'open':
      if (isUnproven) return 'Suggestion, logged: it names no evidence';
      return tier === 3 ? 'Suggestion, logged' : 'Open: approved with it, for the implementer to settle';
    case 'fixed':
      return tier === 3
        ? `Suggestion, not raised again in round ${updatedInRound}`
        : `Fixed, settled in round ${updatedInRound}`;
    case 'disputed':
      return `Disputed: ${reason}`;
    case 'withdrawn':
      return `Withdrawn: ${reason}`;
  }
}
