import type { List, ListItem, Nodes, Paragraph, Parents } from 'mdast';
import { flatText, lineOf, markedText, parseMarkdown, plainText } from '../markdown/markdown.ts';
import { contentWords, OPEN_QUESTIONS_KEY, overlap, readTitle, sharedWords } from '../markdown/words.ts';
import { type DocumentFinding, quote, warning } from './finding.ts';
import type { OpenQuestion } from './review/reader.ts';

/** A question of the draft, open or resolved. */
export interface QuestionItem extends OpenQuestion {
  isOpen: boolean;
  line: number;
  /** Whether it stands in a list: then it has a box once it is resolved. */
  isItem: boolean;
  /** Offsets of the question with its box. */
  start: number;
  end: number;
}

/** `- [ ] None` asks nothing. */
const NONE =
  /^\W*(?:none|nil|nothing|n\/?a|no(?: (?:open|further|remaining|outstanding|unresolved|more))* questions?|all (?:questions? )?(?:are |were |have been )?(?:resolved|answered|settled))\b(?!.*\?)/i;
const MARKER =
  '(?:RESOLVED|RESOLUTION|ANSWER(?:ED)?|ADDRESSED|CONFIRMED|DECI(?:SION|DED)|CLOSED|A)(?:\\s*[:–—)]+|\\s+-)\\s*';
const MARKED = new RegExp(`^(.*?)(?:^|[\\s(>→–—-])${MARKER}(.*)$`, 'is');
const MARKER_FIRST = new RegExp(`^(?:[-*]\\s+|\\d+\\.\\s+)?${MARKER}`, 'i');
const STRUCK = /^\s*~~(.+?)~~\s*[:–—>→-]*\s*(.*)$/s;
const BOX = /^\[[ \txX]\]\s+/;

/** "~~Question?~~ **RESOLVED: answer**", "Q: … A: …"; the answer is empty if none is marked as such. */
export function splitAnswer(text: string): OpenQuestion {
  const [, question = text, answer = ''] = STRUCK.exec(text) ?? MARKED.exec(text) ?? [];
  const bare = question.replace(/~~/g, '').replace(/^(?:Q\d*|question(?: \d+)?)\s*[:.]\s*/i, '');
  return { question: bare.replace(/[\s–—→-]+$/, '').trim(), answer: withoutMarker(answer) };
}

export function withoutMarker(answer: string): string {
  return answer.trim().replace(MARKER_FIRST, '').trim();
}

/** Whether an answer is marked as one. */
export function hasMarkedAnswer(text: string): boolean {
  return MARKED.test(text);
}

/** The unanswered questions of the draft. */
export function openQuestions(draft: string): string[] {
  return questionItems(draft)
    .filter((item) => item.isOpen)
    .map((item) => item.question);
}

/**
 * Each open question that the reviewer resolved becomes `- [x] ~~question~~ **RESOLVED: answer**`; every other byte of
 * the draft stays. Folding the same answers twice changes nothing.
 */
export function foldResolvedQuestions(draft: string, resolved: OpenQuestion[]): string {
  const items = questionItems(draft);
  const answers = new Map<QuestionItem, string>();
  for (const entry of resolved) {
    const answer = withoutMarker(entry.answer.replace(/\s+/g, ' ').replaceAll('**', ''));
    const matches = answer === '' ? [] : matching(entry.question, items, resolved.length);
    for (const item of matches) if (item.isOpen && !answers.has(item)) answers.set(item, answer);
  }
  let text = draft;
  for (const [{ start, end, isItem }, answer] of [...answers].toSorted(([left], [right]) => right.start - left.start)) {
    const question = draft.slice(start, end).replace(BOX, '').replaceAll('~~', '').trim();
    text = `${text.slice(0, start)}${isItem ? '[x] ' : ''}~~${question}~~ **RESOLVED: ${answer}**${text.slice(end)}`;
  }
  return text;
}

/** Restores answers that a revision lost because it was written from an older draft. */
export function keepAnswers(draft: string, revised: string): string {
  const open = new Set(openQuestions(revised).map(normalised));
  const answered = questionItems(draft).filter(
    ({ question, answer, isOpen }) => !isOpen && answer !== '' && open.has(normalised(question)),
  );
  return answered.length === 0 ? revised : foldResolvedQuestions(revised, answered);
}

/** Those with the same words, else the one that shares most words; two that fit equally well match nothing. */
function matching(question: string, items: QuestionItem[], resolvedCount: number): QuestionItem[] {
  const form = normalised(question);
  const same = items.filter((item) => normalised(item.question) === form);
  if (same.length > 0) return same;
  const words = contentWords(question);
  const [best, second] = items
    .map((item) => ({ item, score: likeness(words, contentWords(item.question)) }))
    .toSorted((left, right) => right.score - left.score);
  // One question and one answer belong together even if the reviewer put the question into other words.
  const isOnly = items.length === 1 && resolvedCount === 1;
  const isEnough = best && best.score >= (isOnly ? 0.3 : 0.6) && best.score > (second?.score ?? 0);
  return isEnough ? [best.item] : [];
}

function likeness(left: Set<string>, right: Set<string>): number {
  const smaller = Math.min(left.size, right.size);
  const contained = smaller >= 3 ? sharedWords(left, right) / smaller : 0;
  return Math.max(overlap(left, right), contained >= 0.8 ? contained * 0.9 : 0);
}

function normalised(question: string): string {
  return (question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ').replace(/^\d{1,2} (?=\S+ \S)/, '');
}

/** The questions below every heading "Open Questions", and in lists right below a paragraph that says only that. */
export function questionItems(draft: string, root = parseMarkdown(draft)): QuestionItem[] {
  return questionBlocks(root).flatMap((node) =>
    node.type === 'list'
      ? node.children.flatMap((item) => questionItem(item.children[0], item, draft) ?? [])
      : (questionItem(node, null, draft) ?? []),
  );
}

function questionBlocks({ children }: Parents): (List | Paragraph)[] {
  const isTitle = (node: Nodes | undefined): boolean => readTitle(plainText(node)).key === OPEN_QUESTIONS_KEY;
  /** The level of the heading that the nodes are below, and whether one of its parts has begun. */
  let [level, isPart] = [0, false];
  return children.flatMap((node: Nodes, index): (List | Paragraph)[] => {
    if (node.type === 'heading') {
      if (isTitle(node) || node.depth <= level) [level, isPart] = [isTitle(node) ? node.depth : 0, false];
      else isPart = true;
      return [];
    }
    const above: Nodes | undefined = children[index - 1];
    if (node.type === 'list' && (level > 0 || (above?.type === 'paragraph' && isTitle(above)))) return [node];
    if (node.type === 'paragraph') return level > 0 && !isPart ? [node] : [];
    return 'children' in node ? questionBlocks(node) : [];
  });
}

/** A checklist item, or plain text with a question mark: a drafter's list without boxes is not an answered one. */
function questionItem(paragraph: Nodes | undefined, item: ListItem | null, draft: string): QuestionItem | null {
  const start = paragraph?.position?.start.offset;
  const end = paragraph?.position?.end.offset;
  if (paragraph?.type !== 'paragraph' || start === undefined || end === undefined) return null;
  const text = flatText(paragraph);
  const isChecklist = typeof item?.checked === 'boolean';
  if (NONE.test(text) || !(isChecklist || text.includes('?'))) return null;

  const marked = markedText(paragraph, true).replace(/\*\*/g, '').replace(/\s+/g, ' ');
  const { question, answer } = splitAnswer(marked);
  const [, struck] = STRUCK.exec(marked) ?? [];
  const isStruck = struck !== undefined && struck.length * 2 > text.length;
  const isAnswered = item?.checked === true || isStruck || hasMarkedAnswer(marked);
  // The parser counts the box as part of the paragraph if the question begins with markup.
  const hasBox = BOX.test(draft.slice(start, end));
  const place = { start: isChecklist && !hasBox ? draft.lastIndexOf('[', start) : start, end };
  return { question, answer, isOpen: !isAnswered, line: lineOf(paragraph), isItem: item !== null, ...place };
}

/** `open-question`: for the reviewer to resolve, so it only warns. */
export function checkOpenQuestions(questions: readonly QuestionItem[]): DocumentFinding[] {
  return questions
    .filter(({ isOpen }) => isOpen)
    .map(({ line, question }) =>
      warning('open-question', line, `Open question, for the reviewer to resolve: ${quote(question)}.`),
    );
}
