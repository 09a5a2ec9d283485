import { columnNamed, type DocumentTable, tablesIn } from '../../markdown/tables.ts';
import { hasMarkedAnswer, splitAnswer, withoutMarker } from '../questions.ts';
import { isNoFinding, saysSettled } from './finding-state.ts';
import { type Entry, entriesOf, textOf } from './lines.ts';
import { linesIn, type Part } from './outline.ts';
import { type Coverage, type Finding, type OpenQuestion, type PreFlight, percentOf } from './review.ts';

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
export function coverageOf(parts: Part[]): Coverage | null {
  const own = parts.filter(({ kind }) => kind === 'coverage');
  const printed = entriesIn(own, 'coverage').map(({ text }) => calculation(text));
  const counted = tablesIn(own.flatMap(({ blocks }) => blocks.map(({ node }) => node))).map(countRows);
  return [...printed, ...counted].find((coverage) => coverage !== null) ?? null;
}

function calculation(line: string): Coverage | null {
  const match = /cover/i.test(line) ? COUNTS.exec(line) : null;
  const [covered, total] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || !(total > 0) || covered > total) return null;
  const stated = PERCENT.exec(line.slice(match.index + match[0].length)) ?? PERCENT.exec(line);
  return { covered, total, percent: stated ? Number((stated[1] ?? '').replace(',', '.')) : percentOf(covered, total) };
}

function countRows(table: DocumentTable): Coverage | null {
  const status = table.headers.findLastIndex((title) => /status|cover|result/.test(title));
  const isOfRequirements = columnNamed(table, [/require|^req|^#$|^id$/]) !== null;
  if (!isOfRequirements || status < 0 || table.rows.length === 0) return null;
  const isCovered = (cell: string): boolean => COVERED.test(cell) && !UNCOVERED.test(cell);
  const covered = table.rows.filter(({ cells }) => isCovered(cells[status] ?? '')).length;
  return { covered, total: table.rows.length, percent: percentOf(covered, table.rows.length) };
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
  const top = parts.filter(({ kind }) => kind === 'preamble' || kind === 'title').flatMap(linesIn);
  const lines = gate.flatMap(linesIn);
  const labelled = [...gate.map(({ title }) => title), ...top.map(({ said }) => said)];
  const plain = lines.filter(({ box }) => box === null).map(({ said }) => said);
  const said = [...labelled.map((text) => GATE.exec(text)?.[1] ?? ''), ...plain];
  const stated = said.map(outcome).find((found) => found !== null);
  if (stated) return stated;
  const all = lines.map(({ said }) => said).join('\n');
  if (/\bFAIL(?:ED)?\b|\bgate (?:has )?fail(?:s|ed)\b/.test(all)) return 'FAILED';
  return /\bPASS(?:ED)?\b|\b(?:gate|checks|elements|requirements)\b.*\bpass(?:ed)?\b/.test(all) ? 'PASSED' : null;
}

/** What a failed gate found missing: its points, or its text when it lists none. */
export function gateFindings(parts: Part[]): Finding[] {
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
