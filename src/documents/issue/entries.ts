import type { ListItem, Nodes, RootContent } from 'mdast';
import { columnNamed, type DocumentTable, flatText, lineOf, markedText, tablesIn } from '../markdown.ts';
import { type References, readReferences } from './references.ts';

export interface IssueScenario {
  number: number;
  text: string;
  line: number;
}

export interface IssueCriterion extends References {
  /** `AC1`, `AC2`, … in order. */
  label: string;
  /** Without its label and its references. */
  text: string;
  line: number;
}

const SCENARIO_LABEL = /^\W*(?:scenario|sc|s)[\s._#-]*0*(\d{1,3})(?![\p{L}\p{N}])[\s.:)\]*–—-]*/iu;
const CRITERION_LABEL = /^\W*(?:ac|criterion)[\s._#-]*\d{1,3}(?=\W)/i;
const ID_COLUMN = [/^(?:#|id|no|nr|number|scenario (?:id|#|no))$/];

/** Scenarios as labelled or numbered items, labelled lines or headings (`S1: …`), or a table. */
export function readScenarios(nodes: RootContent[]): IssueScenario[] {
  return nodes.flatMap((node) => {
    if (node.type === 'list') {
      const start = node.ordered ? (node.start ?? 1) : null;
      return node.children.flatMap((item, index) =>
        scenario(flatText(item), lineOf(item), start === null ? null : start + index),
      );
    }
    if (node.type === 'heading') return scenario(flatText(node), lineOf(node), null);
    if (node.type === 'paragraph') {
      const lines = markedText(node).split('\n');
      return lines.flatMap((text, index) => scenario(text, lineOf(node) + index, null));
    }
    return node.type === 'table' ? tablesIn([node]).flatMap(scenariosOfTable) : [];
  });
}

function scenario(text: string, line: number, number: number | null): IssueScenario[] {
  const label = SCENARIO_LABEL.exec(text);
  if (label) return [{ number: Number(label[1]), text: text.slice(label[0].length).trim(), line }];
  return number === null || text === '' ? [] : [{ number, text, line }];
}

function scenariosOfTable(table: DocumentTable): IssueScenario[] {
  const byName = columnNamed(table, ID_COLUMN);
  const id = byName ?? table.headers.findIndex((_, at) => table.rows.every((row) => isScenarioId(row.cells[at] ?? '')));
  return table.rows.flatMap(({ cells, line }) => {
    const number = Number(/\d{1,3}/.exec(cells[id] ?? '')?.[0] ?? Number.NaN);
    const text = cells.filter((cell, at) => at !== id && cell !== '').join(' – ');
    return Number.isNaN(number) ? [] : [{ number, text, line }];
  });
}

function isScenarioId(cell: string): boolean {
  return /^\W*(?:scenario|sc|s)?[\s._#-]*\d{1,3}\W*$/i.test(cell);
}

/** Criteria as list items, labelled lines or table rows; a heading or an item that groups them hands its references down. */
export function readCriteria(nodes: RootContent[], known: References): IssueCriterion[] {
  const found: Omit<IssueCriterion, 'label'>[] = [];
  let above: References = { scenarios: [], requirements: [] };
  const add = (text: string, line: number, inherited: References): void => {
    const { text: bare, references } = readReferences(text, known);
    found.push({ text: bare, line, ...merged(inherited, references) });
  };
  const addItem = (item: ListItem, inherited: References): void => {
    const [first, ...rest] = item.children;
    const lists = rest.filter((child) => child.type === 'list');
    const lead = first ? flatText(first) : '';
    const { text: leadText, references } = readReferences(lead, known);
    if (lists.length > 0 && (lead.endsWith(':') || leadText === '')) {
      for (const list of lists) for (const child of list.children) addItem(child, merged(inherited, references));
    } else add(flatText(item), lineOf(item), inherited);
  };
  for (const node of nodes) {
    if (node.type === 'heading') above = readReferences(`${flatText(node)}:`, known).references;
    else if (node.type === 'list') for (const item of node.children) addItem(item, above);
    else if (node.type === 'table') {
      for (const { text, line } of rowsOf(node)) add(text, line, above);
    } else if (node.type === 'paragraph') {
      for (const [index, text] of markedText(node).split('\n').entries()) {
        if (CRITERION_LABEL.test(text)) add(text, lineOf(node) + index, above);
      }
    }
  }
  return found.map((criterion, index) => ({ label: `AC${index + 1}`, ...criterion }));
}

/** A row as a line of text with the references of its columns in brackets, as a list item would have them. */
function rowsOf(node: Nodes): { text: string; line: number }[] {
  return tablesIn([node]).flatMap((table) => {
    const id = columnNamed(table, [/^(?:#|id|no|nr|ac|number)$/]);
    const scenarios = columnNamed(table, [/scenario/]);
    const requirements = columnNamed(table, [/\breq/]);
    const plain = table.headers.map((_, at) => at).filter((at) => ![id, scenarios, requirements].includes(at));
    const numbered = (letter: string, cell: string): string =>
      cell.replace(/(?<![\p{L}\p{N}-])(\d{1,3})(?![\p{L}\p{N}])/gu, `${letter}$1`);
    return table.rows.map(({ cells, line }) => {
      const named = [
        scenarios === null ? '' : numbered('S', cells[scenarios] ?? ''),
        requirements === null ? '' : numbered('R', cells[requirements] ?? ''),
      ].filter((group) => group !== '');
      const words = plain.map((at) => cells[at] ?? '').filter((cell) => cell !== '');
      return { text: `${words.join(' – ')} ${named.map((group) => `(${group})`).join(' ')}`, line };
    });
  });
}

function merged(left: References, right: References): References {
  return {
    scenarios: [...new Set([...left.scenarios, ...right.scenarios])],
    requirements: [...new Set([...left.requirements, ...right.requirements])],
  };
}
