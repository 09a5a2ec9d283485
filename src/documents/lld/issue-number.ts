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

/** `issue-number`: the title and section 1 name the issue, the same one, and the one that was asked for. */
export function checkIssueNumber(lld: LldDocument, issueId: string | null): DocumentFinding[] {
  return [...inTitle(lld, issueId), ...inContext(lld, issueId)].map(({ line, message }) =>
    error('issue-number', line, message),
  );
}

type Wrong = { line: number; message: string }[];

function inTitle({ title, titleLine: line, titleIssue, contextIssue }: LldDocument, issueId: string | null): Wrong {
  const form = `write "# ${issueId ?? contextIssue?.id ?? '<issue>'} - Feature: <title>"`;
  const wrong = (what: string): Wrong => [{ line, message: `${what}: ${form}.` }];
  if (title === '') return wrong('The document has no title');
  // An issue may well be called `issue-5` or `none`: its own id is never a placeholder.
  if (issueId !== null && beginsWithIssue(title, issueId)) return [];
  if (!titleIssue) return wrong('The title does not name its issue');
  if (titleIssue.id === null) return wrong(`The title has ${quote(titleIssue.text)} in place of the issue number`);
  const isRight = issueId === null || sameIssue(titleIssue.id, issueId);
  return isRight ? [] : wrong(`The title names issue ${titleIssue.text}, not ${issueId}`);
}

function inContext({ sections, titleIssue, contextIssue }: LldDocument, issueId: string | null): Wrong {
  const context = sections.find((section) => section.id === '1');
  if (!context) return [];
  const expected = issueId ?? titleIssue?.id ?? null;
  const line = contextIssue?.line ?? context.line;
  const wrong = (what: string): Wrong => [
    { line, message: `${what}: write "* **Issue:** #${expected ?? '<issue>'}".` },
  ];
  if (!contextIssue) return wrong('Section 1 has no issue link');
  const { id, text } = contextIssue;
  const isNamed = (one: string) => new RegExp(`(?<![\\p{L}\\p{N}_])${idPattern(one)}`, 'iu').test(text);
  if (issueId !== null && isNamed(issueId)) return [];
  if (id === null) return wrong(`Section 1 has ${quote(text)} in place of the issue link`);
  if (expected === null || isNamed(expected)) return [];
  if (issueId !== null) return wrong(`Section 1 links issue ${id}, but the issue is ${expected}`);
  // Either of the two may be the right one.
  return [
    { line, message: `The title names issue ${expected} and section 1 links ${id}: name the same issue in both.` },
  ];
}
