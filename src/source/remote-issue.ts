import type { Nodes } from 'mdast';
import { AgentosError, type Problem } from '../core/errors.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import { oneLine } from '../core/lines.ts';
import type { Selection } from '../core/remote.ts';
import { writeFrontMatter } from '../documents/header.ts';
import { orElse } from '../host/failure.ts';
import { normaliseText, parseMarkdown } from '../markdown/markdown.ts';
import { parseIssue } from './directory.ts';
import type { Issue, IssueCommand, IssueSource, LinkedPullRequest } from './port.ts';

type NotTaken = Extract<Problem, { code: 'issue-not-taken' }>['why'];

/** The issues of one repository, as GitHub or GitLab has them. */
interface RemoteIssues {
  /** `github:owner/name` */
  location: string;
  select: Selection;
  /** The selected ones, or as many as are enough. */
  listed(isEnough?: (all: readonly RemoteIssue[]) => boolean): Promise<RemoteIssue[]>;
  /** Or why it can't be read any more. Rejects with `host-not-found`. */
  issue(number: number): Promise<RemoteIssue | NotTaken>;
  /** A mark that changes whenever one may have changed. One request, which costs no quota if nothing did. */
  poll(): Promise<string>;
}

/** An issue as a service lists it. */
export interface RemoteIssue {
  number: number;
  title: string;
  body: string;
  url: string;
  labels: string[];
  author: string;
  /** Why it can't be an item; null: it can. */
  obstacle: NotTaken | null;
  /** The number of open issues that block it, as far as the list says. */
  blockers: number;
  details: () => Promise<IssueDetails>;
}

export interface IssueDetails {
  comments: readonly RemoteComment[];
  blockedBy: string[];
  answeredBy: LinkedPullRequest[];
  isAuthorTrusted: boolean;
  /** Labels that were set by people who can vouch for the text, oldest first. */
  labelled: () => Promise<{ label: string; at: string }[]>;
  /** When the author last changed the text; null: not since the label was set. */
  changedMs: (labelledMs: number) => Promise<number | null | 'unknown'>;
}

export interface RemoteComment {
  id: string;
  by: string;
  /** Its author is a member of the repository. */
  isTrusted: boolean;
  at: string;
  url: string;
  body: string;
}

/** How every comment of this program begins. They are not part of an issue's text. */
const OWN_COMMENT = '<!-- agentos:';

const COMMAND = /^\s*\/agentos\s+(approve|revise|drop)\b[ \t]*:?([^]*)$/i;
const ANY_COMMAND = /^\s*\/agentos\b/i;
const LARGEST_CHARS = 1_000_000;

/** The ids are the numbers of the issues. */
export function createRemoteSource(service: RemoteIssues): IssueSource {
  const known = new Map<string, RemoteIssue>();
  const { location, select } = service;
  const { limit } = select;
  const isItem = ({ obstacle }: RemoteIssue): boolean => obstacle === null;

  async function issueNow(id: ItemId): Promise<RemoteIssue> {
    const missing = new AgentosError({ code: 'issue-missing', id, path: `${location}#${id}`, near: [] });
    if (!/^[1-9]\d{0,14}$/.test(id)) throw missing;
    const found = await orElse(service.issue(Number(id)), null);
    if (found === null) throw missing;
    const notTaken = (why: NotTaken): AgentosError =>
      new AgentosError({ code: 'issue-not-taken', id, where: location, why });
    if (typeof found === 'string') throw notTaken(found);
    if (found.obstacle !== null) throw notTaken(found.obstacle);
    const isSelected = select.labels.every((label) => hasLabel(found.labels, label));
    if (known.has(id) && !isSelected) throw notTaken('unlabelled');
    return found;
  }

  return {
    location,
    async ids() {
      const found = await (limit === null
        ? service.listed()
        : service.listed((all) => all.filter(isItem).length >= limit));
      const items = found.filter(isItem).slice(0, limit ?? found.length);
      for (const one of items) known.set(String(one.number), one);
      return items.map(({ number }) => parseItemId(String(number))).sort((a, b) => Number(a) - Number(b));
    },
    async look(id) {
      const found = known.get(id) ?? (await issueNow(id));
      return { id, title: titleOf(found), chars: found.title.length + found.body.length, blockers: found.blockers };
    },
    async read(id) {
      const found = await issueNow(id);
      const details = await found.details();
      const held = select.labels.filter((label) => hasLabel(found.labels, label));
      return issueFrom(found, location, details, await doubtOf(found, details, held, !known.has(id)));
    },
    poll: () => service.poll(),
  };
}

/** GitHub's labels are case-insensitive. */
function hasLabel(labels: readonly string[], label: string): boolean {
  return labels.some((one) => one.toLowerCase() === label.toLowerCase());
}

/**
 * Why no trusted person vouches for the current text; null: one does. Only its author and trusted people can change an issue, so
 * nobody has to vouch for a trusted author. `held`: the selecting labels that it has. `isNamed`: the user named the issue on the
 * command line, which vouches for its text.
 */
async function doubtOf(
  { author }: RemoteIssue,
  { isAuthorTrusted, labelled, changedMs }: IssueDetails,
  held: readonly string[],
  isNamed: boolean,
): Promise<string | null> {
  if (isAuthorTrusted) return null;
  const who = `its author, ${oneLine(author)}, is not a member of the repository`;
  if (held.length === 0) return isNamed ? null : `${who}, and no label vouches for its text`;
  const set = (await labelled()).findLast(({ label }) => hasLabel(held, label));
  if (set === undefined) return `${who}, and no trusted person set its label`;
  const labelledMs = Date.parse(set.at);
  const changed = await changedMs(labelledMs);
  if (changed === 'unknown') return `${who}, and whether its text changed after the label was set can't be told`;
  return changed !== null && changed > labelledMs ? `${who}, and changed its text after the label was set` : null;
}

function titleOf({ title, number }: RemoteIssue): string {
  return oneLine(title) || `Issue ${number}`;
}

/**
 * Combines title, body and the comments of trusted people into one text in the form of an issue file. The lineage stores that text,
 * and its hash changes if any part changes.
 */
function issueFrom(
  remote: RemoteIssue,
  location: string,
  { comments, blockedBy, answeredBy }: IssueDetails,
  doubt: string | null,
): Issue {
  const id = parseItemId(String(remote.number));
  const others = comments.filter(({ body }) => !body.startsWith(OWN_COMMENT));
  const said = others.filter(({ body }) => !ANY_COMMAND.test(body));
  const used = said.filter(({ isTrusted }) => isTrusted);
  const told = others.filter(({ body }) => ANY_COMMAND.test(body));
  const text = [outsideText(remote.body), ...used.map(commentText)].filter((part) => part !== '').join('\n\n');
  if (text.length > LARGEST_CHARS) {
    const reason = `is larger than ${LARGEST_CHARS / 1_000_000} MB with its comments`;
    throw new AgentosError({ code: 'issue-unreadable', id, path: `${location}#${id}`, reason });
  }
  const { url, labels } = remote;
  return {
    ...parseIssue(id, writeFrontMatter(`${text}\n`, { title: titleOf(remote), url, labels })),
    facts: {
      url,
      blockedBy,
      answeredBy,
      doubt,
      comments: { used: used.map((comment) => comment.id), leftOut: said.length - used.length },
      commands: told.filter(({ isTrusted }) => isTrusted).flatMap(commandIn),
      ignoredCommands: told.filter(({ isTrusted }) => !isTrusted).length,
    },
  };
}

/** As a quotation with its author, so that its headings are not taken for the issue's. */
function commentText({ by, at, body }: RemoteComment): string {
  const text = outsideText(body);
  if (text === '') return '';
  const lines = text.split('\n').map((line) => `> ${line}`.trimEnd());
  return [`Comment by ${oneLine(by)}, ${at.slice(0, 10)}:`, '', ...lines].join('\n');
}

function commandIn({ id, by, at, url, body }: RemoteComment): IssueCommand[] {
  const [, kind, text = ''] = COMMAND.exec(body) ?? [];
  if (kind === undefined) return [];
  return [{ id, by, at, url, kind: kind.toLowerCase() as IssueCommand['kind'], text: outsideText(text) }];
}

/** Control characters except line feed and tab. */
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** Invisible characters, and those that change the order of text. */
const INVISIBLE = /[\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu;

/**
 * A text from outside as the web page shows it. Hidden parts must not reach a model, because the person who vouches for the text has
 * not seen them.
 */
export function outsideText(text: string): string {
  return withoutComments(normaliseText(text).replace(INVISIBLE, '').replace(CONTROL, '')).trim();
}

/** Removes HTML comments, except in code, where the page shows them. */
function withoutComments(text: string): string {
  if (!text.includes('<!--')) return text;
  let rest = '';
  let at = 0;
  for (const { start, end } of htmlIn(parseMarkdown(text))) {
    rest += text.slice(at, start) + text.slice(start, end).replace(/<!--[^]*?(?:-->|$)/g, '');
    at = end;
  }
  return rest + text.slice(at);
}

function htmlIn(node: Nodes): { start: number; end: number }[] {
  if (node.type === 'html') {
    const start = node.position?.start.offset ?? 0;
    return [{ start, end: node.position?.end.offset ?? start }];
  }
  return 'children' in node ? node.children.flatMap((child: Nodes) => htmlIn(child)) : [];
}
