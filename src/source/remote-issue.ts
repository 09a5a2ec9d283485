import { AgentosError } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { writeFrontMatter } from '../documents/header.ts';
import { parseIssue } from './directory.ts';
import { outsideLine, outsideText } from './outside-text.ts';
import type { Issue, IssueCommand, LinkedPullRequest } from './port.ts';

/** An issue as a service has it, in words that all of them share. */
export interface RemoteIssue {
  number: number;
  title: string;
  body: string;
  url: string;
  updatedAt: string;
  labels: string[];
  author: string;
  comments: readonly RemoteComment[];
  blockedBy: string[];
  answeredBy: LinkedPullRequest[];
  doubt: string | null;
}

export interface RemoteComment {
  id: string;
  by: string;
  /** By a person with a say in the repository. */
  isTrusted: boolean;
  at: string;
  url: string;
  body: string;
}

/** How every comment of this program begins: it is no part of an issue's text. */
export const OWN_COMMENT = '<!-- agentos:';

const COMMAND = /^\s*\/agentos\s+(approve|revise|drop)\b[ \t]*:?([^]*)$/i;
const ANY_COMMAND = /^\s*\/agentos\b/i;
const LARGEST_CHARS = 1_000_000;

/**
 * Title, body and the comments of the trusted as one text, in the form that an issue in a file has: the lineage keeps it, and its
 * hash says whether any of them changed.
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

/** With its author, as a quotation: its headings are not the issue's. */
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

/** Whether a trusted person vouches for the text as it is now. */
export interface Vouching {
  isAuthorTrusted: boolean;
  author: string;
  /** A person named the issue to this program, and so vouches for what it says. */
  isNamed: boolean;
  /** When a trusted person set the label that selects it; null: it has none; unknown: by whom can't be told. */
  labelledMs: number | null | 'unknown';
  /** When the author, who is not trusted, last changed the text. Asked only where it matters. */
  changedMs: () => Promise<number | null | 'unknown'>;
}

/** Only its author and trusted people can change the text of an issue, so that a trusted author needs no voucher. */
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

/** Whether the text of a pull request says that it closes an issue. `path`: the repository that each of them is in. */
export function closes(text: string, at: { path: string; of: string; number: number }): boolean {
  const { path, of, number } = at;
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
