import type { LldDocument } from '../document.ts';
import { beginsWithIssue, linksIssue, sameIssue } from '../issue-number.ts';
import { error, type LldFinding, quote, type RuleContext } from './rule.ts';

const RULE = 'issue-number';

/** The title and section 1 name the issue, the same one, and the one that was asked for. */
export function checkIssueNumber(lld: LldDocument, { issueId }: RuleContext): LldFinding[] {
  return [...inTitle(lld, issueId), ...inContext(lld, issueId)];
}

function inTitle(lld: LldDocument, issueId: string | null): LldFinding[] {
  const form = `write "# ${issueId ?? lld.contextIssue?.id ?? '<issue>'} - Feature: <title>"`;
  if (lld.title === '') return [error(RULE, 1, `The document has no title: ${form}.`)];
  // An issue may well be called `issue-5` or `none`: its own id is never a placeholder.
  if (issueId !== null && beginsWithIssue(lld.title, issueId)) return [];
  const { titleIssue: mention } = lld;
  if (mention && mention.id === null) {
    return [error(RULE, mention.line, `The title has ${quote(mention.text)} in place of the issue number: ${form}.`)];
  }
  if (issueId !== null) {
    if (mention?.id && sameIssue(mention.id, issueId)) return [];
    return [
      error(
        RULE,
        lld.titleLine,
        mention
          ? `The title names issue ${mention.text}, not ${issueId}: ${form}.`
          : `The title does not name its issue: ${form}.`,
      ),
    ];
  }
  return mention ? [] : [error(RULE, lld.titleLine, `The title does not name its issue: ${form}.`)];
}

function inContext(lld: LldDocument, issueId: string | null): LldFinding[] {
  const context = lld.sections.find((section) => section.id === '1');
  if (!context) return [];
  const mention = lld.contextIssue;
  const expected = issueId ?? lld.titleIssue?.id ?? null;
  const form = `write "* **Issue:** #${expected ?? '<issue>'}"`;
  if (!mention) return [error(RULE, context.line, `Section 1 has no issue link: ${form}.`)];
  if (issueId !== null && linksIssue(mention.text, issueId)) return [];
  if (mention.id === null) {
    return [error(RULE, mention.line, `Section 1 has ${quote(mention.text)} in place of the issue link: ${form}.`)];
  }
  if (expected === null || sameIssue(mention.id, expected)) return [];
  if (beginsWithIssue(mention.text, expected) || linksIssue(mention.text, expected)) return [];
  const other = issueId === null ? `the title names ${expected}` : `the issue is ${expected}`;
  return [error(RULE, mention.line, `Section 1 links issue ${mention.id}, but ${other}: ${form}.`)];
}
