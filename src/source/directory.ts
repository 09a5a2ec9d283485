import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { oneLine } from '../core/lines.ts';
import { nearest } from '../core/nearest.ts';
import { type Header, readHeader } from '../documents/header.ts';
import { normaliseText, parseMarkdown, plainText } from '../markdown/markdown.ts';
import { namesInside, readText, unreadableReason } from '../process/files.ts';
import type { Issue, IssueSource } from './port.ts';

const ISSUE_CODES = { folder: 'source-missing', missing: 'issue-missing', unreadable: 'issue-unreadable' } as const;
const BRIEF_CODES = { folder: 'briefs-missing', missing: 'brief-missing', unreadable: 'brief-unreadable' } as const;

/** Idea briefs as Markdown files in one folder, `briefs/<slug>.md`. */
export function createBriefSource(directory: string): IssueSource {
  return createDirectorySource(directory, BRIEF_CODES);
}

/** Issues as Markdown files in one folder, `issues/<id>.md`. */
export function createDirectorySource(
  directory: string,
  codes: typeof ISSUE_CODES | typeof BRIEF_CODES = ISSUE_CODES,
): IssueSource {
  async function ids(): Promise<ItemId[]> {
    if (!existsSync(directory)) throw new AgentosError({ code: codes.folder, directory });
    return filesIn(directory, ISSUE_NAME).map(({ id }) => id);
  }

  async function read(id: ItemId): Promise<Issue> {
    const path = join(directory, `${id}.md`);
    const unreadable = (reason: string, cause?: unknown): AgentosError =>
      new AgentosError({ code: codes.unreadable, id, path, reason }, { cause });
    let text: string | null;
    try {
      text = readText(path, directory);
    } catch (error) {
      const reason = unreadableReason(error);
      throw unreadable(reason === 'EISDIR' ? 'is a folder' : reason, error);
    }
    if (text === null) {
      const near = nearest(id, await ids().catch(() => []));
      throw new AgentosError({ code: codes.missing, id, path, near });
    }
    if (text.trim() === '') throw unreadable('is empty');
    return parseIssue(id, text);
  }

  return {
    location: directory,
    ids,
    read,
    async look(id) {
      const { title, raw } = await read(id);
      return { id, title, chars: raw.length, blockers: 0 };
    },
    poll: async () => datesOf(namesInside(directory, dirname(directory)).map((name) => join(directory, name))),
  };
}

/** Changes whenever one of these files does. */
export async function datesOf(files: readonly string[]): Promise<string> {
  const found = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return sha256(files.map((file, index) => `${file}\0${found[index]?.size}\0${found[index]?.mtimeMs}`).join('\n'));
}

/** A heading without markup, as nearly all are: no parser is needed. */
const PLAIN_HEADING = /^#{1,6} +([\p{L}\p{N}][\p{L}\p{N} ,.:;'()/?+-]*)(?:\n|$)/u;

/** The title comes from the front matter, else from the first heading, else from the first line. */
export function parseIssue(id: ItemId, raw: string): Issue {
  const text = normaliseText(raw);
  const { header, body } = readHeader(text);
  const { labels } = header;
  const title = oneLine(header.title || titleOf(body) || `Issue ${id}`).slice(0, 200) || `Issue ${id}`;
  const hash = sha256(words(`${title}\n${body}`));
  return { id, title, body: body.trim(), labels, raw: text, hash, rawHash: sha256(text.trimEnd()) };
}

/** Without line breaks, indentation and capitals: changing only those does not change what an issue asks for. */
function words(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim();
}

function titleOf(body: string): string {
  const plain = PLAIN_HEADING.exec(body)?.[1];
  if (plain !== undefined) return plain.trim();
  // A backlog may have thousands of issues: only the first block is parsed.
  const first = parseMarkdown(/^\s*\S[^]{0,2000}?(?=\n\s*\n|$)/.exec(body)?.[0] ?? body.slice(0, 2_000)).children[0];
  const heading = first?.type === 'heading' ? plainText(first) : '';
  const firstText = plainText(first?.type === 'list' ? first.children[0] : first);
  return heading || (firstText.split('\n')[0]?.trim() ?? '');
}

/** The beginning of an existing issue or LLD. */
interface KnownText {
  id: ItemId;
  kind: 'issue' | 'lld';
  title: string;
  /** Without front matter. */
  text: string;
  /** Empty unless the front matter has one of `USED_FIELDS`. */
  header: Header;
}

const HEAD_BYTES = 16_384;
const ISSUE_NAME = /^([^.].*)\.md$/;
const LLD_NAME = /^LLD-(.+)\.md$/;
const FRONT_MATTER = /^---[ \t]*\n(?=[\w-]+:)[^]*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)/;
/** Other front matter is not parsed: with ten thousand files the YAML parser would take seconds. */
const USED_FIELDS = /^(?:brief|status|title):/m;

const NO_HEADER = readHeader('').header;

/** All issues in natural order. Throws if one can't be read, because its brief is unknown then. */
export async function readKnownIssues(directory: string): Promise<KnownText[]> {
  return readHeads(directory, ISSUE_NAME).map(({ id, head }) => knownText(id, 'issue', head));
}

export async function readApprovedLlds(directory: string): Promise<KnownText[]> {
  const known = readHeads(directory, LLD_NAME).map(({ id, head }) => knownText(id, 'lld', head));
  return known.filter(({ header }) => header.status === 'approved');
}

/** The `bodyHash` of every LLD; null: its front matter has none. */
export async function readLldHashes(directory: string): Promise<Map<ItemId, string | null>> {
  const heads = readHeads(directory, LLD_NAME);
  return new Map(heads.map(({ id, head }) => [id, /^bodyHash: "?([0-9a-f]{64})/m.exec(head)?.[1] ?? null]));
}

/** The documents in a folder whose names have an id, in natural order. */
function filesIn(directory: string, name: RegExp): { id: ItemId; file: string }[] {
  const files = namesInside(directory, dirname(directory)).flatMap((file) => {
    const id = name.exec(file)?.[1] ?? '';
    return isItemId(id) && id.toLowerCase() !== 'readme' ? [{ id, file }] : [];
  });
  const { compare } = new Intl.Collator('en', { numeric: true });
  return files.sort((a, b) => compare(a.id, b.id));
}

/** Reads only the beginning of each document. */
function readHeads(directory: string, name: RegExp): { id: ItemId; head: string }[] {
  return filesIn(directory, name).flatMap(({ id, file }) => {
    const head = readText(join(directory, file), directory, HEAD_BYTES);
    return head === null ? [] : [{ id, head: normaliseText(head) }];
  });
}

function knownText(id: ItemId, kind: KnownText['kind'], head: string): KnownText {
  const block = FRONT_MATTER.exec(head)?.[0] ?? '';
  const header = USED_FIELDS.test(block) ? readHeader(block).header : NO_HEADER;
  const text = head.slice(block.length);
  const firstLine = /^[\s#*>-]*(\S.*?)[\s#]*$/m.exec(text)?.[1] ?? '';
  const title = oneLine(header.title || firstLine);
  return { id, kind, title: withoutNumber(title, id).slice(0, 200), text, header };
}

/** An LLD's title `42 - Feature: Retry` becomes `Retry`, like the title of its issue. */
function withoutNumber(title: string, id: string): string {
  return title.startsWith(`${id} - `) ? title.slice(id.length + 3).replace(/^Feature:\s*/i, '') : title;
}
