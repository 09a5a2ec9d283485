import { columnNamed, type DocumentTable, tablesIn } from '../../markdown/tables.ts';
import { GUARD_AREA, isGuardFinding } from '../lld/scenarios.ts';
import { hasMarkedAnswer, splitAnswer, withoutMarker } from '../questions.ts';
import { type Entry, entriesOf, knownArea, type Line, linesIn, type Part, textOf } from './outline.ts';
import type { Finding, OpenQuestion, Review, Tier } from './reader.ts';
import { isNoFinding, rulingsIn, saysSettled } from './words.ts';

interface Item extends Finding {
  ticked: boolean;
  /** False where no heading says how grave it is. */
  isRanked: boolean;
}

const CONTINUATION =
  /^\W*(?:recommend(?:ation|ed)?\w*|fix|suggest(?:ion|ed fix)|impact|rationale|reason|why|risk|evidence|location|severity|mitigation|action|example|details?|description|note|reference|solution|remediation|required|expected|resolution|proposed)\b[^:]{0,30}:/i;
/** What is said about the list, or to the reader. */
const NO_ITEM =
  /^\W*(?:note|let me know|(?:reviewed|signed) (?:by|on)|i(?:'|’)?m happy to|happy to|feel free|end of (?:the )?review|thank you|thanks)\b/i;
/** `Guard`, `Guard (020)`, `Guard: scenarios 020 and 030`; not `Guard clause`, which is about code. */
const GUARD_LEAD = /^guards?(?:\W+(?:scenarios?\W+)?\d{3}[a-z]?(?:(?:\W|and)+\d{3}[a-z]?)*\W*)?$/i;

/**
 * The open findings of all tiers. An unticked box, a plain bullet, a number, a paragraph, a table row or a heading of its
 * own is a finding; a ticked one is settled.
 */
export function findingsOf(parts: Part[]): { findings: Finding[]; unranked: string[] } {
  const items = parts.filter((part) => part.kind === 'tier').flatMap(itemsOf);
  const open = items.filter(
    // What a guard says of its scenario sounds like praise.
    (item) =>
      !item.ticked && (isGuardFinding(item) || ![isNoFinding, saysSettled, isRuledOut].some((is) => is(item.text))),
  );
  const named = (area: string, tier: Tier): string => (area === '' && tier === 3 ? 'Suggestions' : area);
  return {
    findings: open.map(({ tier, area, text }) => ({ tier, area: named(area, tier), text })),
    unranked: open.filter(({ isRanked }) => !isRanked).map(({ text }) => text),
  };
}

function isRuledOut(text: string): boolean {
  const [ruling] = rulingsIn([{ said: text.split('\n', 1)[0] ?? '', box: null }]);
  return ruling !== undefined && ruling.state !== 'open' && /^\W{0,3}(?:finding )?F\d/i.test(text);
}

function itemsOf(part: Part): Item[] {
  const items: Item[] = [];
  /** To the finding above; there is none after "No issues found." */
  const append = (text: string): boolean => {
    const last = items.at(-1);
    if (!last || isNoFinding(last.text)) return false;
    last.text += `\n${text}`;
    return true;
  };
  for (const [index, { node, lines }] of part.blocks.entries()) {
    const next = part.blocks[index + 1]?.node.type;
    if (node.type === 'table') items.push(...tableItems(lines, part));
    else if (node.type === 'code' || node.type === 'blockquote') {
      // It belongs to the finding above; with none above, it is one.
      const isAppended = append(textOf(lines));
      if (!isAppended && items.length === 0) items.push(newItem(textOf(lines).replace(/^> ?/gm, ''), part, false));
    } else if (node.type === 'list') {
      items.push(...entriesOf(lines).map(({ whole, box }) => newItem(whole, part, box === 'ticked')));
    } else if (node.type === 'paragraph') {
      for (const { text, box } of entriesOf(lines)) {
        const continues = box === null && (CONTINUATION.test(text) || lines[0]?.bold === null);
        const isIntroduction = text.endsWith(':') && (next === 'list' || next === 'table');
        if ((continues && append(text)) || NO_ITEM.test(text) || isIntroduction) continue;
        items.push(newItem(text, part, box === 'ticked'));
      }
    }
  }
  return items;
}

/** A row of a table; the numbers in its first cell and empty cells say nothing. */
function tableItems(lines: readonly Line[], part: Part): Item[] {
  return lines.slice(1).flatMap(({ text }) => {
    const [first = '', ...more] = text.split(' | ').filter((cell) => /[\p{L}✓✔✅☑]/u.test(cell));
    if (first === '' || [first, ...more].some(isNoFinding)) return [];
    const area = more.length > 0 ? knownArea(first)?.area : undefined;
    const said = area === undefined ? [first, ...more] : more;
    return [newItem(said.join(' – '), { ...part, area: area ?? part.area }, false)];
  });
}

/** The area may stand in front of the finding itself. */
function newItem(text: string, part: Part, ticked: boolean): Item {
  const [lead = '', name = ''] = /^([^:\n]{3,40}):\s+(?=\S)/.exec(text) ?? [];
  const known = part.area === '' ? knownArea(name)?.area : undefined;
  const isGuard = GUARD_LEAD.test(name);
  const area = isGuard ? GUARD_AREA : (known ?? part.area);
  const rest = (isGuard || known === undefined ? text : text.slice(lead.length)).trim();
  const tier = isGuardFinding({ area, text: rest }) ? 3 : part.tier || 2;
  return { tier, area, text: rest, ticked, isRanked: part.tier !== 0 };
}

/* The sections of a review that hold neither findings nor the verdict. */

const COUNTS =
  /(?:\bcover\w*\b[^\d]{0,40}|)(\d+)\s*(?:(?:\w+ )?requirements?\s*)?(?:(?:are|fully)\s+)*(?:covered\s*)?(?:\/|of|out of)\s*(\d+)/i;
const PERCENT = /(\d+(?:[.,]\d+)?)\s*%/;
const UNCOVERED = /[✗✘❌✖⚠]|\b(?:missing|not covered|uncovered|gaps?|none|partial(?:ly)?|no|untested|fail(?:ed)?)\b/i;
const COVERED = /[✓✔✅☑]|\b(?:covered|yes|pass(?:ed)?|ok|full(?:y)?|complete)\b/i;

/** The points and lines of all sections of a kind. */
function entriesIn(parts: Part[], kind: Part['kind'], types = ['list', 'paragraph']): Entry[] {
  const blocks = parts.filter((part) => part.kind === kind).flatMap((part) => part.blocks);
  return blocks.filter(({ node }) => types.includes(node.type)).flatMap(({ lines }) => entriesOf(lines));
}

/** Requirement coverage: the calculation as it is printed, else counted from the table. */
export function coverageOf(parts: Part[]): Review['coverage'] {
  const own = parts.filter(({ kind }) => kind === 'coverage');
  const printed = entriesIn(own, 'coverage').map(({ text }) => calculation(text));
  const counted = tablesIn(own.flatMap(({ blocks }) => blocks.map(({ node }) => node))).map(countRows);
  return [...printed, ...counted].find((coverage) => coverage !== null) ?? null;
}

function calculation(line: string): Review['coverage'] {
  const match = /cover/i.test(line) ? COUNTS.exec(line) : null;
  const [covered, total] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || !(total > 0) || covered > total) return null;
  const [, stated] = PERCENT.exec(line.slice(match.index + match[0].length)) ?? PERCENT.exec(line) ?? [];
  return { covered, total, percent: stated ? Number(stated.replace(',', '.')) : percentOf(covered, total) };
}

function percentOf(covered: number, total: number): number {
  return Math.round((covered / total) * 1000) / 10;
}

function countRows(table: DocumentTable): Review['coverage'] {
  const status = table.headers.findLastIndex((title) => /status|cover|result/.test(title));
  const isOfRequirements = columnNamed(table, [/require|^req|^#$|^id$/]) !== null;
  if (!isOfRequirements || status < 0 || table.rows.length === 0) return null;
  const isCovered = (cell: string): boolean => COVERED.test(cell) && !UNCOVERED.test(cell);
  const covered = table.rows.filter(({ cells }) => isCovered(cells[status] ?? '')).length;
  return { covered, total: table.rows.length, percent: percentOf(covered, table.rows.length) };
}

const GATE = /^\W*pre-?\s?flight(?: gate| check)?\s*(?:status|result)?\s*[:=–—(-]+\s*(.*)$/i;

function outcome(statement: string): Review['preFlight'] {
  const text = statement.replace(/^\W+/, '').replace(/^(?:gate|status|result|outcome|overall)\W+/i, '');
  if (/^(?:not passed|fail(?:ed|s|ure)?)(?!\w|-\w)/i.test(text)) return 'FAILED';
  return /^pass(?:ed|es)?(?!\w|-\w)/i.test(text) ? 'PASSED' : null;
}

/** What the gate says in its heading or in a plain statement, or else in capitals in any of its checks: one failure fails it. */
export function preFlightOf(parts: Part[]): Review['preFlight'] {
  const gate = parts.filter(({ kind }) => kind === 'pre-flight');
  const lines = gate.flatMap(linesIn);
  const above = parts.filter(({ kind }) => kind === 'preamble' || kind === 'title').flatMap(linesIn);
  const labelled = [...gate.map(({ title }) => title), ...above.map(({ said }) => said)];
  const plain = lines.filter(({ box }) => box === null).map(({ said }) => said);
  const stated = [...labelled.map((text) => GATE.exec(text)?.[1] ?? ''), ...plain].map(outcome).find(Boolean);
  if (stated) return stated;
  const all = lines.map(({ said }) => said).join('\n');
  if (/\bFAIL(?:ED)?\b|\bgate (?:has )?fail(?:s|ed)\b/.test(all)) return 'FAILED';
  return /\bPASS(?:ED)?\b|\b(?:gate|checks|elements|requirements)\b.*\bpass(?:ed)?\b/.test(all) ? 'PASSED' : null;
}

/**
 * Why a review sends a draft back, if its tiers don't say it: what a failed gate found missing, or the words of a short rejection
 * ("# Governance Verdict: BLOCK" and a paragraph).
 */
export function statedReason(
  parts: Part[],
  rejection: string | null,
  { verdict, preFlight, findings }: Pick<Review, 'verdict' | 'preFlight' | 'findings'>,
): Finding[] {
  if (preFlight === 'FAILED') {
    const points = entriesIn(parts, 'pre-flight', ['list'])
      .filter(({ box }) => box !== 'ticked')
      .map(({ whole }) => whole)
      .filter((text) => !isNoFinding(text) && !saysSettled(text) && !/\bPASS(?:ED)?\b/.test(text));
    const prose = entriesIn(parts, 'pre-flight', ['paragraph'])
      .map(({ text }) => text)
      .filter((text) => !/^\W*(?:verdict\b.*|(?:pre-?flight gate\W*)?failed\W*)$/i.test(text));
    const texts = points.length > 0 ? points : [prose.join('\n') || 'The Pre-Flight gate failed.'];
    return texts.map((text) => ({ tier: 1, area: 'Pre-Flight', text }));
  }
  if (verdict !== 'REVISE' || findings.length > 0 || parts.some(({ kind }) => kind === 'tier')) return [];
  const wordsIn = (kind: Part['kind']): string => {
    const blocks = parts.filter((part) => part.kind === kind).flatMap((part) => part.blocks);
    const isReason = ({ said, box }: Line): boolean => box === null && !/^(?:#|\W*verdict\b)/i.test(said);
    const own = blocks.filter(({ node, lines }) => node.type === 'paragraph' && lines.every(isReason));
    return textOf(own.flatMap(({ lines }) => lines));
  };
  const text = rejection ?? (wordsIn('verdict') || wordsIn('summary'));
  return text.split(/\s+/).length > 5 ? [{ tier: 1, area: '', text }] : [];
}

const FOR_A_PERSON = /\bhuman (?:required|input|decision)\b|\bneeds? (?:a )?(?:human|person)\b|\bunresolved\b/i;

/** The questions of the draft that the review answered, those that it leaves to a person, and those without a marked answer. */
export function openQuestionsOf(parts: Part[]): Record<'forAPerson' | 'unanswered', string[]> & {
  resolved: OpenQuestion[];
} {
  const entries = entriesIn(parts, 'open-questions')
    .map((entry) => ({ ...entry, ...answered(entry), isMarked: hasMarkedAnswer(entry.whole) }))
    // A sentence about the questions is none of them.
    .filter(({ whole, box }) => box !== null || whole.includes('?') || hasMarkedAnswer(whole))
    .filter(({ question, answer }) => question !== '' && (answer !== '' || !isNoFinding(question)));
  const left = entries.filter(({ answer }) => FOR_A_PERSON.test(answer));
  const others = entries.filter(({ answer }) => !FOR_A_PERSON.test(answer));
  // An empty box is a question that stays open, unless the answer is marked as one.
  const resolved = others.filter(
    ({ answer, box, text, isMarked }) => answer !== '' && (isMarked || box !== 'unticked' || text.startsWith('~~')),
  );
  return {
    resolved: resolved.map(({ question, answer }) => ({ question, answer })),
    forAPerson: left.map(({ question }) => question),
    unanswered: others.filter(({ isMarked }) => !isMarked).map(({ question }) => question),
  };
}

/** The answer is marked, or follows the question mark, or stands below. */
function answered({ text, below }: Entry): OpenQuestion {
  const marked = splitAnswer(text);
  const [, asked = text, said = ''] = /^(.*?\?)["”]?\s*[:–—→-]*\s*(.*)$/s.exec(text) ?? [];
  const { question, answer } = marked.answer === '' ? { question: splitAnswer(asked).question, answer: said } : marked;
  const more = textOf(below);
  if (answer === '') return { question, answer: withoutMarker(more).replace(/^(?:[-*]|\d+\.)\s+/, '') };
  return { question, answer: more === '' ? answer : `${answer}\n${more}` };
}

/** The reviewer's own questions that are not answered. "None." is not a question. */
export function questionsOf(parts: Part[]): string[] {
  return entriesIn(parts, 'questions')
    .map(({ whole }) => whole)
    .filter((text) => {
      const { answer } = splitAnswer(text);
      const isAnswered = text.startsWith('~~') && answer !== '' && !FOR_A_PERSON.test(answer);
      return text !== '' && !isAnswered && !isNoFinding(text) && !/^no (?:\w+ )?questions?\b/i.test(text);
    });
}
