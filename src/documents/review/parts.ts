import type { ListItem, RootContent, Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { isNoFinding, saysSettled } from './no-finding.ts';
import type { Part } from './outline.ts';
import { type Coverage, type Finding, type OpenQuestion, type PreFlight, percentOf, type Ruling } from './review.ts';
import { blockText, inlineText, type Line, linesOf, unwrapLines } from './text.ts';

/* The sections of a review that are no findings and no verdict, and what it says of findings by their id. */

const COUNTS =
  /(?:\bcover\w*\b[^\d]{0,40}|)(\d+)\s*(?:requirements?\s*)?(?:(?:are|fully)\s+)*(?:covered\s*)?(?:\/|of|out of)\s*(\d+)/i;
const PERCENT = /(\d+(?:[.,]\d+)?)\s*%/;
const UNCOVERED = /[✗✘❌✖⚠]|\b(?:missing|not covered|uncovered|gaps?|none|partial(?:ly)?|no|untested|fail(?:ed)?)\b/i;
const COVERED = /[✓✔✅☑]|\b(?:covered|yes|pass(?:ed)?|ok|full(?:y)?|complete)\b/i;

/** Requirement coverage: the calculation as it is printed, else counted from the table. */
export function coverageOf(parts: Part[]): Coverage | null {
  const own = parts.filter(({ kind }) => kind === 'coverage');
  // A review that lost this heading still has the table and the calculation, wherever they stand.
  const around = own.length > 0 ? own : parts.filter(({ kind }) => kind !== 'tier' && kind !== 'previous');
  const nodes = around.flatMap(({ blocks }) => blocks);
  const printed = textLines(nodes.filter(({ type }) => type !== 'table')).map(calculation);
  const counted = nodes.map((node) => (node.type === 'table' ? countRows(node) : null));
  return [...printed, ...counted].find((found) => found !== null) ?? null;
}

function calculation(line: string): Coverage | null {
  const match = /cover/i.test(line) ? COUNTS.exec(line) : null;
  const [covered, total] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || !(total > 0) || covered > total) return null;
  const stated = PERCENT.exec(line.slice(match.index + match[0].length)) ?? PERCENT.exec(line);
  return { covered, total, percent: stated ? Number((stated[1] ?? '').replace(',', '.')) : percentOf(covered, total) };
}

function countRows(table: Table): Coverage | null {
  const [header, ...rows] = table.children.map((row) => row.children.map((cell) => plainText(cell)));
  if (!header?.some((title) => /require|^req|^#$|^id$/i.test(title))) return null;
  const status = header.findLastIndex((title) => /status|cover|result/i.test(title));
  if (status < 0 || rows.length === 0) return null;
  const covered = rows.filter(({ [status]: cell = '' }) => COVERED.test(cell) && !UNCOVERED.test(cell)).length;
  return { covered, total: rows.length, percent: percentOf(covered, rows.length) };
}

const GATE = /^\W*pre-?\s?flight(?: gate| check)?\s*(?:status|result)?\s*[:=–—(-]+\s*(.*)$/i;

function outcome(statement: string): PreFlight | null {
  const text = statement.replace(/^\W+/, '').replace(/^(?:gate|status|result|outcome|overall)\W+/i, '');
  if (/^(?:not passed|fail(?:ed|s|ure)?)(?!\w|-\w)/i.test(text)) return 'FAILED';
  return /^pass(?:ed|es)?(?!\w|-\w)/i.test(text) ? 'PASSED' : null;
}

/** What the gate says in its heading or in a plain statement, or else in capitals in any of its checks: one failure fails it. */
export function preFlightOf(parts: Part[]): PreFlight | null {
  const gate = parts.filter(({ kind }) => kind === 'pre-flight');
  const top = parts.filter(({ kind }) => kind === 'preamble' || kind === 'title').flatMap(({ blocks }) => blocks);
  const lines = gate.flatMap(({ blocks }) => blocks.flatMap((node) => linesOf(node)));
  const labelled = [...gate.map(({ title }) => title), ...textLines(top)].map((text) => GATE.exec(text)?.[1] ?? '');
  const plain = lines.filter(({ box }) => box === null).map(({ text }) => text);
  const stated = [...labelled, ...plain].map(outcome).find((found) => found !== null);
  if (stated) return stated;
  const all = lines.map(({ text }) => text).join('\n');
  if (/\bFAIL(?:ED)?\b|\bgate (?:has )?fail(?:s|ed)\b/.test(all)) return 'FAILED';
  return /\bPASS(?:ED)?\b|\b(?:gate|checks|elements|requirements)\b.*\bpass(?:ed)?\b/.test(all) ? 'PASSED' : null;
}

function textLines(blocks: RootContent[]): string[] {
  return blocks.flatMap((node) => linesOf(node)).map(({ text }) => text);
}

/** What a failed gate found missing: its points, or its text when it lists none. */
export function gateFindings(parts: Part[]): Finding[] {
  const nodes = parts.filter(({ kind }) => kind === 'pre-flight').flatMap(({ blocks }) => blocks);
  const points = nodes
    .flatMap((node) => (node.type === 'list' ? node.children : []))
    .filter((item) => item.checked !== true)
    .map((item) => blockText(item.children))
    .filter((text) => !isNoFinding(text) && !saysSettled(text) && !/\bPASS(?:ED)?\b/.test(text));
  const prose = nodes
    .map((node) => (node.type === 'paragraph' ? blockText([node]) : ''))
    .filter((text) => text !== '' && !/^\W*(?:verdict\b.*|(?:pre-?flight gate\W*)?failed\W*)$/i.test(text));
  const texts = points.length > 0 ? points : [prose.join('\n') || 'The Pre-Flight gate failed.'];
  return texts.map((text) => ({ tier: 1, area: 'Pre-Flight', text }));
}

const FOR_A_PERSON = /\bhuman (?:required|input|decision)\b|\bneeds? (?:a )?(?:human|person)\b|\bunresolved\b/i;
const MARKER = '(?:RESOLVED|ANSWER(?:ED)?|RESOLUTION|DECISION|A)\\s*[:–—-]+\\s*';
const ANSWER = new RegExp(`(?:^|\\s|[–—>→-])${MARKER}`, 'i');
const ANSWER_FIRST = new RegExp(`^(?:[-*]\\s+|\\d+\\.\\s+)?${MARKER}`, 'i');

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
    else if (staysOpen) unanswered.push(question);
    else if (answer !== '') resolved.push({ question, answer });
  };
  for (const node of parts.filter(({ kind }) => kind === 'open-questions').flatMap(({ blocks }) => blocks)) {
    if (node.type === 'list')
      for (const item of node.children)
        record(questionOf(item), item.checked === false && !isMarked(blockText(item.children)));
    else if (node.type === 'paragraph')
      for (const line of inlineText(node.children).split('\n')) {
        const [, box, text = line] = /^\s*(\[[ xX]?\])\s*(.*)$/.exec(line) ?? [];
        record(splitAnswer(text), box !== undefined && !/x/i.test(box) && !isMarked(text));
      }
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
  const nested = below.replace(ANSWER_FIRST, '').replace(/^(?:[-*]|\d+\.)\s+/, '');
  return { question: own.question, answer: own.answer === '' ? nested : `${own.answer}\n${below}` };
}

/** "~~Question?~~ **RESOLVED: answer**", "Q: … A: …", "Question? Answer". */
function splitAnswer(text: string): OpenQuestion {
  const [, question = text, answer = ''] =
    /^\s*~~(.+?)~~\s*[:–—>→-]*\s*(.*)$/s.exec(text) ??
    new RegExp(`^(.+?)(?:\\s|[–—>→-])${MARKER}(.*)$`, 'is').exec(text) ??
    /^(.*?\?)["”]?\s*[:–—→-]*\s*(.*)$/s.exec(text) ??
    [];
  return { question: tidyQuestion(question), answer: answer.replace(ANSWER_FIRST, '').trim() };
}

function tidyQuestion(text: string): string {
  return text
    .replace(/~~/g, '')
    .replace(/^(?:Q\d*|question(?: \d+)?)\s*[:.]\s*/i, '')
    .replace(/[\s–—→-]+$/, '')
    .trim();
}

/** The reviewer's own questions that are not answered. "None." is not a question. */
export function questionsOf(parts: Part[]): string[] {
  return parts
    .filter((part) => part.kind === 'questions')
    .flatMap((part) => part.blocks)
    .flatMap((node) => {
      if (node.type === 'list') return node.children.map((item) => blockText(item.children));
      return node.type === 'paragraph' ? [blockText([node])] : [];
    })
    .map((text) => text.replace(/^\[[ xX]?\]\s*/, ''))
    .filter((text) => !isAnswered(text))
    .filter((text) => text !== '' && !isNoFinding(text) && !/^no (?:\w+ )?questions?\b/i.test(text));
}

/** "~~Question?~~ **RESOLVED: answer**", the form in which answers are given. */
function isAnswered(text: string): boolean {
  const { answer } = splitAnswer(text);
  return text.startsWith('~~') && answer !== '' && !FOR_A_PERSON.test(answer);
}

const STATES: [Ruling['state'], RegExp][] = [
  [
    'open',
    /\b(?:not (?:yet |fully )?(?:fixed|resolved|settled|addressed)|still|remains?|unresolved|unaddressed|reopened|outstanding|partial(?:ly)?|open)\b/i,
  ],
  ['withdrawn', /\b(?:withdrawn?|dropped|retracted|no longer (?:applies|applicable|relevant))\b/i],
  ['fixed', /\b(?:settled|fixed|resolved|addressed|closed|done|satisfied)\b(?!-)|[✅✓✔]/i],
];
const IDS = /^\W{0,4}(?:findings? )?(F\d+(?:\s*(?:,|and|&|\/|or)\s*F\d+)*)\b/i;
const STATE_FIRST = /^\W{0,3}(?:now )?([a-z -]+?)\s*[:–—-]\s*(F\d+(?:\s*(?:,|and|&|\s)\s*F\d+)*)\W*$/i;
/** What may stand between an id and its state. */
const FILLER = /^(?:\W|\([^)]*\)|\b(?:is|are|was|were|has|have|been|now|both|all|status|state|considered)\b)*/i;

/** The state that a piece of text begins with. */
function stateOf(text: string): Ruling['state'] | null {
  const said = /^\s*[✅✓✔]/.test(text) ? text.trim() : text.replace(FILLER, '');
  return STATES.find(([, pattern]) => pattern.exec(said)?.index === 0)?.[0] ?? null;
}

/** "F2: settled", "F1 and F3 are fixed", "F4 – Unbounded retry loop: still open", "Settled: F1, F2", "[x] F5 …". */
export function rulingsIn(lines: Line[]): Ruling[] {
  return lines.flatMap(({ text, box }) =>
    text
      .split(/;\s+|\.\s+(?=(?:Finding )?F\d)|,\s+(?=F\d+[^,]*\b(?:is|are|was|remains?|still)\b)/)
      .flatMap((clause) => {
        const [, before, last] = STATE_FIRST.exec(clause) ?? [];
        const [matched = '', first] = IDS.exec(clause) ?? [];
        // The state comes right behind the ids, or last behind a description or in a cell.
        const pieces = clause.slice(matched.length).split(/ \| |[:–—(]|-\s/);
        const after = stateOf(pieces.join(' ')) ?? pieces.map(stateOf).findLast((state) => state !== null);
        const state = (before === undefined ? after : stateOf(before)) ?? (box === 'ticked' ? 'fixed' : null);
        const ids = (last ?? first ?? '').match(/F\d+/gi) ?? [];
        return state === null ? [] : ids.map((id) => ({ id: id.toUpperCase(), state }));
      }),
  );
}
