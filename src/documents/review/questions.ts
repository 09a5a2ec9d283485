import type { ListItem, RootContent } from 'mdast';
import { isNoFinding } from './no-finding.ts';
import type { Part } from './outline.ts';
import type { OpenQuestion } from './review.ts';
import { blockText, inlineText, unwrapLines } from './text.ts';

const FOR_A_PERSON = /\bhuman (?:required|input|decision)\b|\bneeds? (?:a )?(?:human|person)\b|\bunresolved\b/i;
const ANSWER = /(?:^|\s|[–—>→-])(?:RESOLVED|ANSWER(?:ED)?|RESOLUTION|DECISION|A)\s*[:–—-]+\s*/i;

/** The questions of the draft that the review answered, and those that it leaves to a person. */
export function openQuestionsOf(parts: Part[]): { resolved: OpenQuestion[]; forAPerson: string[] } {
  const resolved: OpenQuestion[] = [];
  const forAPerson: string[] = [];
  const record = ({ question, answer }: OpenQuestion, staysOpen = false): void => {
    if (question === '' || (answer === '' && isNoFinding(question))) return;
    if (FOR_A_PERSON.test(answer)) forAPerson.push(question);
    else if (answer !== '' && !staysOpen) resolved.push({ question, answer });
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
  return { resolved, forAPerson };
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
