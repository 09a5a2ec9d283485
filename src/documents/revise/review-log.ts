import { parseMarkdown, type Section, sectionsOf } from '../../markdown/markdown.ts';
import { REVIEW_LOG_KEY, readTitle } from '../../markdown/words.ts';
import { tableOf } from '../../markdown/writer.ts';
import { type Decision, describeDecision } from '../decision.ts';
import { headline } from '../finding.ts';
import type { Ledger, LedgerFinding } from '../ledger.ts';

/** The table of a review log: one row for each finding and what was done about it, then one for each decision of a person. */
export function formatReviewLog({ findings }: Ledger, decisions: readonly Decision[] = []): string {
  const rows = findings.map((finding) => {
    const { id, raisedInRound, tier, area, state, text, dispute, reason } = finding;
    const place = `${id} (round ${raisedInRound}, Tier ${tier}${area ? `, ${area}` : ''})`;
    // A finding that the implementer has to settle is in the log in full.
    const said = state === 'open' && tier < 3 ? text : headline(text, 160);
    const held = dispute === '' || reason.includes(dispute) ? '' : `; the drafter disputed it: ${dispute}`;
    return [`${place}: ${said}`, `${outcomeOf(finding)}${held}`];
  });
  const decided = decisions.map((decision) => {
    const answer = describeDecision(decision);
    return [`Decision of a person, ${decision.at}`, `${answer.charAt(0).toUpperCase()}${answer.slice(1)}`];
  });
  const none = ['None', 'No finding was raised'];
  return tableOf(['Finding', 'Answer'], [...(rows.length > 0 ? rows : [none]), ...decided]);
}

function outcomeOf({ tier, isUnproven, state, updatedInRound, reason }: LedgerFinding): string {
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

/** The draft with this table in its review log; every other byte stays. */
export function withReviewLog(draft: string, table: string): string {
  const section = reviewLogOf(draft);
  if (!section) return `${draft.trimEnd()}\n\n## Appendix: Review Log\n${table}\n`;
  const { start, end } = section.all.find(({ type }) => type === 'table')?.position ?? {};
  if (start?.offset !== undefined && end?.offset !== undefined)
    return `${draft.slice(0, start.offset)}${table}${draft.slice(end.offset)}`;
  const headingEnd = section.heading.position?.end.offset ?? section.start;
  const rest = draft.slice(headingEnd).replace(/^\s*\n/, '');
  return `${draft.slice(0, headingEnd)}\n\n${table}\n${rest === '' ? '' : `\n${rest}`}`;
}

/** The document without its review log, for readers that have no use for it. */
export function withoutReviewLog(document: string): string {
  const section = reviewLogOf(document);
  if (!section) return document;
  const rest = document.slice(section.end).trim();
  return `${document.slice(0, section.start).trimEnd()}\n${rest === '' ? '' : `\n${rest}\n`}`;
}

/** The log is an appendix, so the last heading of that name is meant. */
function reviewLogOf(draft: string): Section | undefined {
  return sectionsOf(parseMarkdown(draft)).findLast((section) => readTitle(section.title).key === REVIEW_LOG_KEY);
}

/** Sets the `**Status:**` line of section 1; a document without one stays as it is. */
export function withStatus(document: string, status: string): string {
  const context = sectionsOf(parseMarkdown(document)).find(({ title }) => /context/i.test(title));
  if (!context) return document;
  const section = document.slice(context.start, context.end);
  const set = section.replace(/^([*+-] +\*\*Status(?::\*\*|\*\*:)).*$/im, (_, label: string) => `${label} ${status}`);
  return document.slice(0, context.start) + set + document.slice(context.end);
}
