import type { List, RootContent } from 'mdast';
import { columnNamed, type DocumentTable, flatText, lineOf, markedText, tablesIn } from '../markdown.ts';

/** A requirement, or a scenario of an issue. */
export interface NumberedEntry {
  /** `1`, or with its kind where that tells two apart: `FR-1`, `NFR-1`; `R1` beside `REQ-1`. */
  id: string;
  text: string;
  line: number;
}

/** A requirement as it is labelled: `REQ-01` is the first of kind REQ, a numbered item of no kind. */
interface Label {
  kind: string;
  number: number;
}

type Labelled = Label & Omit<NumberedEntry, 'id'>;

/** Three names for the same thing, unless a document uses two of them. Any other kind is one of its own. */
const GENERIC = new Set(['', 'R', 'REQ']);
const KIND = String.raw`(requirements?|reqs?|fr|nfr|ac|r)`;
const LABEL = new RegExp(String.raw`^\W*${KIND}[\s._-]*0*(\d{1,4})(?:\.(?!\d)|[\s):\]*–—-])+\s*`, 'i');
/** How an issue labels its scenarios: `S1`, `Scenario 1`; they are of no kind. */
export const SCENARIO_LABEL = /^\W*(?:scenario|sc|s)()[\s._#-]*0*(\d{1,3})(?:\.(?!\d)|[\s):\]*–—-])+\s*/i;
const SECTION_LABEL = /^\W*()3\.(\d{1,3})(?:\.(?!\d)|[\s):\]*–—-])+\s*/;
const CELL_ID = new RegExp(String.raw`^\W*(?:(?:${KIND}|scenario|sc?)[\s._-]*)?(?:3\.)?0*(\d{1,4})\W*$`, 'i');
const ID_COLUMN = [/^(?:#|id|no|nr|number|req(?:uirement)? (?:id|#|no|number)|req)$/, /^(?:requirement|ref)s?$/];
const TEXT_COLUMN = [/^(?:requirement|description|text|statement)s?$/, /requirement|description|criteri|what/];

/**
 * Requirements, or what else `label` names, as a numbered list, labelled items, lines or headings (`REQ-1: …`), or a table. Only where there are none
 * of these are `3.1`, `3.2` the requirements themselves; elsewhere they are groups of them.
 */
export function readNumbered(nodes: RootContent[], text: string, label = LABEL): NumberedEntry[] {
  const labelled = requirementsIn(nodes, text, label);
  const found = labelled.length > 0 ? labelled : requirementsIn(nodes, text, SECTION_LABEL);
  const generic = new Set(found.map(({ kind }) => kind).filter((kind) => GENERIC.has(kind)));
  return found.map(({ kind, number, ...said }) => {
    const keepsKind = !GENERIC.has(kind) || generic.size > 1;
    return { id: keepsKind ? idOf({ kind, number }) : String(number), ...said };
  });
}

function requirementsIn(nodes: RootContent[], document: string, label: RegExp): Labelled[] {
  // Below a heading that is one of them, the points of a list are its steps or parts.
  let isBelowOne = false;
  return nodes.flatMap((node) => {
    if (node.type === 'heading') {
      const own = labelled(flatText(node), lineOf(node), label);
      isBelowOne = own.length > 0;
      return own;
    }
    if (node.type === 'table') return tablesIn([node]).flatMap(tableRequirements);
    if (node.type === 'paragraph') {
      const lines = markedText(node).split('\n');
      return lines.flatMap((text, index) => labelled(text, lineOf(node) + index, label));
    }
    if (node.type !== 'list') return [];
    const numbers = numbersOf(node, document);
    return node.children.flatMap((item, index) => {
      const text = item.children[0] ? flatText(item.children[0]) : '';
      const line = lineOf(item);
      const own = labelled(text, line, label);
      if (own.length > 0 || !node.ordered || isBelowOne || text === '') return own;
      return [{ kind: '', number: numbers[index] ?? index + 1, text, line }];
    });
  });
}

/** As they are written where they rise: a list that has lost its second point continues with 3, whatever Markdown renders. */
function numbersOf({ start, children }: List, document: string): number[] {
  const written = children.map(({ position }) => Number(/^\d+/.exec(document.slice(position?.start.offset))?.[0]));
  const rises = written.every((number, index) => index === 0 || number > (written[index - 1] ?? 0));
  return rises ? written : children.map((_, index) => (start ?? 1) + index);
}

function labelled(text: string, line: number, label: RegExp): Labelled[] {
  const match = label.exec(`${text} `);
  if (!match) return [];
  return [{ kind: kindOf(match[1]), number: Number(match[2]), text: text.slice(match[0].length).trim(), line }];
}

function tableRequirements(table: DocumentTable): Labelled[] {
  const id = columnNamed(table, ID_COLUMN);
  const isNumbered = id !== null && table.rows.every((row) => CELL_ID.test(row.cells[id] ?? ''));
  const text = columnNamed(table, TEXT_COLUMN, isNumbered ? [id] : []);
  if (text === null && !isNumbered) return [];
  return table.rows.map((row, index) => {
    const [, kind, number] = (isNumbered ? CELL_ID.exec(row.cells[id] ?? '') : null) ?? [];
    return {
      kind: kindOf(kind),
      number: number === undefined ? index + 1 : Number(number),
      text: row.cells[text ?? (id === 0 ? 1 : 0)] ?? '',
      line: row.line,
    };
  });
}

function kindOf(prefix = ''): string {
  return /^req/i.test(prefix) ? 'REQ' : prefix.toUpperCase();
}

function idOf({ kind, number }: Label): string {
  return kind === '' || kind === 'R' ? `${kind}${number}` : `${kind}-${number}`;
}

/** How messages speak of a requirement: one of no kind is written REQ-1. */
export function requirementName(id: string): string {
  return /^\d/.test(id) ? `REQ-${id}` : id;
}

const PREFIX = String.raw`(?:${KIND}(?![a-z])[\s._:#-]*|#\s*)`;
const PREFIXED = new RegExp(String.raw`(?<![\p{L}\p{N}_])${PREFIX}0*(\d{1,4})(?!\d)`, 'giu');
const RANGE = new RegExp(
  String.raw`^\W*${PREFIX}?0*(\d{1,4})\s*(?:-|–|—|\.{2,3}|…|\bto\b|\bthrough\b)\s*${PREFIX}?0*(\d{1,4})\W*$`,
  'iu',
);
const ALL = /^\W*(?:all|every|each|any|\*)(?:\s+(?:of\s+them|requirements?|reqs?))?\W*$/i;

/**
 * The requirements that a cell names: `1`, `R1`, `REQ-01`, `#1`, `3.1` (the first of section 3), lists, `All`, and ranges,
 * which mean the ones that are there. One that is not among `known` comes as it would be called. Numbers that belong to
 * other words are none: `REQ-1: returns 43` names one requirement.
 */
export function requirementReferences(cell: string, known: readonly string[]): string[] {
  const text = cell.replace(/`/g, '').replace(/\((?![^)]*\b(?:req|r)?-?\d+\s*\))[^)]*\)/gi, ' ');
  if (ALL.test(text)) return [...known];
  const parts = text.split(/[,;&/+\n]|\band\b/i);
  return [...new Set(parts.flatMap((part) => referencesIn(part, known)))];
}

function referencesIn(part: string, known: readonly string[]): string[] {
  const range = RANGE.exec(part);
  if (range) {
    const [from, to] = [Number(range[2]), Number(range[4])];
    const kind = kindOf(range[1] ?? range[3]);
    const inside = known.filter((id) => {
      const { number } = labelOf(id);
      return number >= from && number <= to && resolved({ kind, number }, known) === id;
    });
    if (to > from && inside.length > 0) return inside;
  }
  return labelsIn(part).map((label) => resolved(label, known));
}

function labelsIn(part: string): Label[] {
  const plain = (number: string | undefined): Label => ({ kind: '', number: Number(number) });
  const prefixed = [...part.matchAll(PREFIXED)];
  if (prefixed.length > 0) return prefixed.map(([, kind, number]) => ({ kind: kindOf(kind), number: Number(number) }));
  const ofSection = /^\W*(?:section\s+|§\s*)?3\.(\d{1,3})\W*$/i.exec(part);
  if (ofSection) return [plain(ofSection[1])];
  if (/^[\s\d#*[\]().]+$/.test(part)) return [...part.matchAll(/\d{1,4}/g)].map((match) => plain(match[0]));
  const leading = /^\W*0*(\d{1,4})(?![\p{L}\p{N}.%])/u.exec(part);
  return leading ? [plain(leading[1])] : [];
}

function labelOf(id: string): Label {
  const [, kind = '', number] = /^([A-Z]*)-?(\d+)$/.exec(id) ?? [];
  return { kind, number: Number(number) };
}

/** `REQ-1` is `1` where the document knows no REQ; `FR-1` is never `NFR-1`. */
function resolved(label: Label, known: readonly string[]): string {
  const own = idOf(label);
  if (known.includes(own)) return own;
  const kinds = new Set(known.map((id) => labelOf(id).kind));
  const hasOwnKinds = [...kinds].some((kind) => !GENERIC.has(kind));
  const isOther = kinds.has(label.kind) || (!GENERIC.has(label.kind) && hasOwnKinds);
  const alike = isOther ? [] : [...new Set(known)].filter((id) => labelOf(id).number === label.number);
  const [only] = alike;
  if (only !== undefined && alike.length === 1) return only;
  return GENERIC.has(label.kind) && kinds.size === 1 && kinds.has('') ? String(label.number) : own;
}

/** References in running text, where only `REQ-1`, `Requirement 1` and a bracketed `(R1, R2)` are sure to be one. */
export function citedRequirements(text: string, known: readonly string[]): string[] {
  const named = [...text.matchAll(/(?<![\w-])(?:req(?:uirement)?s?|n?fr-)[\s._#-]*0*\d{1,4}(?!\d)/gi)];
  const bracketed = [...text.matchAll(/[([]((?:\s*R-?\d{1,4}\s*[,;&/–-]?)+)[)\]]/g)];
  const found = [...named.map(([all]) => all), ...bracketed.map(([, inside = '']) => inside)];
  return [...new Set(found.flatMap((group) => requirementReferences(group, known)))];
}
