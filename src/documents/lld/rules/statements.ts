import type { Code, List, Nodes, Table } from 'mdast';
import { lineOf, plainText } from '../../markdown.ts';
import { isMermaid } from '../document.ts';
import { flatText, markedText } from '../marked-text.ts';
import { readTable } from '../table.ts';

/** A sentence of the design with what stands around it. */
export interface Statement {
  text: string;
  /** The item with its parts and its neighbours, the paragraph, or the row: where a bound for the sentence may stand. */
  around: string;
  line: number;
  /** Code and its comments are read for bounds, prose for both. */
  from: 'prose' | 'code';
}

/** Columns that tell what could happen or could have been done, not what the design does. */
const NOT_DESIGN =
  /^(?:concern|risk|threat|issue|problem|hazard|failure|attack|option|alternative|options considered|pros?|cons?|finding|question|bottleneck|impact|likelihood|status|current|before|existing)/;
const NOT_DESIGN_PART =
  /\b(?:reject|alternativ|non-?goals?|out of scope|existing|current|today|problem|background|risk)/i;
const REJECTED = /\b(?:rejected|not chosen|discarded|ruled out)\b/i;
const PLAIN_CODE = /^(?:|text|txt|plain|plaintext|pseudo|pseudocode|pseudo-code|algorithm|none)$/i;

/** The statements under these nodes; parts whose heading says that they are not the design are left out. */
export function statementsIn(nodes: Nodes[]): Statement[] {
  let skipped: number | null = null;
  return nodes.flatMap((node, index) => {
    if (node.type === 'heading') {
      if (skipped === null || node.depth <= skipped)
        skipped = NOT_DESIGN_PART.test(plainText(node)) ? node.depth : null;
      return [];
    }
    return skipped === null ? inNode(node, nodes[index + 1], '') : [];
  });
}

function inNode(node: Nodes, next: Nodes | undefined, above: string): Statement[] {
  if (node.type === 'paragraph') {
    const text = flatText(node);
    const list = /:\W*$/.test(text) && next?.type === 'list' ? flatText(next) : '';
    return sentences(markedText(node), `${text} ${list} ${above}`, lineOf(node));
  }
  if (node.type === 'list') return inList(node, above);
  if (node.type === 'table') return inTable(node);
  if (node.type === 'code') return isMermaid(node) ? [] : inCode(node);
  return node.type === 'blockquote'
    ? node.children.flatMap((child, at) => inNode(child, node.children[at + 1], above))
    : [];
}

function inList(list: List, above: string): Statement[] {
  const texts = list.children.map((item) => flatText(item));
  return list.children.flatMap((item, index) => {
    const around = [texts[index - 1], texts[index], texts[index + 1], above].join(' \n ');
    return item.children.flatMap((child, at) => {
      if (child.type === 'paragraph') return sentences(markedText(child), around, lineOf(child));
      const [first] = item.children;
      return inNode(child, item.children[at + 1], `${first ? flatText(first) : ''} ${above}`);
    });
  });
}

function inTable(table: Table): Statement[] {
  const { headers, rows } = readTable(table);
  return rows.flatMap(({ cells, line }) => {
    const around = cells.join(' | ');
    if (REJECTED.test(around)) return [];
    return cells.flatMap((text, column) =>
      NOT_DESIGN.test(headers[column] ?? '') ? [] : sentences(text, around, line),
    );
  });
}

/** Pseudocode is prose in steps; of real code only the comments are. */
function inCode(code: Code): Statement[] {
  const isProse = PLAIN_CODE.test(code.lang ?? '');
  return code.value.split('\n').flatMap((text, index) => {
    const line = lineOf(code) + 1 + index;
    const comment = /(?:^|\s)(?:\/\/|#|--|;;|\*|"""|\/\*)\s*(.+)$/.exec(text)?.[1];
    const prose = isProse ? text : comment;
    const statement = { text, around: code.value, line, from: 'code' as const };
    return prose === undefined || prose.trim() === ''
      ? [statement]
      : [statement, { ...statement, text: prose.trim(), from: 'prose' as const }];
  });
}

function sentences(text: string, around: string, line: number): Statement[] {
  const found: Statement[] = [];
  text.split('\n').forEach((part, offset) => {
    for (const sentence of part.split(/(?<=[.!?])\s+(?=[\p{Lu}`"'(*])/u)) {
      if (sentence.trim() !== '') found.push({ text: sentence.trim(), around, line: line + offset, from: 'prose' });
    }
  });
  return found;
}
