import type { Root, RootContent, Table } from 'mdast';
import { markedText, plainText } from '../../markdown/markdown.ts';
import { MOST_COLUMNS } from '../../markdown/tables.ts';
import type { Tier } from './reader.ts';
import { labelledVerdict } from './words.ts';

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

function linesOf(node: RootContent, depth = 0): Line[] {
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

type Kind =
  | 'title'
  | 'identity'
  | 'pre-flight'
  | 'summary'
  | 'open-questions'
  | 'coverage'
  | 'tier'
  | 'questions'
  | 'verdict'
  | 'previous'
  | 'evidence'
  | 'preamble'
  | 'other';

/** What stands under one heading, and what that heading means where it stands. */
export interface Part {
  kind: Kind;
  title: string;
  /** Depth of the heading that began this kind of section; deeper headings belong to it. */
  depth: number;
  /** 0: a list of findings in no tier. */
  tier: Tier | 0;
  /** What a heading inside a tier says: an area, or the title of a finding. */
  area: string;
  blocks: Block[];
}

/** What a heading announces, the first that fits. Tier 0 is of findings that are in no tier. */
const HEADINGS: [Kind | Tier | 0, RegExp][] = [
  [
    'previous',
    /\b(?:previous(?:ly)?|prior|earlier|past|last)\b.*\b(?:reviews?|rounds?|verdicts?|findings?|issues?|feedback|concerns?|raised)\b|\b(?:reviews?|verdicts?|findings?|issues?) (?:history|log|ledger)\b|\b(?:status|state|disposition) of\b|^ledger\b|^(?:example|template|instructions)\b/i,
  ],
  ['pre-flight', /\bpre-?\s?flight\b/i],
  ['open-questions', /\bopen questions?\b|\bquestions? resolved\b|\bresolved questions?\b/i],
  ['questions', /^(?:\w+ )?questions?\b|\bfor (?:the )?orchestrator\b/i],
  ['coverage', /\bcoverage\b/i],
  [0, /^tiers? ?1 ?(?:&|and|\/|\+|,) ?(?:tier ?)?2\b/i],
  [1, /\btier[\s\-–—:#]*(?:1|i|one)\b/i],
  [2, /\btier[\s\-–—:#]*(?:2|ii|two)\b/i],
  [3, /\btier[\s\-–—:#]*(?:3|iii|three)\b/i],
  [0, /^(?:\w+ )?(?:concerns|conditions|caveats|reservations|objections|prerequisites)$/i],
  [3, /\bnon-?blocking\b|\bsuggestions?\b|\bnice[- ]to[- ]haves?\b|^(?:minor|optional|low[- ]priority|nits?)\b/i],
  [1, /^(?:\w+ )?(?:blocking|blockers?)\b|^(?:critical|P0|SEV-?[01]|required changes|changes required|must[- ]fix)\b/i],
  [2, /^high[- ]priority\b|^major\b/i],
  [0, /^(?:(?:review |key |open |detailed )?findings|issues(?: found| identified)?|action items|problems)$/i],
  [
    'verdict',
    /\bverdict\s*[:=–—(-]|^(?!.*\b(?:legend|criteria|options|key|rules|meanings?|definitions?)\b).*\bverdict\b/i,
  ],
  ['identity', /\bidentity\b/i],
  ['evidence', /^evidence\b/i],
  ['summary', /\bsummary\b|^(?:key )?(?:strengths|positives|highlights)\b|^what (?:works|is good)\b/i],
  [
    'verdict',
    /^(?:final |overall |review )?(?:decision|determination|disposition|outcome|recommendation|conclusion)\b/i,
  ],
];
const SETTLED =
  /^(?:all )?(?:resolved|settled|fixed|addressed|withdrawn|closed)\b|[([–—:-]\s*(?:all )?(?:resolved|settled|fixed|addressed|closed)\b/i;
/** The document's own title, whatever the reviewed thing is called ("LLD Review: Verdict Parser"). */
const TITLE = /^(?:[\w-]+\s+){0,4}review(?:\s+(?:report|results?|of|for|round|#?\d+)\b|\s*$|\s*[:#(–—-])/i;

const AREAS: Record<string, Tier> = {
  cost: 1,
  safety: 1,
  security: 1,
  legal: 1,
  architecture: 2,
  observability: 2,
  quality: 2,
  // A scenario that holds already: it is set to be one, and holds nothing back.
  guard: 3,
};

/** The words without numbering, emoji, markup and a trailing colon. */
export function bareTitle(title: string): string {
  return title
    .replace(/^#+\s*/, '')
    .replace(/[*`]+|(?<!\w)_+|_+(?!\w)/g, '')
    .replace(/^[\s\p{Extended_Pictographic}\uFE0F\u200D]+/u, '')
    .replace(/^(?:§\s*)?(?:\d+(?:\.\d+)*[.):]?|[a-z][.)])\s+/i, '')
    .replace(/[\s:：\p{Extended_Pictographic}\uFE0F]+$/u, '')
    .trim();
}

/** The area that a heading or label names, in its usual spelling, and the tier that it belongs to; else null. */
export function knownArea(title: string): { area: string; tier: Tier } | null {
  const word = bareTitle(title)
    .toLowerCase()
    .replace(/\s*\(.*\)$/, '')
    .replace(/\s+(?:issues?|concerns?|findings?|review|considerations?)$/, '')
    .replace(/^guards$/, 'guard');
  const tier = AREAS[word];
  return tier === undefined ? null : { area: word.charAt(0).toUpperCase() + word.slice(1), tier };
}

/** What a heading of a review announces, or null. */
export function meaningOfHeading(heading: string, isFirst: boolean): Pick<Part, 'kind' | 'tier' | 'area'> | null {
  const title = bareTitle(heading);
  const isOwnTitle = isFirst && TITLE.test(title) && !/^[\w\s-]*\bverdict\s*[:=]/i.test(title);
  const [announced] = HEADINGS.find(([, pattern]) => pattern.test(title)) ?? [TITLE.test(title) ? 'title' : null];
  const found = isOwnTitle ? 'title' : announced;
  if (found === null) return null;
  if (typeof found === 'string') return { kind: found, tier: 0, area: '' };
  if (SETTLED.test(title)) return { kind: 'previous', tier: 0, area: '' };
  // "Tier 1: BLOCKING Issues (Security)"
  const areas = (title.match(/\p{L}+/gu) ?? []).flatMap((word) => knownArea(word)?.area ?? []);
  return { kind: 'tier', tier: found, area: areas.length === 1 ? (areas[0] ?? '') : '' };
}

function newPart(title: string, depth: number, meaning: Pick<Part, 'kind'> & Partial<Part>): Part {
  return { title, depth, tier: 0, area: '', blocks: [], ...meaning };
}

/** A line that is meant to be a heading stands below all real ones. */
const LOWEST = 6;

/** The document as a flat list of parts, one for each heading, in order. */
export function outlineOf(root: Root, text: string): Part[] {
  let part = newPart('', 0, { kind: 'preamble' });
  const parts = [part];
  const begin = (title: string, depth: number): void => {
    part = partOf(title, depth, part, parts.length === 1);
    parts.push(part);
  };
  for (const [index, given] of root.children.entries()) {
    if (given.type === 'heading' && text.startsWith('#', given.position?.start.offset)) {
      begin(plainText(given), given.depth);
      continue;
    }
    // A rule right below a paragraph makes it a heading in Markdown, but is meant as a rule.
    const node = given.type === 'heading' ? { ...given, type: 'paragraph' as const } : given;
    const lines = linesOf(node);
    if (node.type === 'paragraph') {
      const isAboveList = lines.length === 1 && root.children[index + 1]?.type === 'list';
      while (lines[0] && isTitle(lines[0], part, isAboveList)) begin(lines.shift()?.text ?? '', LOWEST);
      const [{ said } = { said: '' }] = lines;
      // A labelled verdict ends the tiers and questions above it, even without a heading.
      const isVerdict = /^\W*(?:\w+ ){0,2}verdict\b/i.test(said) && labelledVerdict(said) !== null;
      if (isVerdict && ['tier', 'questions'].includes(part.kind)) begin('Verdict', LOWEST);
      if (lines.length === 0) continue;
    }
    part.blocks.push({ node, lines });
  }
  return parts;
}

/**
 * Whether a line of a paragraph is meant to be a heading: a bold line, `##Heading` without its space or the bare word Verdict,
 * if it names a section, an area inside a tier, or stands above a list there.
 */
function isTitle({ text, bold }: Line, { kind }: Part, isAboveList: boolean): boolean {
  const isMarked = bold === 'all' || /^#{1,6}[^#\s].{0,79}$|^(?:final |overall )?verdict:?$/i.test(text);
  const meaning = isMarked ? meaningOfHeading(text, false) : null;
  // The coverage section has a verdict and a calculation of its own.
  const isOwn = kind === 'coverage' && bold === 'all' && meaning?.kind !== 'tier' && meaning?.kind !== 'questions';
  if (!isMarked || isOwn) return false;
  const isArea = knownArea(text) !== null || (isAboveList && text.split(/\s+/).length <= 3);
  return meaning !== null || (kind === 'tier' && isArea);
}

function partOf(title: string, level: number, { kind, tier, depth }: Part, isFirst: boolean): Part {
  const meaning = meaningOfHeading(title, isFirst);
  const area = knownArea(title);
  const inside = level > depth;
  if (kind === 'tier' && (inside || area)) {
    const leaves =
      !area && meaning && (meaning.tier !== 0 || meaning.kind === 'verdict' || meaning.kind === 'questions');
    if (!leaves) return newPart(title, depth, { kind, tier, area: area?.area ?? bareTitle(title) });
  }
  const stays =
    kind === 'previous' ||
    // The coverage section has a verdict of its own.
    (kind === 'coverage' && meaning?.kind !== 'tier' && meaning?.kind !== 'questions') ||
    (!meaning && ['pre-flight', 'open-questions', 'verdict'].includes(kind));
  if (inside && stays) return newPart(title, depth, { kind });
  if (meaning) return newPart(title, level, meaning);
  // A review that lost its beginning may start below the tier's heading: the area tells the tier.
  return area ? newPart(title, level - 1, { kind: 'tier', ...area }) : newPart(title, level, { kind: 'other' });
}

export function linesIn({ blocks }: Part): Line[] {
  return blocks.flatMap(({ lines }) => lines);
}

/** Whether any section is there that only a review has. */
export function hasReviewSections(parts: readonly Part[]): boolean {
  return parts.some(({ kind }) => ['tier', 'verdict', 'pre-flight', 'coverage'].includes(kind));
}
