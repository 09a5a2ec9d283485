import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ItemId, isItemId } from '../core/ids.ts';
import { type Header, readHeader } from '../documents/header.ts';
import { normaliseText } from '../documents/markdown.ts';

/** The beginning of a document that is there already. */
interface KnownText {
  id: ItemId;
  kind: 'issue' | 'lld';
  title: string;
  /** Without front matter. */
  text: string;
  /** Empty where there is no front matter that matters here. */
  header: Header;
}

const READ_AT_ONCE = 64;
const HEAD_BYTES = 16_384;
const ISSUE_NAME = /^([^.].*)\.md$/;
const LLD_NAME = /^LLD-(.+)\.md$/;
const FRONT_MATTER = /^---[ \t]*\n(?=[\w-]+:)[^]*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)/;
/** Only these are worth the time of a YAML parser, ten thousand times over. */
const TELLING_FIELD = /^(?:brief|status|title):/m;

const NO_HEADER = readHeader('').header;

/** Every issue, in natural order. What can't be read is passed over: it has nothing to be compared with. */
export async function readKnownIssues(directory: string): Promise<KnownText[]> {
  return (await readHeads(directory, ISSUE_NAME)).map(({ id, head }) => knownText(id, 'issue', head));
}

/** Every approved LLD. */
export async function readApprovedLlds(directory: string): Promise<KnownText[]> {
  const known = (await readHeads(directory, LLD_NAME)).map(({ id, head }) => knownText(id, 'lld', head));
  return known.filter(({ header }) => header.status === 'approved');
}

/** Every LLD with the hash of the body that was approved, as its front matter has it; null without one. */
export async function readLldHashes(directory: string): Promise<Map<ItemId, string | null>> {
  const heads = await readHeads(directory, LLD_NAME);
  return new Map(heads.map(({ id, head }) => [id, /^bodyHash: "?([0-9a-f]{64})/m.exec(head)?.[1] ?? null]));
}

/** Documents are long, and no more of them is read than their beginning. */
async function readHeads(directory: string, name: RegExp): Promise<{ id: ItemId; head: string }[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const files = entries.flatMap((entry) => {
    const id = name.exec(entry.name)?.[1] ?? '';
    // A link could lead out of the folder, to any file of the machine.
    return entry.isFile() && isItemId(id) && id.toLowerCase() !== 'readme' ? [{ id, file: entry.name }] : [];
  });
  const { compare } = new Intl.Collator('en', { numeric: true });
  files.sort((a, b) => compare(a.id, b.id));
  const known: { id: ItemId; head: string }[] = [];
  const buffers = Array.from({ length: READ_AT_ONCE }, () => Buffer.allocUnsafe(HEAD_BYTES));
  for (let at = 0; at < files.length; at += READ_AT_ONCE) {
    const some = files.slice(at, at + READ_AT_ONCE).map(async ({ id, file }, index) => {
      const head = await readHead(join(directory, file), buffers[index] ?? Buffer.allocUnsafe(HEAD_BYTES));
      return head === null ? [] : [{ id, head }];
    });
    known.push(...(await Promise.all(some)).flat());
  }
  return known;
}

async function readHead(path: string, buffer: Buffer): Promise<string | null> {
  let file: FileHandle | null = null;
  try {
    file = await open(path, 'r');
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return normaliseText(buffer.toString('utf8', 0, bytesRead));
  } catch {
    return null;
  } finally {
    await file?.close();
  }
}

function knownText(id: ItemId, kind: KnownText['kind'], head: string): KnownText {
  const block = FRONT_MATTER.exec(head)?.[0] ?? '';
  const header = TELLING_FIELD.test(block) ? readHeader(block).header : NO_HEADER;
  const text = head.slice(block.length);
  const firstLine = /^[\s#*>-]*(\S.*?)[\s#]*$/m.exec(text)?.[1] ?? '';
  const title = header.title?.trim() || firstLine;
  return { id, kind, title: withoutNumber(title, id).slice(0, 200), text, header };
}

/** `42 - Feature: Retry` of a design is `Retry`, as in its issue. */
function withoutNumber(title: string, id: string): string {
  return title.startsWith(`${id} - `) ? title.slice(id.length + 3).replace(/^Feature:\s*/i, '') : title;
}
