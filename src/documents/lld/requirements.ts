import type { ListItem, Nodes, RootContent } from 'mdast';
import { lineOf } from '../markdown.ts';
import { flatText, markedText } from './marked-text.ts';
import { columnNamed, type LldTable, tablesIn } from './table.ts';

export interface LldRequirement {
  number: number;
  text: string;
  line: number;
}

const LABEL = /^\W*(?:requirement|req|fr|nfr|ac|r)[\s._-]*0*(\d{1,4})(?:\.(?!\d)|[\s):\]*–—-])+\s*/i;
const SECTION_LABEL = /^\W*3\.(\d{1,3})(?:\.(?!\d)|[\s):\]*–—-])+\s*/;
const ID_COLUMN = [/^(?:#|id|no|nr|number|req(?:uirement)? (?:id|#|no|number)|req)$/, /^(?:requirement|ref)s?$/];
const TEXT_COLUMN = [/^(?:requirement|description|text|statement)s?$/, /requirement|description|criteri|what/];

/**
 * Requirements as a numbered list, labelled items, lines or headings (`REQ-1: …`), or a table. Only where there are none
 * of these are `3.1`, `3.2` the requirements themselves; elsewhere they are groups of them.
 */
export function readRequirements(nodes: RootContent[]): LldRequirement[] {
  const found = requirementsIn(nodes, LABEL);
  return found.length > 0 ? found : requirementsIn(nodes, SECTION_LABEL);
}

function requirementsIn(nodes: RootContent[], label: RegExp): LldRequirement[] {
  return nodes.flatMap((node) => {
    if (node.type === 'list') return listRequirements(node.children, node.ordered ? (node.start ?? 1) : null, label);
    if (node.type === 'paragraph') return lineRequirements(node, label);
    if (node.type === 'heading') return labelled(flatText(node), lineOf(node), label);
    if (node.type === 'table') return tablesIn([node]).flatMap(tableRequirements);
    return [];
  });
}

function listRequirements(items: ListItem[], start: number | null, label: RegExp): LldRequirement[] {
  return items.flatMap((item, index) => {
    const [first] = item.children;
    const text = first ? flatText(first) : '';
    const own = labelled(text, lineOf(item), label);
    if (own.length > 0) return own;
    return start === null || text === '' ? [] : [{ number: start + index, text, line: lineOf(item) }];
  });
}

function lineRequirements(paragraph: Nodes, label: RegExp): LldRequirement[] {
  return markedText(paragraph)
    .split('\n')
    .flatMap((text, index) => labelled(text, lineOf(paragraph) + index, label));
}

function labelled(text: string, line: number, label: RegExp): LldRequirement[] {
  const match = label.exec(`${text} `);
  if (!match) return [];
  return [{ number: Number(match[1]), text: text.slice(match[0].length).trim(), line }];
}

function tableRequirements(table: LldTable): LldRequirement[] {
  const id = columnNamed(table, ID_COLUMN);
  const isNumbered = id !== null && table.rows.every((row) => requirementId(row.cells[id] ?? '') !== null);
  const text = columnNamed(table, TEXT_COLUMN, isNumbered ? [id] : []);
  if (text === null && !isNumbered) return [];
  return table.rows.map((row, index) => ({
    number: (isNumbered ? requirementId(row.cells[id] ?? '') : null) ?? index + 1,
    text: row.cells[text ?? (id === 0 ? 1 : 0)] ?? '',
    line: row.line,
  }));
}

function requirementId(cell: string): number | null {
  const match = /^\W*(?:(?:requirement|req|fr|nfr|ac|r)[\s._-]*)?(?:3\.)?0*(\d{1,4})\W*$/i.exec(cell);
  return match ? Number(match[1]) : null;
}
