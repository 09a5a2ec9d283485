import type { Nodes, RootContent } from 'mdast';
import { type DocumentFinding, error, quote } from '../finding.ts';
import { flatText, lineOf, tablesIn } from '../markdown.ts';
import type { LldDocument } from './document.ts';

/** Where a document names its issue. */
export interface IssueMention {
  /** What stands in the place of the id: `42`, `TBD`, `#0XXX`. */
  text: string;
  /** The id as far as one can be told; null for a placeholder. */
  id: string | null;
  line: number;
}

const PLACEHOLDER =
  /^\W*(?:tbd|tba|todo|to be (?:determined|defined|assigned)|n\/?a|none|unknown|pending|\d*x{2,}|n{2,}|issue|id|number|\{\{.*\}\}|<.*>|\[.*\])?\W*$/i;
const TITLE_PREFIX = /^(?:(?:lld|low[- ]level design|design|issue|ticket)\b[\s:#–—-]*)*#?\s*/i;
const KINDS = /^(?:feature|fix|bug|chore|docs?|refactor|enhancement|task|improvement|tests?|lld|issue)$/i;
const ID = '[A-Za-z0-9_-]{1,64}';
const FIELD = /^\W*(?:github )?(?:issue|ticket)(?: (?:link|number|id|no|#))?\.?\W*[:：|]\s*(.*)$/is;

/** The id at the beginning of a title such as `42 - Feature: …`, `LLD-42: …`, `137-Feature: …`, `add-login - Feature: …`. */
export function issueOfTitle(title: string, line: number): IssueMention | null {
  const rest = title.replace(TITLE_PREFIX, '');
  const [, text] =
    /^(\d{1,64})(?=$|[^\p{L}\p{N}_])/u.exec(rest) ??
    /^(\{\{[^}]*\}\}|<[^>]*>|\[[^\]]*\]|\d*X{2,}|[\w-]{1,64}?)(?=\s+[-–—|]\s|:\s|-\p{Lu})/u.exec(rest) ??
    [];
  if (text !== undefined && !KINDS.test(text)) return { text, id: PLACEHOLDER.test(text) ? null : text, line };
  const linked = /#(\d{1,64})\b/.exec(title)?.[1];
  return linked === undefined ? null : { text: linked, id: linked, line };
}

/** The field `Issue: #42` of section 1, as list item, line or table row; else the first `#42` that is no related issue. */
export function issueOfContext(nodes: RootContent[]): IssueMention | null {
  const statements = statementsOf(nodes);
  const field = statements.find(({ text }) => FIELD.test(text));
  const own =
    field ??
    statements.find(({ text }) => /#\w/.test(text) && !/^\W*(?:related|depends|blocked|see also|parent)/i.test(text));
  if (!own) return null;
  const text = FIELD.exec(own.text)?.[1]?.trim() ?? own.text;
  const [, id] = new RegExp(`(?:issues/|#|GH-)(${ID})`).exec(text) ?? new RegExp(`^\\W*(${ID})`).exec(text) ?? [];
  return {
    text,
    id: id === undefined || [id, text].some((said) => PLACEHOLDER.test(said)) ? null : id,
    line: own.line,
  };
}

function statementsOf(nodes: Nodes[]): { text: string; line: number }[] {
  return nodes.flatMap((node) => {
    if (node.type === 'list') return node.children.map((item) => ({ text: linkedText(item), line: lineOf(item) }));
    if (node.type === 'table') {
      return tablesIn([node]).flatMap(({ rows }) => rows.map(({ cells, line }) => ({ text: cells.join(' | '), line })));
    }
    if (node.type !== 'paragraph') return [];
    const lines = linkedText(node).split('\n');
    return lines.map((text, index) => ({ text, line: lineOf(node) + index }));
  });
}

/** The text with the addresses of its links: `[Add login](issues/add-login.md)` names its issue only there. */
function linkedText(node: Nodes): string {
  if (node.type === 'link') return `${flatText(node)} ${node.url}`;
  if (node.type === 'break') return '\n';
  if ('value' in node) return node.value;
  return 'children' in node ? node.children.map((child) => linkedText(child)).join('') : '';
}

/** Whether an id in a document is this issue: numbers may carry leading zeros, names are compared without case. */
export function sameIssue(found: string, id: string): boolean {
  const canonical = (value: string) => (/^\d+$/.test(value) ? value.replace(/^0+(?=\d)/, '') : value.toLowerCase());
  return canonical(found) === canonical(id);
}

/** Whether this id stands at the beginning of a title: `137-Feature` begins with 137, `add-login` does not begin with `add`. */
function beginsWithIssue(title: string, id: string): boolean {
  const begins = new RegExp(`^\\W*${idPattern(id)}`, 'iu');
  return begins.test(title) || begins.test(title.replace(TITLE_PREFIX, ''));
}

function idPattern(id: string): string {
  return /^\d+$/.test(id)
    ? String.raw`0*${id.replace(/^0+(?=\d)/, '')}(?![\p{L}\p{N}_])(?!-\d)`
    : String.raw`${id}(?![\p{L}\p{N}_-])`;
}

const RULE = 'issue-number';

/** `issue-number`: the title and section 1 name the issue, the same one, and the one that was asked for. */
export function checkIssueNumber(lld: LldDocument, issueId: string | null): DocumentFinding[] {
  return [...inTitle(lld, issueId), ...inContext(lld, issueId)];
}

function inTitle(lld: LldDocument, issueId: string | null): DocumentFinding[] {
  const form = `write "# ${issueId ?? lld.contextIssue?.id ?? '<issue>'} - Feature: <title>"`;
  if (lld.title === '') return [error(RULE, 1, `The document has no title: ${form}.`)];
  // An issue may well be called `issue-5` or `none`: its own id is never a placeholder.
  if (issueId !== null && beginsWithIssue(lld.title, issueId)) return [];
  const { titleIssue: mention } = lld;
  if (!mention) return [error(RULE, lld.titleLine, `The title does not name its issue: ${form}.`)];
  if (mention.id === null)
    return [error(RULE, mention.line, `The title has ${quote(mention.text)} in place of the issue number: ${form}.`)];
  return issueId === null || sameIssue(mention.id, issueId)
    ? []
    : [error(RULE, lld.titleLine, `The title names issue ${mention.text}, not ${issueId}: ${form}.`)];
}

function inContext(lld: LldDocument, issueId: string | null): DocumentFinding[] {
  const context = lld.sections.find((section) => section.id === '1');
  if (!context) return [];
  const mention = lld.contextIssue;
  const expected = issueId ?? lld.titleIssue?.id ?? null;
  const form = `write "* **Issue:** #${expected ?? '<issue>'}"`;
  if (!mention) return [error(RULE, context.line, `Section 1 has no issue link: ${form}.`)];
  const isNamed = (id: string) => new RegExp(`(?<![\\p{L}\\p{N}_])${idPattern(id)}`, 'iu').test(mention.text);
  if (issueId !== null && isNamed(issueId)) return [];
  if (mention.id === null)
    return [error(RULE, mention.line, `Section 1 has ${quote(mention.text)} in place of the issue link: ${form}.`)];
  if (expected === null || isNamed(expected)) return [];
  if (issueId !== null)
    return [error(RULE, mention.line, `Section 1 links issue ${mention.id}, but the issue is ${expected}: ${form}.`)];
  // Either of the two may be the right one.
  const message = `The title names issue ${expected} and section 1 links ${mention.id}: name the same issue in both.`;
  return [error(RULE, mention.line, message)];
}
