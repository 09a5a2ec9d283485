import type { RootContent } from 'mdast';
import { fieldsIn, statementsIn, type TextLine } from '../../markdown/markdown.ts';
import { type DocumentFinding, error, quote } from '../finding.ts';
import type { LldDocument } from './document.ts';

/** Where a document names its issue. */
export interface IssueMention {
  /** The text in place of the id: `42`, `TBD`, `#0XXX`. */
  text: string;
  /** Null for a placeholder. */
  id: string | null;
  line: number;
}

const PLACEHOLDER =
  /^\W*(?:tbd|tba|todo|to be (?:determined|defined|assigned)|n\/?a|none|unknown|pending|\d*x{2,}|n{2,}|issue|id|number|\{\{.*\}\}|<.*>|\[.*\])?\W*$/i;
const TITLE_PREFIX = /^(?:(?:lld|low[- ]level design|design|issue|ticket)\b[\s:#–—-]*)*#?\s*/i;
const KINDS = /^(?:feature|fix|bug|chore|docs?|refactor|enhancement|task|improvement|tests?|lld|issue)$/i;
const ID = '[A-Za-z0-9_-]{1,64}';
const FIELD = /^(?:github )?(?:issue|ticket)(?: (?:link|number|id|no|#))?$/;

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

/** The field `Issue: #42` of section 1; else the first `#42` that is not a related issue. */
export function issueOfContext(nodes: RootContent[]): IssueMention | null {
  const isOwn = ({ text }: TextLine): boolean =>
    /#\w/.test(text) && !/^\W*(?:related|depends|blocked|see also|parent)/i.test(text);
  const field = fieldsIn(nodes).find(({ name }) => FIELD.test(name));
  const own = field ?? statementsIn(nodes).find(isOwn);
  if (!own) return null;
  const text = 'value' in own ? own.value.trim() : own.text;
  const [, id] = new RegExp(`(?:issues/|#|GH-)(${ID})`).exec(text) ?? new RegExp(`^\\W*(${ID})`).exec(text) ?? [];
  const isPlaceholder = id === undefined || [id, text].some((said) => PLACEHOLDER.test(said));
  return { text, id: isPlaceholder ? null : id, line: own.line };
}

/** Compares numbers without leading zeros, and names without case. */
export function sameIssue(found: string, id: string): boolean {
  const canonical = (value: string) => (/^\d+$/.test(value) ? value.replace(/^0+(?=\d)/, '') : value.toLowerCase());
  return canonical(found) === canonical(id);
}

/** Whether the text has this id behind `before`. `137-Feature` begins with 137, but `add-login` does not begin with `add`. */
function hasId(text: string, id: string, before: string): boolean {
  const behind = /^\d+$/.test(id) ? String.raw`(?![\p{L}\p{N}_])(?!-\d)` : String.raw`(?![\p{L}\p{N}_-])`;
  const plain = id.replace(/^0+(?=\d+$)/, '');
  // In Markdown `__init__` is the word init in bold.
  const bold = id.replace(/^(_{1,3})([^_].*[^_]|[^_])\1$/, '$2');
  return new RegExp(`${before}(?:0*${plain}|${bold})${behind}`, 'iu').test(text);
}

/** `issue-number`: the title and section 1 name the issue, the same one, and the one that was asked for. */
export function checkIssueNumber(lld: LldDocument, issueId: string | null): DocumentFinding[] {
  const { title, titleIssue, contextIssue } = lld;
  const context = lld.sections.find((section) => section.id === '1');
  const id = issueId ?? titleIssue?.id ?? contextIssue?.id ?? '<issue>';
  // The id that was asked for is never a placeholder, even if it is `issue-5` or `none`.
  const isAsked = (text: string, before: string): boolean => issueId !== null && hasId(text, issueId, before);
  const inTitle = [title, title.replace(TITLE_PREFIX, '')].some((text) => isAsked(text, '^\\W*'))
    ? null
    : problemOf(title === '' ? 'The document without a title' : 'The title', titleIssue, issueId);
  const inContext = isAsked(contextIssue?.text ?? '', '(?<![\\p{L}\\p{N}_])')
    ? null
    : problemOf('Section 1', contextIssue, issueId);
  const [one, other] = [titleIssue?.id ?? null, contextIssue?.id ?? null];
  const differ =
    issueId === null && one !== null && other !== null && !hasId(contextIssue?.text ?? '', one, '(?<!\\w)');
  const line = contextIssue?.line ?? context?.line ?? 1;
  const found: [what: string | null | false, line: number, advice: string][] = [
    [inTitle, lld.titleLine, `write "# ${id} - Feature: <title>"`],
    // An empty section has its own finding.
    [context && context.nodes.length > 0 ? inContext : null, line, `write "* **Issue:** #${id}"`],
    // Either of the two may be right.
    [differ && `The title names issue ${one} and section 1 links ${other}`, line, 'name the same issue in both'],
  ];
  return found.flatMap(([what, at, advice]) => (what ? [error('issue-number', at, `${what}: ${advice}.`)] : []));
}

/** What is wrong with a place that should name the issue, or null. */
function problemOf(place: string, mention: IssueMention | null, issueId: string | null): string | null {
  if (!mention) return `${place} does not name its issue`;
  if (mention.id === null) return `${place} has ${quote(mention.text)} in place of the issue number`;
  return issueId === null || sameIssue(mention.id, issueId)
    ? null
    : `${place} names issue ${mention.id}, not ${issueId}`;
}
