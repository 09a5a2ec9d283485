import type { Nodes, TableCell } from 'mdast';
import { columnNamed, type DocumentTable, markedText, type TableRow, tablesIn } from '../markdown.ts';

export type FileChange = 'Add' | 'Modify' | 'Delete';

export interface LldFile {
  /** As the document gives it, without `./` before and `/` after it. */
  path: string;
  change: FileChange;
  description: string;
  line: number;
}

/** A row whose change type is none of the three. */
export interface UnreadFile {
  path: string;
  change: string;
  line: number;
}

export interface FilesTable {
  /** The line of the first table; null when there is none that lists files. */
  line: number | null;
  files: LldFile[];
  unread: UnreadFile[];
}

const PATH_COLUMN = [
  /^(?:file|path|file ?path|file ?name|files|paths)$/,
  /\b(?:file|path)/,
  /^(?:module|location|component)$/,
];
const CHANGE_COLUMN = [
  /^(?:change type|change|type of change|change kind|action|operation)$/,
  /^(?:type|kind|status|op|add modify delete|new modified)$/,
  /\bchange\b/,
];
const TEXT_COLUMN = [/^(?:description|purpose|summary|details?|reason|notes?|what|why|changes|rationale)$/];

const CHANGE_WORDS: [FileChange, RegExp][] = [
  ['Add', /^(?:add(?:ed|s|ition)?|creat(?:e|ed|es|ion)|new|introduced?|a)$/],
  [
    'Modify',
    /^(?:modif(?:y|ied|ies|ication)|updat(?:e|ed|es)|edit(?:ed|s)?|chang(?:e|ed|es)|extend(?:ed|s)?|refactor(?:ed|s)?|amend(?:ed|s)?|patch(?:ed)?|m)$/,
  ],
  ['Delete', /^(?:delet(?:e|ed|es|ion)|remov(?:e|ed|es|al)|drop(?:ped)?|d)$/],
];

/** What a change type cell means, or null: `Create`, `**New**`, `Update (minor)` are known, `Add/Modify` says nothing. */
export function fileChange(text: string): FileChange | null {
  const words = text
    .toLowerCase()
    .replace(/\([^)]*\)/g, ' ')
    .match(/[a-z]+/g);
  const meant = new Set(
    CHANGE_WORDS.filter(([, known]) => words?.some((word) => known.test(word))).map(([change]) => change),
  );
  const starts = CHANGE_WORDS.some(([, known]) => known.test(words?.[0] ?? ''));
  return starts && meant.size === 1 ? ([...meant][0] ?? null) : null;
}

/** `source` is the whole text: a bare path such as `src/__init__.py` is only whole there. */
export function readFilesTable(nodes: Nodes[], source: string): FilesTable {
  const result: FilesTable = { line: null, files: [], unread: [] };
  for (const table of tablesIn(nodes)) {
    const columns = columnsOf(table);
    if (!columns) continue;
    result.line ??= table.line;
    for (const row of table.rows) readRow(row, columns, source, result);
  }
  return result;
}

interface Columns {
  path: number;
  change: number;
  text: number | null;
}

function columnsOf(table: DocumentTable): Columns | null {
  const path = columnNamed(table, PATH_COLUMN);
  const change = path === null ? null : columnNamed(table, CHANGE_COLUMN, [path]);
  if (path === null || change === null) return null;
  const others = table.headers.map((_, index) => index).filter((index) => index !== path && index !== change);
  return { path, change, text: columnNamed(table, TEXT_COLUMN, [path, change]) ?? others[0] ?? null };
}

function readRow({ cells, nodes, line }: TableRow, columns: Columns, source: string, into: FilesTable): void {
  const said = cells[columns.change] ?? '';
  const change = fileChange(said);
  const description = columns.text === null ? '' : (cells[columns.text] ?? '');
  for (const path of pathsIn(nodes[columns.path], source)) {
    if (change) into.files.push({ path, change, description, line });
    else into.unread.push({ path, change: said, line });
  }
}

/** The paths of a cell: its code spans or links, else its text as written; one that is empty when there is none. */
function pathsIn(cell: TableCell | undefined, source: string): string[] {
  if (!cell) return [''];
  const codes = leaves(cell, 'inlineCode');
  const links = leaves(cell, 'link');
  const found = codes.length > 0 ? codes : links.length > 0 ? links : bareText(cell, source).split(/,\s+|\n/);
  const paths = found.map(barePath).filter((path) => path !== '');
  return paths.length > 0 ? paths : [''];
}

function leaves(node: Nodes, type: 'inlineCode' | 'link'): string[] {
  if (node.type === type) return ['value' in node ? node.value : markedText(node)];
  return 'children' in node ? node.children.flatMap((child) => leaves(child, type)) : [];
}

function bareText(cell: TableCell, source: string): string {
  const start = cell.children[0]?.position?.start.offset;
  const end = cell.children.at(-1)?.position?.end.offset;
  if (start === undefined || end === undefined) return '';
  return source
    .slice(start, end)
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/\\([_*|[\]])/g, '$1')
    .replace(/^\s*(?:\*\*|__(?=[^/]*$))?|\*\*\s*$/g, '');
}

function barePath(text: string): string {
  const path = text
    .trim()
    .replace(/^\*+|\*+$/g, (stars) => (stars.length === 2 && text.includes('/**') ? stars : ''))
    .replace(
      /\s*[([*_]+(?:new|added?|modified|existing|updated|deleted|removed|create|new file|new folder|directory)[)\]*_]+$/i,
      '',
    )
    .replace(/\s+(?:\(.*\)|new|NEW)$/, '')
    .replace(/^(?:\.\/)+/, '')
    .trim();
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}
