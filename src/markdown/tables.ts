import type { Nodes, Table, TableCell } from 'mdast';
import { flatText, lineOf } from './markdown.ts';

export interface DocumentTable {
  /** The heading cells in lower case: `pass criteria`. */
  headers: string[];
  rows: TableRow[];
  line: number;
}

export interface TableRow {
  cells: string[];
  nodes: TableCell[];
  line: number;
}

/** Further columns are ignored. Each row is padded to the header's length, so that a very long header would fill the memory. */
export const MOST_COLUMNS = 50;

/** Rows are padded to the length of the header, and empty ones are skipped. */
function readTable(table: Table): DocumentTable {
  const [head, ...body] = table.children;
  const headers = (head?.children ?? []).slice(0, MOST_COLUMNS).map((cell) => headerName(flatText(cell)));
  const rows = body.map((row) => ({
    cells: headers.map((_, index) => {
      const cell = row.children[index];
      return cell ? flatText(cell) : '';
    }),
    nodes: row.children,
    line: lineOf(row),
  }));
  return { headers, rows: rows.filter((row) => row.cells.some((cell) => cell !== '')), line: lineOf(table) };
}

function headerName(text: string): string {
  return text
    .toLowerCase()
    .replace(/\([^)]*\)/g, ' ')
    .replace(/[^\p{L}\p{N}#]+/gu, ' ')
    .trim();
}

/** All tables below these nodes in document order, also in lists and quotations. */
export function tablesIn(nodes: readonly Nodes[]): DocumentTable[] {
  return nodes.flatMap((node) => {
    if (node.type === 'table') return [readTable(node)];
    const isContainer = node.type === 'list' || node.type === 'listItem' || node.type === 'blockquote';
    return isContainer ? tablesIn(node.children) : [];
  });
}

/** The column with the first of these names that occurs, unless it is taken. */
export function columnNamed(table: DocumentTable, names: readonly RegExp[], taken: number[] = []): number | null {
  for (const name of names) {
    const index = table.headers.findIndex((header, at) => name.test(header) && !taken.includes(at));
    if (index >= 0) return index;
  }
  return null;
}

/** The column of each name. No column is used twice. */
export function columnsOf<Name extends string>(
  table: DocumentTable,
  names: Readonly<Record<Name, readonly RegExp[]>>,
  taken: number[] = [],
): Record<Name, number | null> {
  const used = [...taken];
  const found = Object.entries<readonly RegExp[]>(names).map(([name, patterns]) => {
    const index = columnNamed(table, patterns, used);
    if (index !== null) used.push(index);
    return [name, index];
  });
  return Object.fromEntries(found) as Record<Name, number | null>;
}
