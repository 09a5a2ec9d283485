import { createHash } from 'node:crypto';
import { parse, stringify } from 'yaml';
import { oneLine } from '../core/lines.ts';
import { normaliseText } from '../markdown/markdown.ts';

export interface FrontMatter {
  fields: Record<string, unknown>;
  /** The text below the front matter; the whole text without one. */
  body: string;
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

/** The field `issue` of a document: a number, unless the id is a name. */
export function issueField(id: string): string | number {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : id;
}

/**
 * Reads front matter written by us, by people and by their editors. Never throws: invalid YAML gives no fields. A text that
 * merely begins with a horizontal rule has no front matter.
 */
export function readFrontMatter(text: string): FrontMatter {
  const normalised = normaliseText(text);
  const [block, inner = ''] = BLOCK.exec(normalised) ?? [];
  if (block === undefined) return { fields: {}, body: normalised };
  let value: unknown = {};
  try {
    if (block.length <= LONGEST && inner.trim() !== '') value = parse(inner, { logLevel: 'error' });
  } catch {
    // The checks of the document say which field is missing.
  }
  // YAML takes a heading between two rules for a comment.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fields: {}, body: normalised };
  return { fields: value as Record<string, unknown>, body: normalised.slice(block.length).replace(/^\n/, '') };
}

/** Ignores line ends, byte-order mark and trailing white space, so saving in another editor does not change it. */
export function bodyHash(body: string): string {
  return createHash('sha256').update(normaliseText(body).trimEnd()).digest('hex');
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
