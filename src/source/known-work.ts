import { dirname, join } from 'node:path';
import { type ItemId, isItemId } from '../core/ids.ts';
import { oneLine } from '../core/lines.ts';
import { type Header, readHeader } from '../documents/header.ts';
import { normaliseText } from '../markdown/markdown.ts';
import { namesInside, readText } from '../process/files.ts';

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
  return (await readHeads(directory, ISSUE_NAME)).map(({ id, head }) => knownText(id, 'issue', head));
}

export async function readApprovedLlds(directory: string): Promise<KnownText[]> {
  const known = (await readHeads(directory, LLD_NAME)).map(({ id, head }) => knownText(id, 'lld', head));
  return known.filter(({ header }) => header.status === 'approved');
}

/** The `bodyHash` of every LLD; null: its front matter has none. */
export async function readLldHashes(directory: string): Promise<Map<ItemId, string | null>> {
  const heads = await readHeads(directory, LLD_NAME);
  return new Map(heads.map(({ id, head }) => [id, /^bodyHash: "?([0-9a-f]{64})/m.exec(head)?.[1] ?? null]));
}

/** Reads only the beginning of each document. */
async function readHeads(directory: string, name: RegExp): Promise<{ id: ItemId; head: string }[]> {
  const files = namesInside(directory, dirname(directory)).flatMap((file) => {
    const id = name.exec(file)?.[1] ?? '';
    return isItemId(id) && id.toLowerCase() !== 'readme' ? [{ id, file }] : [];
  });
  const { compare } = new Intl.Collator('en', { numeric: true });
  files.sort((a, b) => compare(a.id, b.id));
  return files.flatMap(({ id, file }) => {
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
