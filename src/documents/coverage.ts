import type { List, RootContent } from 'mdast';
import { flatText, lineOf, linesOf, type TextLine } from '../markdown/markdown.ts';
import { columnNamed, type DocumentTable, tablesIn } from '../markdown/tables.ts';
import { tableOf } from '../markdown/writer.ts';
import { type DocumentFinding, error, quote } from './finding.ts';

/* Requirements (and the scenarios of an issue): how they are numbered, referred to, and covered. */

/** A requirement, or a scenario of an issue. */
export interface NumberedEntry extends TextLine {
  /** `1`, or with its kind if the document has several: `FR-1` and `NFR-1`, `R1` and `REQ-1`. */
  id: string;
}

/** `REQ-01` has the kind REQ and the number 1; a numbered item has no kind. */
interface Label {
  kind: string;
  number: number;
}

type Labelled = Label & TextLine;

/** More are not read: each scenario may name all of them. */
const MOST_ENTRIES = 500;
/** Names for the same thing, unless a document uses two of them. */
const GENERIC = new Set(['', 'R', 'REQ']);
const KIND = '(requirements?|reqs?|fr|nfr|ac|r)';
const BEHIND = String.raw`(?:\.(?!\d)|[\s):\]*–—-])+\s*`;
const LABEL = new RegExp(String.raw`^\W*${KIND}[\s._-]*0*(\d{1,4})${BEHIND}`, 'i');
/** Labels of an issue's scenarios: `S1`, `Scenario 1`. They have no kind. */
export const SCENARIO_LABEL = new RegExp(String.raw`^\W*(?:scenario|sc|s)()[\s._#-]*0*(\d{1,3})${BEHIND}`, 'i');
const CELL_ID = new RegExp(String.raw`^\W*(?:(?:${KIND}|scenario|sc?)[\s._-]*)?0*(\d{1,4})\W*$`, 'i');
const ID_COLUMN = [/^(?:#|id|no|nr|number|req(?:uirement)? (?:id|#|no|number)|req)$/, /^(?:requirement|ref)s?$/];
const TEXT_COLUMN = [/^(?:requirement|description|text|statement)s?$/, /requirement|description|criteri|what/];

/** Reads entries from numbered lists, labelled items, lines or headings (`REQ-1: …`), and tables. */
export function readNumbered(nodes: readonly RootContent[], source: string, label = LABEL): NumberedEntry[] {
  // One too many, so that checks see it.
  const found = labelledIn(nodes, source, label).slice(0, MOST_ENTRIES + 1);
  const generic = new Set(found.map(({ kind }) => kind).filter((kind) => GENERIC.has(kind)));
  return found.map(({ kind, number, ...said }) => {
    const keepsKind = !GENERIC.has(kind) || generic.size > 1;
    return { id: keepsKind ? idOf({ kind, number }) : String(number), ...said };
  });
}

function labelledIn(nodes: readonly RootContent[], source: string, label: RegExp): Labelled[] {
  const labelled = ({ text, line }: TextLine): Labelled[] => {
    const [matched, kind, number] = label.exec(`${text} `) ?? [];
    if (matched === undefined) return [];
    return [{ kind: kindOf(kind), number: Number(number), text: text.slice(matched.length).trim(), line }];
  };
  // Points below a heading that is itself an entry are its details.
  let isBelowOne = false;
  return nodes.flatMap((node) => {
    if (node.type === 'table') return tablesIn([node]).flatMap(inTable);
    if (node.type === 'paragraph') return linesOf(node).flatMap(labelled);
    if (node.type === 'heading') {
      const own = labelled({ text: flatText(node), line: lineOf(node) });
      isBelowOne = own.length > 0;
      return own;
    }
    if (node.type !== 'list') return [];
    const numbers = numbersOf(node, source);
    return node.children.flatMap((item, index) => {
      const said = { text: item.children[0] ? flatText(item.children[0]) : '', line: lineOf(item) };
      const own = labelled(said);
      if (own.length > 0 || !node.ordered || isBelowOne || said.text === '') return own;
      return [{ kind: '', number: numbers[index] ?? index + 1, ...said }];
    });
  });
}

/** The written numbers if they rise (Markdown would renumber a list with a gap), else consecutive ones. */
function numbersOf({ start, children }: List, source: string): number[] {
  const written = children.map(({ position }) => Number.parseInt(source.slice(position?.start.offset).slice(0, 9), 10));
  const rises = written.every((number, index) => index === 0 || number > (written[index - 1] ?? 0));
  return rises ? written : children.map((_, index) => (start ?? 1) + index);
}

function inTable(table: DocumentTable): Labelled[] {
  const id = columnNamed(table, ID_COLUMN);
  const isNumbered = id !== null && table.rows.every((row) => CELL_ID.test(row.cells[id] ?? ''));
  const text = columnNamed(table, TEXT_COLUMN, isNumbered ? [id] : []);
  if (text === null && !isNumbered) return [];
  return table.rows.map(({ cells, line }, index) => {
    const [, kind, number = index + 1] = (isNumbered ? CELL_ID.exec(cells[id] ?? '') : null) ?? [];
    return { kind: kindOf(kind), number: Number(number), text: cells[text ?? (id === 0 ? 1 : 0)] ?? '', line };
  });
}

function kindOf(prefix = ''): string {
  return /^req/i.test(prefix) ? 'REQ' : prefix.toUpperCase();
}

function idOf({ kind, number }: Label): string {
  return kind === '' || kind === 'R' ? `${kind}${number}` : `${kind}-${number}`;
}

function labelOf(id: string): Label {
  const [, kind = '', number] = /^([A-Z]*)-?(\d+)$/.exec(id) ?? [];
  return { kind, number: Number(number) };
}

/** The name of a requirement in messages. */
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
 * The requirements that a cell names: `1`, `R1`, `REQ-01`, `#1`, lists, `All`, and ranges of the existing ones. An unknown one
 * gets the id that it would have. `REQ-1: returns 43` names only one requirement.
 */
export function requirementReferences(cell: string, known: readonly string[]): string[] {
  const text = cell.replace(/`/g, '');
  if (ALL.test(text)) return [...known];
  const parts = text.split(/[,;&/+\n]|\band\b/i);
  return [...new Set(parts.flatMap((part) => referencesIn(part, known)))];
}

function referencesIn(part: string, known: readonly string[]): string[] {
  const [, kind, from, otherKind, to] = RANGE.exec(part) ?? [];
  if (Number(to) > Number(from)) {
    const inside = known.filter((id) => {
      const { number } = labelOf(id);
      const isBetween = number >= Number(from) && number <= Number(to);
      return isBetween && resolved({ kind: kindOf(kind ?? otherKind), number }, known) === id;
    });
    if (inside.length > 0) return inside;
  }
  const prefixed = [...part.matchAll(PREFIXED)];
  if (prefixed.length > 0)
    return prefixed.map(([, prefix, number]) => resolved({ kind: kindOf(prefix), number: Number(number) }, known));
  const [, leading] = /^\W*0*(\d{1,4})(?![\p{L}\p{N}.%])/u.exec(part) ?? [];
  const numbers = /^[\s\d#*[\]().]+$/.test(part) ? (part.match(/\d{1,4}/g) ?? []) : [leading ?? []].flat();
  return numbers.map((number) => resolved({ kind: '', number: Number(number) }, known));
}

/** `REQ-1` means `1` if the document has no REQ; `FR-1` never means `NFR-1`. */
function resolved(label: Label, known: readonly string[]): string {
  const own = idOf(label);
  if (known.includes(own)) return own;
  const kinds = new Set(known.map((id) => labelOf(id).kind));
  const hasOwnKinds = [...kinds].some((kind) => !GENERIC.has(kind));
  const isOther = kinds.has(label.kind) || (!GENERIC.has(label.kind) && hasOwnKinds);
  const [only, ...more] = isOther ? [] : [...new Set(known)].filter((id) => labelOf(id).number === label.number);
  if (only !== undefined && more.length === 0) return only;
  return GENERIC.has(label.kind) && kinds.size === 1 && kinds.has('') ? String(label.number) : own;
}

/** References in running text: only `REQ-1`, `Requirement 1` and a bracketed `(R1, R2)` count. */
export function citedRequirements(text: string, known: readonly string[]): string[] {
  const named = text.match(/(?<![\w-])(?:req(?:uirement)?s?|n?fr-)[\s._#-]*0*\d{1,4}(?!\d)/gi) ?? [];
  const bracketed = text.match(/[([](?:\s*R-?\d{1,4}\s*[,;&/–-]?)+[)\]]/g) ?? [];
  const found = [...named, ...bracketed.map((group) => group.slice(1, -1))];
  return [...new Set(found.flatMap((group) => requirementReferences(group, known)))];
}

/** Which requirements a scenario covers. */
export interface Coverage {
  covered: number;
  total: number;
  /** Whole percent; 100 only if everything is covered, 0 only if nothing is. */
  percent: number;
  rows: { requirement: string; text: string; scenarios: string[]; covered: boolean }[];
}

/** What covers entries: a scenario of a design, or a criterion of an issue. */
export interface Covering {
  name: string;
  /** The ids that it names, unknown ones included. */
  covers: readonly string[];
}

export function coverageOf(entries: readonly NumberedEntry[], covering: readonly Covering[]): Coverage {
  const scenarios = new Map(entries.map(({ id }) => [id, [] as string[]]));
  for (const { name, covers } of covering) for (const id of new Set(covers)) scenarios.get(id)?.push(name);
  const rows = [...scenarios].map(([requirement, names]) => {
    const text = entries.find(({ id }) => id === requirement)?.text ?? '';
    return { requirement, text, scenarios: names, covered: names.length > 0 };
  });
  const [covered, total] = [rows.filter((row) => row.covered).length, rows.length];
  const part = covered === total ? 100 : Math.min(99, Math.max(1, Math.round((covered / total) * 100)));
  return { covered, total, percent: covered === 0 ? 0 : part, rows };
}

/** How entries are called in messages. */
export interface EntryWords {
  /** `requirement`, which also begins the names of the rules. */
  one: string;
  /** How they are written: `a list "1. …"`. */
  form: string;
  /** What has to cover them: `scenario of section 10`. */
  by: string;
  nameOf: (id: string) => string;
}

/** `<one>-none`, `<one>-many`, `<one>-duplicate`, `<one>-uncovered`: entries are numbered in one sequence, and each of them is covered. */
export function checkEntries(
  { one, form, by, nameOf }: EntryWords,
  { line, entries, covering }: { line: number; entries: readonly NumberedEntry[]; covering: readonly Covering[] },
): DocumentFinding[] {
  if (entries.length === 0) return [error(`${one}-none`, line, `There is no numbered ${one}: write ${form}.`)];
  if (entries.length > MOST_ENTRIES)
    return [error(`${one}-many`, line, `There are more than ${MOST_ENTRIES} ${one}s: split the document.`)];
  const seen = new Set<string>();
  const again = entries.filter(({ id }) => seen.size === seen.add(id).size);
  const ids = [...new Set(again.map(({ id }) => nameOf(id)))].join(', ');
  const twice = `${ids} occurs more than once: number all ${one}s in one sequence.`;
  const covered = new Set(covering.flatMap(({ covers }) => covers));
  // Where nothing is covered, the check of the scenarios reports it. A number that two entries have can't be matched.
  const uncovered = covered.size === 0 || again.length > 0 ? [] : entries.filter(({ id }) => !covered.has(id));
  return [
    // Numbering that restarts under each heading is one mistake.
    ...again.slice(0, 1).map((entry) => error(`${one}-duplicate`, entry.line, twice)),
    ...uncovered.map(({ id, text, line: at }) => {
      const message = `No ${by} covers ${nameOf(id)}, ${quote(text)}: add one that names ${nameOf(id)}.`;
      return error(`${one}-uncovered`, at, message);
    }),
  ];
}

/** The table and the calculation as a review prints them. */
export function formatCoverage({ covered, total, percent, rows }: Coverage): string {
  const table = tableOf(
    ['#', 'Requirement', 'Test(s)', 'Status'],
    rows.map((row) => [
      row.requirement,
      row.text,
      row.scenarios.join(', '),
      row.covered ? '✓ Covered' : '✗ Not covered',
    ]),
  );
  return `${table}\n\n**Coverage Calculation:** ${covered} requirements covered / ${total} total = **${percent}%**`;
}
