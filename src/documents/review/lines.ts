import type { BlockContent, DefinitionContent, RootContent, Table } from 'mdast';
import { markedText, plainText } from '../../markdown/markdown.ts';
import { MOST_COLUMNS } from '../../markdown/tables.ts';

type Node = RootContent | BlockContent | DefinitionContent;

/** A line of a review, and how it stands there. */
export interface Line {
  /** Readable: emphasis is removed, code and struck-out words keep their marks. */
  text: string;
  /** What the line states: struck-out, commented-out, quoted and code text does not count. */
  said: string;
  /** crossed: some reviewers tick with a cross and others reject with it, so it never approves. */
  box: 'ticked' | 'unticked' | 'crossed' | null;
  /** How deep it is in lists; 0 at the top. */
  depth: number;
  /** Its list marker: `- `, `1. `. */
  marker: string;
  /** It continues the line above. */
  wraps: boolean;
  /** Whether bold words begin it, or are all of it but a colon. */
  bold: 'first' | 'all' | null;
}

/** A paragraph, list, table or other block of a section. */
export interface Block {
  node: RootContent;
  lines: Line[];
}

/** Stands for code in a statement. */
export const UNSAID = '\uFFFC';
const BOX = /[[［][\s\u200B]*([xX✓✔✅☑√vV*●•■█]?)\uFE0F?[\s\u200B]*[\]］]|\(([xX ])\)|([☐☑☒✅❌✖✔⬜🔲])\uFE0F?/gu;
/** A box in the middle of a sentence is talk about a box. */
const BEFORE_BOXES = /^(?:[-*+•>\s\d.)|]*|.*\b(?:verdict|decision)\b[^.]{0,20}[:=–—-]\s*)$/i;
const BOLD_LINE = /^\s*\*\*[^*]{1,80}\*\*\s*:?\s*$/;
/** Only such words make inline code part of a statement (`**Verdict:** \`REVISE\``); any other code is a quotation. */
const PLAIN_WORDS = /^\W*[A-Za-z]+(?: [A-Za-z]+){0,2}\W*$/;

export function linesOf(node: Node, depth = 0): Line[] {
  if (node.type === 'paragraph' || node.type === 'heading') return textLines(markedText(node, true), depth);
  if (node.type === 'table') {
    const ticks = boxColumn(node);
    return node.children.flatMap((row) => {
      const cells = row.children.map((cell) => markedText(cell, true).replace(/\s+/g, ' '));
      const ticked = row === node.children[0] ? -1 : ticks;
      const box = ticked < 0 ? '' : `${cells.splice(ticked, 1)[0] || '[ ]'} `;
      return textLines(`${box}${cells.join(' | ')}`, depth).map((line) => ({ ...line, wraps: false }));
    });
  }
  if (node.type === 'code') return [unsaid(`\`\`\`${node.lang ?? ''}\n${node.value}\n\`\`\``, depth)];
  if (node.type === 'blockquote') {
    const inside = textOf(node.children.flatMap((child) => linesOf(child)));
    return [unsaid(inside.replace(/^/gm, '> '), depth)];
  }
  if (node.type !== 'list') return [];
  return node.children.flatMap(({ checked, children: [first, ...rest] }, index) => {
    const [head, ...tail] = first ? linesOf(first, depth) : [];
    if (!head) return [];
    const box = head.box ?? (typeof checked === 'boolean' ? (checked ? 'ticked' : 'unticked') : null);
    const own = { ...head, box, marker: node.ordered ? `${index + 1}. ` : '- ' };
    return [own, ...tail, ...rest.flatMap((child) => linesOf(child, depth + 1))];
  });
}

/** The column of a table that holds a box or nothing in each row, or -1. */
function boxColumn({ children: [head, ...rows] }: Table): number {
  const cells = (at: number): string[] => rows.map((row) => plainText(row.children[at]));
  const isBox = (cell: string): boolean => cell.replace(BOX, '') === '';
  const columns = [...(head?.children ?? []).slice(0, MOST_COLUMNS).keys()].map(cells);
  return columns.findIndex((column) => column.every(isBox) && column.some((cell) => cell !== ''));
}

function unsaid(text: string, depth: number): Line {
  return { text, said: '', box: null, depth, marker: '', wraps: false, bold: null };
}

/** Several boxes may share a line. */
function textLines(text: string, depth: number): Line[] {
  const made = (marked: string, box: Line['box'], wraps: boolean): Line => {
    const piece = marked.replace(/(`[^`]*`)|\*\*/g, '$1').trim();
    const unstruck = piece.replace(/~~[^~]*~~/g, '');
    const said = unstruck.replace(/`([^`]*)`/g, (_, code: string) => (PLAIN_WORDS.test(code) ? code : UNSAID));
    const bold = BOLD_LINE.test(marked) ? 'all' : /^\s*\*\*/.test(marked) ? 'first' : null;
    return { ...unsaid(piece, depth), said: said.trim(), box, wraps, bold };
  };
  return text.split('\n').flatMap((line, row) => {
    const boxes = [...line.matchAll(BOX)];
    const before = line.slice(0, boxes[0]?.index);
    if (boxes.length === 0 || !BEFORE_BOXES.test(before.trim()))
      return line.trim() === '' ? [] : [made(line, null, row > 0)];
    const own = boxes.map((box, index) => {
      const piece = line.slice(box.index + box[0].length, boxes[index + 1]?.index ?? line.length);
      return made(piece, meaningOf(box[1] ?? box[2]?.trim(), box[3] ?? ''), false);
    });
    return before.trim() === '' ? own : [made(before, null, row > 0), ...own];
  });
}

function meaningOf(inBrackets: string | undefined, symbol: string): Line['box'] {
  if (inBrackets !== undefined) return inBrackets === '' ? 'unticked' : 'ticked';
  if ('☑✅✔'.includes(symbol)) return 'ticked';
  return '☒❌✖'.includes(symbol) ? 'crossed' : 'unticked';
}

/** Lines as readable text; nested points are indented under their point. */
export function textOf(lines: readonly Line[]): string {
  const pieces = lines.map(({ text, depth, marker, wraps }) => {
    const indent = '  '.repeat(depth);
    const inner = marker === '' ? indent : `${indent}  `;
    return wraps ? ` ${text}` : `\n${indent}${marker}${text.replace(/\n/g, `\n${inner}`)}`;
  });
  return pieces.join('').trim();
}

/** A point of a list, a row of a table, or a line with the lines that continue it. */
export interface Entry {
  text: string;
  /** With the points nested below it. */
  whole: string;
  below: Line[];
  box: Line['box'];
}

export function entriesOf(lines: readonly Line[]): Entry[] {
  const groups: Line[][] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last && (line.depth > 0 || line.wraps)) last.push(line);
    else groups.push([line]);
  }
  return groups.map((group) => {
    const own = group.filter((line, index) => index === 0 || line.depth === 0).map(({ text }) => text);
    const below = group.filter((line, index) => index > 0 && line.depth > 0);
    const nested = below.map((line) => ({ ...line, depth: line.depth - 1 }));
    const text = own.join(' ');
    const whole = nested.length === 0 ? text : `${text}\n${textOf(nested)}`;
    return { text, whole, below: nested, box: group[0]?.box ?? null };
  });
}
