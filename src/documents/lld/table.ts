import type { Nodes, Table, TableCell } from 'mdast';
import { lineOf } from '../markdown.ts';
import { flatText } from './marked-text.ts';

export interface LldTable {
  /** Lower-case words of the heading cells: `Pass Criteria` is `pass criteria`. */
  headers: string[];
  rows: TableRow[];
  line: number;
}

export interface TableRow {
  cells: string[];
  nodes: TableCell[];
  line: number;
}

/** The table with rows of equal length; rows without any text are left out. */
export function readTable(table: Table): LldTable {
  const [head, ...body] = table.children;
  const headers = (head?.children ?? []).map((cell) => headerName(flatText(cell)));
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
    .replace(/\([^)]*\)/g, (inside) => (/^\((?:s|es|ies)\)$/.test(inside) ? 's' : ' '))
    .replace(/[^\p{L}\p{N}#]+/gu, ' ')
    .trim();
}

/** All tables under these nodes, those in lists and quotations too, in document order. */
export function tablesIn(nodes: Nodes[]): LldTable[] {
  return nodes.flatMap((node) => {
    if (node.type === 'table') return [readTable(node)];
    return 'children' in node && (node.type === 'list' || node.type === 'listItem' || node.type === 'blockquote')
      ? tablesIn(node.children)
      : [];
  });
}

/** The first column that has one of these names and is not taken; names that come first win. */
export function columnNamed(table: LldTable, names: RegExp[], taken: number[] = []): number | null {
  for (const name of names) {
    const index = table.headers.findIndex((header, at) => name.test(header) && !taken.includes(at));
    if (index >= 0) return index;
  }
  return null;
}
