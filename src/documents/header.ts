import { createHash } from 'node:crypto';
import { isMap, parseDocument, stringify } from 'yaml';
import { oneLine } from '../core/lines.ts';
import { normaliseText } from './markdown.ts';

export interface FrontMatter {
  fields: Record<string, unknown>;
  /** The text below the front matter; the whole text without one. */
  body: string;
  /** Why the front matter could not be read. */
  problem?: string;
}

/** Longer front matter is not parsed. */
const LONGEST = 16 * 1024;

const BLOCK = /^---[ \t]*\n([\s\S]*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\n|$)/;

/** Writes the fields in this order. `readFrontMatter` returns exactly what was given. */
export function writeFrontMatter(body: string, fields: Record<string, unknown>): string {
  // Quotes strings that YAML 1.1 would read as another type, and never writes block scalars.
  const yaml =
    Object.keys(fields).length === 0 ? '' : stringify(fields, { lineWidth: 0, compat: 'yaml-1.1', blockQuote: false });
  return `---\n${yaml}---\n\n${body}`;
}

/**
 * Reads front matter written by us, by people and by their editors. Never throws: invalid YAML gives no fields and a problem. A
 * text that merely begins with a horizontal rule has no front matter.
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
    // YAML takes a heading between two rules for a comment.
    if (document.contents === null) return { fields: {}, body: block[1]?.trim() === '' ? body : normalised };
    if (!isMap(document.contents)) return { fields: {}, body: normalised };
    return { fields: document.toJS() as Record<string, unknown>, body };
  } catch (error) {
    return { fields: {}, body, problem: firstLine(error instanceof Error ? error.message : String(error)) };
  }
}

/** Ignores line ends, byte-order mark and trailing white space, so saving in another editor does not change it. */
export function bodyHash(body: string): string {
  return createHash('sha256').update(normaliseText(body).trimEnd()).digest('hex');
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/:$/, '');
}

const TEXTS = [
  'title',
  'status',
  /** In a record that an item was dropped or already done. */
  'workflow',
  'brief',
  'briefHash',
  'issueHash',
  'lldHash',
  'bodyHash',
  'baseCommit',
  'branch',
  /** In a report: the path of its design. */
  'lld',
] as const;

/** The front matter of our documents. A field that is missing or of another type is null. */
export type Header = Record<(typeof TEXTS)[number], string | null> & {
  labels: string[];
  /** In a record that an item was already done: each citation with the id of the blob that it is in. */
  evidence: Readonly<Record<string, string>>;
};

/** An LLD, an issue from a brief, a report, or a record in the lineage. */
export interface Headed {
  header: Header;
  body: string;
}

export function readHeader(text: string): Headed {
  const { fields, body } = readFrontMatter(text);
  // By hand, because loading a schema library would double the start-up time.
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
  // YAML reads the name of a brief that is called 12 as a number.
  if (name === 'brief' && typeof value === 'number') return String(value);
  return typeof value === 'string' ? oneLine(value) : null;
}

/** The body has not changed since its hash was taken. */
export function isUntouched({ header, body }: Headed): boolean {
  return header.bodyHash === bodyHash(body);
}

/** Approved, and not edited since. */
export function isApproved(document: Headed): boolean {
  return document.header.status === 'approved' && isUntouched(document);
}

/** What a report says was implemented, and where. */
export interface Implemented {
  /** Hash of the approved LLD's body. It identifies the design even if the file moves. */
  lldHash: string;
  branch: string;
}

/** Null if the text is not a report. */
export function readReportStatus(report: string): Implemented | null {
  const { status, lldHash, branch } = readHeader(report).header;
  return status === 'implemented' && lldHash !== null && branch !== null ? { lldHash, branch } : null;
}
