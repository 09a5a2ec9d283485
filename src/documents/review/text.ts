import type { BlockContent, DefinitionContent, ListItem, PhrasingContent, RootContent } from 'mdast';

type Block = RootContent | BlockContent | DefinitionContent;

/**
 * A line of a review as a statement: what is struck out, commented out, quoted or in a code block does not count, and
 * a checkbox is read whatever it is written with.
 */
export interface Line {
  text: string;
  /** crossed: a tick in some hands and its opposite in others, so that it never approves. */
  box: 'ticked' | 'unticked' | 'crossed' | null;
  nested: boolean;
}

const BOX = /[[［][\s\u200B]*([xX✓✔✅☑√vV*●•■█]?)\uFE0F?[\s\u200B]*[\]］]|([☐☑☒✅❌✖✔⬜🔲])\uFE0F?/gu;

/** Only such words make inline code part of a statement (`**Verdict:** \`REVISE\``); any other code is a quotation. */
const PLAIN_WORDS = /^\W*[A-Za-z]+(?: [A-Za-z]+){0,2}\W*$/;

export function linesOf(node: Block, nested = false): Line[] {
  if (node.type === 'paragraph' || node.type === 'heading') return splitLines(statementText(node.children), nested);
  if (node.type === 'list') return node.children.flatMap((item) => linesOfItem(item, nested));
  if (node.type !== 'table') return [];
  return node.children.flatMap((row) => {
    const cells = row.children.map((cell) => statementText(cell.children).replace(/\n/g, ' ').trim());
    return splitLines(cells.join(' | '), nested);
  });
}

function linesOfItem(item: ListItem, nested: boolean): Line[] {
  const [first, ...rest] = item.children;
  if (!first) return [];
  const [head, ...tail] = linesOf(first, nested);
  if (!head) return [];
  const isTask = typeof item.checked === 'boolean' && head.box === null;
  const own: Line = isTask ? { ...head, box: item.checked ? 'ticked' : 'unticked' } : head;
  return [own, ...tail, ...rest.flatMap((child) => linesOf(child, true))];
}

function statementText(nodes: PhrasingContent[]): string {
  let struck = 0;
  let text = '';
  for (const node of nodes) {
    if (node.type === 'html') {
      if (/^<(?:del|s|strike)\b/i.test(node.value)) struck += 1;
      else if (/^<\/(?:del|s|strike)\b/i.test(node.value)) struck -= 1;
      else if (/^<br\b/i.test(node.value)) text += '\n';
    } else if (struck <= 0) {
      text += statementNode(node);
    }
  }
  return text;
}

function statementNode(node: PhrasingContent): string {
  if (node.type === 'text') return node.value;
  if (node.type === 'break') return '\n';
  if (node.type === 'inlineCode') return PLAIN_WORDS.test(node.value) ? node.value : '\uFFFC';
  return 'children' in node && node.type !== 'delete' ? statementText(node.children) : '';
}

function splitLines(text: string, nested: boolean): Line[] {
  return text.split('\n').flatMap((line) => splitBoxes(line.trim(), nested));
}

/** Several boxes may share a line. A box in the middle of a sentence is talk about a box. */
function splitBoxes(line: string, nested: boolean): Line[] {
  if (line === '') return [];
  const boxes = [...line.matchAll(BOX)];
  const before = line.slice(0, boxes[0]?.index).trim();
  if (boxes.length === 0 || !/^(?:[-*+•>\s\d.)]*|.*\b(?:verdict|decision)\b[^.]{0,20}[:=–—-]\s*)$/i.test(before))
    return [{ text: line, box: null, nested }];
  const lines: Line[] = before === '' ? [] : [{ text: before, box: null, nested }];
  for (const [index, box] of boxes.entries()) {
    const text = line.slice(box.index + box[0].length, boxes[index + 1]?.index ?? line.length).trim();
    lines.push({ text, box: meaningOf(box[1], box[2] ?? ''), nested });
  }
  return lines;
}

function meaningOf(inBrackets: string | undefined, symbol: string): Line['box'] {
  if (inBrackets !== undefined) return inBrackets === '' ? 'unticked' : 'ticked';
  if ('☑✅✔'.includes(symbol)) return 'ticked';
  return '☒❌✖'.includes(symbol) ? 'crossed' : 'unticked';
}

/** Inline content as readable text: emphasis dropped, code and strikethrough marked, line breaks kept. */
export function inlineText(nodes: PhrasingContent[]): string {
  return nodes.map(inlineNodeText).join('');
}

function inlineNodeText(node: PhrasingContent): string {
  if (node.type === 'text') return node.value;
  if (node.type === 'inlineCode') return `\`${node.value}\``;
  if (node.type === 'break') return '\n';
  if (node.type === 'delete') return `~~${inlineText(node.children)}~~`;
  if (node.type === 'image' || node.type === 'imageReference') return node.alt ?? '';
  return 'children' in node ? inlineText(node.children) : '';
}

/** Soft line breaks are an accident of wrapping, not part of what is said. */
export function unwrapLines(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}

/** Blocks as readable text, one below the other; nested lists are indented under their point. */
export function blockText(nodes: Block[]): string {
  return nodes
    .map(blockNodeText)
    .filter((text) => text !== '')
    .join('\n');
}

function blockNodeText(node: Block): string {
  if (node.type === 'paragraph' || node.type === 'heading') return unwrapLines(inlineText(node.children));
  if (node.type === 'code') return `\`\`\`${node.lang ?? ''}\n${node.value}\n\`\`\``;
  if (node.type === 'blockquote') return blockText(node.children).replace(/^/gm, '> ');
  if (node.type === 'list') {
    const marker = (index: number): string => (node.ordered ? `${index + 1}. ` : '- ');
    const below = ({ children }: ListItem): string => blockText(children).replace(/\n/g, '\n  ');
    return node.children.map((item, index) => `${marker(index)}${below(item)}`).join('\n');
  }
  if (node.type !== 'table') return '';
  return node.children
    .map((row) => row.children.map((cell) => unwrapLines(inlineText(cell.children))).join(' | '))
    .join('\n');
}

/** Windows-1252 as the reader that damaged the text had it: each character and its byte. */
const BYTES = new Map(
  Array.from({ length: 128 }, (_, at) => [new TextDecoder('windows-1252').decode(Uint8Array.of(at + 128)), at + 128]),
);
const RUN = new RegExp(`[${[...BYTES.keys()].join('')}]{2,}`, 'g');
const LEFT_OVER = /â€|Ã[©¨¼¶¤]|ï»¿|\uFFFD/;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * UTF-8 that was read as Windows-1252 (`â€™`, `âœ…`, `Ã©`, a `ï»¿` in front), turned back where its bytes are
 * valid UTF-8. Ordinary accents and quotation marks aren't, so they stay as they are.
 */
export function repairMojibake(text: string): { text: string; damaged: boolean } {
  let repaired = false;
  const result = text.replace(RUN, (run) => {
    try {
      const decoded = utf8.decode(Uint8Array.from(run, (character) => BYTES.get(character) ?? 0));
      repaired = true;
      return decoded;
    } catch {
      return run;
    }
  });
  return { text: result.replace(/^\uFEFF/, ''), damaged: repaired || LEFT_OVER.test(result) };
}
