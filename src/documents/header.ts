import { createHash } from 'node:crypto';
import { isMap, parseDocument, stringify } from 'yaml';
import { oneLine } from '../core/lines.ts';
import { normaliseText } from './markdown.ts';

export interface FrontMatter {
  fields: Record<string, unknown>;
  /** The text below the front matter; all of it when there is none. */
  body: string;
  /** Why the front matter that is there could not be read. */
  problem?: string;
}

/** More is not parsed: a few lines say all that is asked of it. */
const LONGEST = 16 * 1024;

const BLOCK = /^---[ \t]*\n([\s\S]*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\n|$)/;

/** `body` below YAML front matter with these fields, in this order. What `readFrontMatter` returns is what was given. */
export function writeFrontMatter(body: string, fields: Record<string, unknown>): string {
  // Quoted wherever another YAML version would read a string as something else; never a block that spans lines.
  const yaml =
    Object.keys(fields).length === 0 ? '' : stringify(fields, { lineWidth: 0, compat: 'yaml-1.1', blockQuote: false });
  return `---\n${yaml}---\n\n${body}`;
}

/**
 * Front matter written by us, by people and by their editors. Never throws: front matter that is no valid YAML gives no
 * fields and a problem; a text that merely begins with a horizontal rule has none and stays whole.
 */
export function readFrontMatter(text: string): FrontMatter {
  const normalised = normaliseText(text);
  const block = BLOCK.exec(normalised);
  if (!block) {
    return /^---[ \t]*\n[\w-]+:/.test(normalised)
      ? { fields: {}, body: normalised, problem: 'the front matter has no closing line "---"' }
      : { fields: {}, body: normalised };
  }
  const body = normalised.slice(block[0].length).replace(/^\n/, '');
  if (block[0].length > LONGEST) return { fields: {}, body, problem: 'the front matter is longer than 16 KB' };
  try {
    const document = parseDocument(block[1] ?? '');
    const error = document.errors[0];
    if (error) return { fields: {}, body, problem: firstLine(error.message) };
    // Between two rules a heading is a comment to YAML.
    if (document.contents === null) return { fields: {}, body: block[1]?.trim() === '' ? body : normalised };
    if (!isMap(document.contents)) return { fields: {}, body: normalised };
    return { fields: document.toJS() as Record<string, unknown>, body };
  } catch (error) {
    return { fields: {}, body, problem: firstLine(error instanceof Error ? error.message : String(error)) };
  }
}

/** The same for a text that was only saved by another editor: line ends, byte-order mark and the very end don't count. */
export function bodyHash(body: string): string {
  return createHash('sha256').update(normaliseText(body).trimEnd()).digest('hex');
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/:$/, '');
}

const TEXTS = [
  'title',
  'status',
  /** Of a record that an item was dropped, or was already done. */
  'workflow',
  'brief',
  'briefHash',
  'issueHash',
  'lldHash',
  'bodyHash',
  'baseCommit',
  'branch',
  /** Of a report: where its design is. */
  'lld',
] as const;

/** What the front matter of our documents can say. A field that is missing or of another type is null. */
export type Header = Record<(typeof TEXTS)[number], string | null> & {
  labels: string[];
  /** Of a record that an item was already done: what shows it, with the id of the blob that it is in. */
  evidence: Readonly<Record<string, string>>;
};

/** A document in its place: an LLD, an issue from a brief, a report, a record in the lineage. */
export interface Headed {
  header: Header;
  body: string;
}

export function readHeader(text: string): Headed {
  const { fields, body } = readFrontMatter(text);
  // By hand: a schema library would cost every start of the program more than all the rest of it.
  const [texts, labels] = [TEXTS.map((name) => [name, textOf(fields[name], name)]), fields['labels']];
  const known = Array.isArray(labels) ? labels.filter((label) => typeof label === 'string').map(oneLine) : [];
  const { evidence } = fields;
  const cited = Object.entries(typeof evidence === 'object' ? (evidence ?? {}) : {}).map(([at, id]) => [
    at,
    String(id),
  ]);
  const lists = { labels: known, evidence: Object.fromEntries(cited) as Header['evidence'] };
  return { header: { ...(Object.fromEntries(texts) as Omit<Header, keyof typeof lists>), ...lists }, body };
}

function textOf(value: unknown, name: string): string | null {
  // A brief may be called 12, which YAML takes for a number.
  if (name === 'brief' && typeof value === 'number') return String(value);
  return typeof value === 'string' ? oneLine(value) : null;
}

/** The body is still what was approved. */
export function isUntouched({ header, body }: Headed): boolean {
  return header.bodyHash === bodyHash(body);
}

/** Approved, and not edited since. */
export function isApproved(document: Headed): boolean {
  return document.header.status === 'approved' && isUntouched(document);
}

/** What a report says was implemented, and where. */
export interface Implemented {
  /** Of the LLD's body as it was approved: the design is recognised by it, wherever its file is. */
  lldHash: string;
  branch: string;
}

/** The status that a report records; null for any other text. */
export function readReportStatus(report: string): Implemented | null {
  const { status, lldHash, branch } = readHeader(report).header;
  return status === 'implemented' && lldHash !== null && branch !== null ? { lldHash, branch } : null;
}
