import type { ListItem, RootContent, Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { isNoFinding, saysSettled } from './no-finding.ts';
import type { Part } from './outline.ts';
import { type Coverage, type Finding, type OpenQuestion, type PreFlight, percentOf, type Ruling } from './review.ts';
import { blockText, inlineText, type Line, linesOf, unwrapLines } from './text.ts';

/* The sections of a review that are no findings and no verdict, and what it says of findings by their id. */

const COUNTS = [
  /(\d+)\s*(?:requirements?\s*)?(?:are\s+|fully\s+)*covered\s*(?:\/|of|out of)\s*(\d+)/i,
  /covered\s*[:=]?\s*(\d+)\s*(?:\/|of|out of)\s*(\d+)/i,
  /coverage\b[^\d]{0,40}(\d+)\s*(?:\/|of|out of)\s*(\d+)/i,
  /(\d+)\s*(?:\/|of|out of)\s*(\d+)\s*(?:requirements?|total|covered|=)/i,
  /coverage\b.*\((\d+)\s*\/\s*(\d+)\)/i,
];
const PERCENT = /(\d+(?:[.,]\d+)?)\s*%/;
const UNCOVERED = /[✗✘❌✖⚠]|\b(?:missing|not covered|uncovered|gaps?|none|partial(?:ly)?|no|untested|fail(?:ed)?)\b/i;
const COVERED = /[✓✔✅☑]|\b(?:covered|yes|pass(?:ed)?|ok|full(?:y)?|complete)\b/i;

/** Requirement coverage: the calculation as it is printed, else counted from the table. */
export function coverageOf(parts: Part[]): { coverage: Coverage | null; contradictsTable: boolean } {
  const own = parts.filter((part) => part.kind === 'coverage');
  // A review that lost this heading still has the table and the calculation, wherever they stand.
  const nodes = (
    own.length > 0 ? own : parts.filter((part) => part.kind !== 'tier' && part.kind !== 'previous')
  ).flatMap((part) => part.blocks);
  const counted = nodes
    .flatMap((node) => (node.type === 'table' ? [countRows(node)] : []))
    .find((count) => count !== null);
  const printed = nodes
    .filter((node) => node.type !== 'table')
    .flatMap((node) => linesOf(node))
    .map((line) => calculation(line.text))
    .find((found) => found !== null);
  const contradictsTable = Boolean(
    printed && counted && (printed.covered !== counted.covered || printed.total !== counted.total),
  );
  return { coverage: printed ?? counted ?? null, contradictsTable };
}

function calculation(line: string): Coverage | null {
  for (const pattern of COUNTS) {
    const match = pattern.exec(line);
    const covered = Number(match?.[1]);
    const total = Number(match?.[2]);
    if (!match || !(total > 0) || covered > total) continue;
    const stated = PERCENT.exec(line.slice(match.index + match[0].length)) ?? PERCENT.exec(line);
    return {
      covered,
      total,
      percent: stated ? Number((stated[1] ?? '').replace(',', '.')) : percentOf(covered, total),
    };
  }
  return null;
}

function countRows(table: Table): Coverage | null {
  const [header, ...rows] = table.children.map((row) => row.children.map((cell) => plainText(cell)));
  if (!header?.some((title) => /require|^req|^#$|^id$/i.test(title))) return null;
  const status = header.findLastIndex((title) => /status|cover|result/i.test(title));
  if (status < 0 || rows.length === 0) return null;
  const covered = rows.filter((cells) => {
    const cell = cells[status] ?? '';
    return COVERED.test(cell) && !UNCOVERED.test(cell);
  }).length;
  return { covered, total: rows.length, percent: percentOf(covered, rows.length) };
}

const LABELLED = /^\W*pre-?\s?flight(?: gate| check)?\s*(?:status|result)?\s*[:=–—(-]+\s*(.*)$/i;

function outcome(statement: string): PreFlight | null {
  const text = statement.replace(/^\W+/, '').replace(/^(?:gate|status|result|outcome|overall)\W+/i, '');
  if (/^(?:not passed|fail(?:ed|s|ure)?)(?!\w|-\w)/i.test(text)) return 'FAILED';
  return /^pass(?:ed|es)?(?!\w|-\w)/i.test(text) ? 'PASSED' : null;
}

/** What the gate says, in its heading, in its first plain statement, or else in any of its checks: one failure fails it. */
export function preFlightOf(parts: Part[]): PreFlight | null {
  const gate = parts.filter((part) => part.kind === 'pre-flight');
  for (const part of gate) {
    const inTitle = outcome(LABELLED.exec(part.title)?.[1] ?? '');
    if (inTitle) return inTitle;
  }
  const lines = gate.flatMap((part) => part.blocks.flatMap((node) => linesOf(node)));
  for (const line of lines) {
    const stated = line.box === null ? outcome(line.text) : null;
    if (stated) return stated;
  }
  const said = lines.map((line) => line.text).join('\n');
  if (/\bFAIL(?:ED)?\b|\bgate (?:has )?fail(?:s|ed)\b/.test(said)) return 'FAILED';
  if (/\bPASS(?:ED)?\b|\b(?:gate|checks|elements|requirements)\b.*\bpass(?:ed)?\b/.test(said)) return 'PASSED';
  const elsewhere = parts
    .filter((part) => part.kind !== 'previous')
    .flatMap((part) => part.blocks)
    .flatMap((node) => linesOf(node))
    .map((line) => outcome(LABELLED.exec(line.text)?.[1] ?? ''));
  return elsewhere.find((found) => found !== null) ?? null;
}

/** What a failed gate found missing: its points, or its text when it lists none. */
export function gateFindings(parts: Part[]): Finding[] {
  const gate = parts.filter((part) => part.kind === 'pre-flight');
  const nodes = gate.flatMap((part) => part.blocks);
  const finding = (text: string): Finding => ({ tier: 1, area: 'Pre-Flight', text });
  const points = nodes
    .flatMap((node) => (node.type === 'list' ? node.children : []))
    .filter((item) => item.checked !== true)
    .map((item) => blockText(item.children))
    .filter((text) => !isNoFinding(text) && !saysSettled(text) && !/^\s*[✓✔✅]|\bPASS(?:ED)?\b/.test(text));
  if (points.length > 0) return points.map(finding);
  const prose = nodes
    .filter((node) => node.type === 'paragraph')
    .map((node) => blockText([node]))
    .filter((text) => text !== '' && !/^\W*(?:verdict\b.*|(?:pre-?flight gate\W*)?failed\W*)$/i.test(text));
  return [finding(prose.length > 0 ? prose.join('\n') : 'The Pre-Flight gate failed.')];
}

const FOR_A_PERSON = /\bhuman (?:required|input|decision)\b|\bneeds? (?:a )?(?:human|person)\b|\bunresolved\b/i;
const ANSWER = /(?:^|\s|[–—>→-])(?:RESOLVED|ANSWER(?:ED)?|RESOLUTION|DECISION|A)\s*[:–—-]+\s*/i;

/** The questions of the draft that the review answered, and those that it leaves to a person. */
export function openQuestionsOf(parts: Part[]): {
  resolved: OpenQuestion[];
  forAPerson: string[];
  unanswered: string[];
} {
  const resolved: OpenQuestion[] = [];
  const forAPerson: string[] = [];
  const unanswered: string[] = [];
  const record = ({ question, answer }: OpenQuestion, staysOpen = false): void => {
    if (question === '' || (answer === '' && isNoFinding(question))) return;
    if (FOR_A_PERSON.test(answer)) forAPerson.push(question);
    else if (answer !== '' && !staysOpen) resolved.push({ question, answer });
    else if (staysOpen) unanswered.push(question);
  };
  for (const node of parts.filter((part) => part.kind === 'open-questions').flatMap((part) => part.blocks)) {
    if (node.type === 'list')
      for (const item of node.children)
        record(questionOf(item), item.checked === false && !isMarked(blockText(item.children)));
    else if (node.type === 'table')
      for (const row of node.children.slice(1))
        record(questionOfCells(row.children.map((cell) => inlineText(cell.children))));
    else if (node.type === 'paragraph')
      for (const line of inlineText(node.children).split('\n'))
        record(
          splitAnswer(line.replace(/^\s*\[[ xX]?\]\s*/, '')),
          /^\s*\[\s?\]/.test(line) && !isMarked(line.replace(/^\s*\[\s?\]\s*/, '')),
        );
  }
  return { resolved, forAPerson, unanswered };
}

/** An empty box is a question that stays open, unless the answer is marked as one. */
function isMarked(text: string): boolean {
  return text.startsWith('~~') || ANSWER.test(text);
}

function questionOf(item: ListItem): OpenQuestion {
  const [first, ...rest] = item.children;
  if (first?.type !== 'paragraph') return { question: blockText(item.children), answer: '' };
  const own = splitAnswer(unwrapLines(inlineText(first.children)));
  const below = blockText(rest);
  if (below === '') return own;
  const nested = below
    .replace(/^(?:[-*]|\d+\.)\s+/, '')
    .replace(/^(?:RESOLVED|ANSWER|RESOLUTION|DECISION|A)\s*[:–—-]+\s*/i, '');
  return { question: own.question, answer: own.answer === '' ? nested : `${own.answer}\n${below}` };
}

function questionOfCells(cells: string[]): OpenQuestion {
  const said = cells
    .map((cell) => unwrapLines(cell))
    .filter((cell) => !/^(?:Q?\d+|[✓✔✅]|yes|resolved)?\.?$/i.test(cell));
  return { question: withoutStrike(said[0] ?? ''), answer: said.slice(1).join(' – ') };
}

/** "~~Question?~~ **RESOLVED: answer**", "Q: … A: …", "Question? Answer". */
function splitAnswer(text: string): OpenQuestion {
  const struck = /^\s*~~(.+?)~~\s*[:–—>→-]*\s*(.*)$/s.exec(text);
  if (struck) return { question: (struck[1] ?? '').trim(), answer: withoutMarker(struck[2] ?? '') };
  const marker = ANSWER.exec(text);
  if (marker && marker.index > 0) {
    return {
      question: withoutStrike(text.slice(0, marker.index)),
      answer: text.slice(marker.index + marker[0].length).trim(),
    };
  }
  const [, question, answer] = /^(.*?\?)["”]?\s*[:–—→-]*\s*(.*)$/s.exec(text) ?? [];
  return question === undefined
    ? { question: text.trim(), answer: '' }
    : { question: withoutStrike(question), answer: (answer ?? '').trim() };
}

function withoutMarker(text: string): string {
  return text.replace(/^(?:RESOLVED|ANSWER(?:ED)?|RESOLUTION|DECISION)\s*[:.–—-]*\s*/i, '').trim();
}

function withoutStrike(text: string): string {
  return text
    .replace(/~~/g, '')
    .replace(/^(?:Q\d*|question(?: \d+)?)\s*[:.]\s*/i, '')
    .replace(/[\s–—→-]+$/, '')
    .trim();
}

/** The reviewer's own questions. "None." is none. */
export function questionsOf(parts: Part[]): string[] {
  return parts
    .filter((part) => part.kind === 'questions')
    .flatMap((part) => part.blocks)
    .flatMap((node: RootContent) => {
      if (node.type === 'list') return node.children.map((item) => blockText(item.children));
      return node.type === 'paragraph' ? [blockText([node])] : [];
    })
    .map((text) => text.replace(/^\[[ xX]?\]\s*/, ''))
    .filter((text) => text !== '' && !isNoFinding(text) && !/^no (?:\w+ )?questions?\b/i.test(text));
}

const IDS = /^\W{0,4}(?:findings? )?(F\d+(?:\s*(?:,|and|&|\/|or)\s*F\d+)*)\b/i;
const STATE_FIRST = /^\W{0,3}(?:now )?([a-z -]+?)\s*[:–—-]\s*(F\d+(?:\s*(?:,|and|&|\s)\s*F\d+)*)\W*$/i;
const FILLER =
  /^(?:\s|[*_:|.,–—-]|\([^)]*\)|\b(?:is|are|was|were|has|have|been|now|both|all|status|state|considered)\b)*/i;

const STATES: [Ruling['state'], RegExp][] = [
  [
    'open',
    /^(?:not (?:yet |fully )?(?:fixed|resolved|settled|addressed)|still\b|remains?\b|unresolved|unaddressed|unsettled|reopened|outstanding|partial(?:ly)?\b|open\b)/i,
  ],
  ['withdrawn', /^(?:withdrawn?|dropped|retracted|no longer (?:applies|applicable|relevant))/i],
  ['fixed', /^(?:settled|fixed|resolved|addressed|closed|done|satisfied|✅|✓|✔)(?![\w-])/i],
];

function stateOf(statement: string): Ruling['state'] | null {
  const text = statement.replace(FILLER, '');
  return STATES.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** After the ids the state comes first, or last behind a description; in a table it is a cell, and the last one counts. */
function stateInRest(rest: string): Ruling['state'] | null {
  if (rest.includes(' | '))
    return (
      rest
        .split(' | ')
        .map(stateOf)
        .findLast((state) => state !== null) ?? null
    );
  return stateOf(rest) ?? stateOf(/[:–—(-]\s*([^:–—(]*)$/.exec(rest)?.[1] ?? '');
}

/** "F2: settled", "F1 and F3 are fixed", "F4 – Unbounded retry loop: still open", "Settled: F1, F2", "[x] F5 …". */
export function rulingsIn(lines: Line[]): Ruling[] {
  const rulings: Ruling[] = [];
  for (const line of lines) {
    if (!/\bF\d/i.test(line.text)) continue;
    for (const clause of line.text.split(
      /;\s+|\.\s+(?=(?:Finding )?F\d)|,\s+(?=F\d+[^,]*\b(?:is|are|was|remains?|still)\b)/,
    )) {
      const [, state, idsLast] = STATE_FIRST.exec(clause) ?? [];
      const [matched, idsFirst] = IDS.exec(clause) ?? [];
      const ids = idsLast ?? idsFirst;
      if (ids === undefined) continue;
      const rest = clause.slice(matched?.length ?? 0);
      const said = state !== undefined ? stateOf(state) : stateInRest(rest);
      const ruled = said ?? (line.box === 'ticked' ? 'fixed' : null);
      if (ruled === null) continue;
      for (const id of ids.match(/F\d+/gi) ?? []) rulings.push({ id: id.toUpperCase(), state: ruled });
    }
  }
  return rulings;
}
