import type { Nodes } from 'mdast';
import { AgentosError } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { writeFrontMatter } from '../documents/header.ts';
import { normaliseText, parseMarkdown } from '../markdown/markdown.ts';
import { parseIssue } from './directory.ts';
import type { Issue, IssueCommand, LinkedPullRequest } from './port.ts';

/** An issue of a service, in the terms that GitHub and GitLab share. */
interface RemoteIssue {
  number: number;
  title: string;
  body: string;
  url: string;
  updatedAt: string;
  labels: string[];
  comments: readonly RemoteComment[];
  blockedBy: string[];
  answeredBy: LinkedPullRequest[];
  doubt: string | null;
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

/**
 * Combines title, body and the comments of trusted people into one text in the form of an issue file. The lineage stores that text,
 * and its hash changes if any part changes.
 */
export function issueFrom(remote: RemoteIssue, location: string): Issue {
  const id = parseItemId(String(remote.number));
  const title = outsideLine(remote.title) || `Issue ${id}`;
  const others = remote.comments.filter(({ body }) => !body.startsWith(OWN_COMMENT));
  const said = others.filter(({ body }) => !ANY_COMMAND.test(body));
  const used = said.filter(({ isTrusted }) => isTrusted);
  const told = others.filter(({ body }) => ANY_COMMAND.test(body));
  const parts = [outsideText(remote.body), ...used.map(commentText)].filter((part) => part !== '');
  const text = parts.join('\n\n');
  if (text.length > LARGEST_CHARS) {
    const reason = `is larger than ${LARGEST_CHARS / 1_000_000} MB with its comments`;
    throw new AgentosError({ code: 'issue-unreadable', id, path: `${location}#${id}`, reason });
  }
  const { url, labels, updatedAt, blockedBy, answeredBy, doubt } = remote;
  const issue = parseIssue(id, writeFrontMatter(`${text}\n`, { title, url, labels }));
  return {
    ...issue,
    facts: {
      url,
      updatedAt,
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
  return [`Comment by ${outsideLine(by)}, ${at.slice(0, 10)}:`, '', ...lines].join('\n');
}

function commandIn({ id, by, at, url, body }: RemoteComment): IssueCommand[] {
  const [, kind, text = ''] = COMMAND.exec(body) ?? [];
  if (kind === undefined) return [];
  return [{ id, by, at, url, kind: kind.toLowerCase() as IssueCommand['kind'], text: outsideText(text) }];
}

interface Vouching {
  isAuthorTrusted: boolean;
  author: string;
  /** The user named the issue on the command line, which vouches for its text. */
  isNamed: boolean;
  /** When a trusted person set the selecting label; null: it has no such label; unknown: can't tell who set it. */
  labelledMs: number | null | 'unknown';
  /** When the author last changed the text. Called only if the author is not trusted. */
  changedMs: () => Promise<number | null | 'unknown'>;
}

/**
 * Why no trusted person vouches for the current text; null: one does. Only its author and trusted people can change an issue, so
 * nobody has to vouch for a trusted author.
 */
export async function doubtOf({
  isAuthorTrusted,
  author,
  isNamed,
  labelledMs,
  changedMs,
}: Vouching): Promise<string | null> {
  if (isAuthorTrusted) return null;
  const who = `its author, ${outsideLine(author)}, is not a member of the repository`;
  if (labelledMs === null) return isNamed ? null : `${who}, and no label vouches for its text`;
  if (labelledMs === 'unknown') return `${who}, and no trusted person set its label`;
  const changed = await changedMs();
  if (changed === 'unknown') return `${who}, and whether its text changed after the label was set can't be told`;
  return changed !== null && changed > labelledMs ? `${who}, and changed its text after the label was set` : null;
}

const CLOSING = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+([^\s,;)]+)/gi;

/** Whether the text of a pull request in the repository `of` says that it closes this issue of the repository `path`. */
export function closes(text: string, { path, of, number }: { path: string; of: string; number: number }): boolean {
  for (const [, target = ''] of text.matchAll(CLOSING)) {
    const [, named, digits] =
      /^(?:https?:\/\/[^/]+\/)?([\w./-]+?)(?:#|\/issues\/|\/-\/issues\/)(\d+)\b/.exec(target) ??
      /^()(?:#|GH-)(\d+)\b/i.exec(target) ??
      [];
    if (Number(digits) !== number) continue;
    if ((named || of).toLowerCase() === path.toLowerCase()) return true;
  }
  return false;
}

/** Control characters except line feed and tab. */
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** Invisible characters, and those that change the order of text. */
const INVISIBLE = /[\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu;

/** One line of visible characters. */
export function outsideLine(text: string): string {
  return normaliseText(text).replace(INVISIBLE, '').replace(CONTROL, ' ').replace(/\s+/g, ' ').trim();
}

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
