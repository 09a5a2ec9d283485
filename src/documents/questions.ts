import type { List, ListItem, Nodes, Paragraph, Parents } from 'mdast';
import { flatText, flattenSections, lineOf, parseMarkdown, plainText, sectionsOf } from './markdown.ts';
import type { OpenQuestion } from './review/review.ts';
import { OPEN_QUESTIONS_KEY, readTitle } from './titles.ts';
import { contentWords, overlap, sharedWords } from './words.ts';

/** A question of the draft, open or resolved. */
export interface QuestionItem {
  question: string;
  /** What stands behind a question that is struck out, without the word that marks it as the answer. */
  answer: string;
  isOpen: boolean;
  line: number;
  /** Offsets of the checkbox (absent for a plain list item) and of the question's text. */
  box: number | null;
  /** What a resolved question begins with where it has no checkbox yet: a list item gets one, a paragraph none. */
  mark: string;
  start: number;
  end: number;
}

/** `- [ ] None` asks nothing. */
const NONE =
  /^\W*(?:none|nil|nothing|n\/?a|no(?: (?:open|further|remaining|outstanding|unresolved|more))* questions?|all (?:questions? )?(?:are |were |have been )?(?:resolved|answered|settled))\b(?!.*\?)/i;
const RESOLVED =
  /(?:^|[\s*(~])(?:RESOLVED|ANSWERED|ADDRESSED|CONFIRMED|DECIDED|DECISION|CLOSED|(?:Resolved|Answered|Addressed|Confirmed|Decided|Decision|Answer|Resolution)(?=\s*[:.)–—-]))/;
const NTH = /^(?:open )?(?:question|q) ?#?(\d{1,2})$/;

/** The unanswered questions of the draft. */
export function openQuestions(draft: string): string[] {
  return questionItems(draft)
    .filter((item) => item.isOpen)
    .map((item) => item.question);
}

/**
 * Each open question that the reviewer resolved becomes `- [x] ~~question~~ **RESOLVED: answer**`; every other byte of
 * the draft stays. Doing it again with the same answers changes nothing.
 */
export function foldResolvedQuestions(draft: string, resolved: OpenQuestion[]): string {
  const items = questionItems(draft);
  const answers = new Map<QuestionItem, string>();
  for (const entry of resolved) {
    const answer = tidyAnswer(entry.answer);
    const matches = answer === '' ? [] : matching(entry.question, items, resolved.length);
    for (const item of matches) if (item.isOpen && !answers.has(item)) answers.set(item, answer);
  }
  let text = draft;
  for (const [item, answer] of [...answers].toSorted(([left], [right]) => right.start - left.start)) {
    const question = draft.slice(item.start, item.end).replaceAll('~~', '').trim();
    const line = `${item.box === null ? item.mark : ''}~~${question}~~ **RESOLVED: ${answer}**`;
    text = text.slice(0, item.start) + line + text.slice(item.end);
    if (item.box !== null) text = `${text.slice(0, item.box)}[x]${text.slice(item.box + 3)}`;
  }
  return text;
}

/** A revision that was written from an older draft may have lost answers; each comes back where the question is the same. */
export function keepAnswers(draft: string, revised: string): string {
  const open = new Set(openQuestions(revised).map(normalised));
  const answered = questionItems(draft).filter(
    ({ question, answer, isOpen }) => !isOpen && answer !== '' && open.has(normalised(question)),
  );
  return answered.length === 0 ? revised : foldResolvedQuestions(revised, answered);
}

/** Those with the same words, else the one with most of the same words; two that fit equally well are none. */
function matching(question: string, items: QuestionItem[], resolvedCount: number): QuestionItem[] {
  const form = normalised(question);
  const nth = NTH.exec(form)?.[1];
  if (nth !== undefined) return items.slice(Number(nth) - 1, Number(nth));
  const same = items.filter((item) => normalised(item.question) === form);
  if (same.length > 0) return same;

  const words = contentWords(question);
  const [best, second] = items
    .map((item) => ({ item, score: likeness(words, contentWords(item.question)) }))
    .toSorted((left, right) => right.score - left.score);
  if (!best) return [];
  if (best.score >= 0.6 && best.score > (second?.score ?? 0)) return [best.item];
  // One question and one answer belong together even when the reviewer put the question into other words.
  return items.length === 1 && resolvedCount === 1 && best.score >= 0.3 ? [best.item] : [];
}

function likeness(left: Set<string>, right: Set<string>): number {
  const smaller = Math.min(left.size, right.size);
  const contained = smaller >= 3 ? sharedWords(left, right) / smaller : 0;
  return Math.max(overlap(left, right), contained >= 0.8 ? contained * 0.9 : 0);
}

function normalised(question: string): string {
  return (question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ').replace(/^\d{1,2} (?=\S+ \S)/, '');
}

/** One line that can stand inside bold text. */
function tidyAnswer(answer: string): string {
  return answer
    .replace(/\s+/g, ' ')
    .replaceAll('**', '')
    .replace(/^\W*resolved\s*[:–—-]\s*/i, '')
    .trim();
}

/** Items and paragraphs under every heading "Open Questions", and lists right below a paragraph that says only that. */
export function questionItems(draft: string, root = parseMarkdown(draft)): QuestionItem[] {
  const found = new Set<List | Paragraph>();
  for (const { title, own, all } of flattenSections(sectionsOf(root))) {
    if (!isQuestionsTitle(title)) continue;
    for (const node of [...own, ...all])
      if (node.type === 'list' || (node.type === 'paragraph' && own.includes(node))) found.add(node);
  }
  const visit = ({ children }: Parents): void => {
    for (const [index, node] of children.entries()) {
      const above: Nodes | undefined = children[index - 1];
      if (node.type === 'list' && above?.type === 'paragraph' && isQuestionsTitle(plainText(above))) found.add(node);
      if ('children' in node) visit(node);
    }
  };
  visit(root);
  return [...found]
    .flatMap((node) => {
      if (node.type === 'list')
        return node.children.flatMap((item) => questionItem(item.children[0], item.checked, draft) ?? []);
      const item = questionItem(node, null, draft);
      return item ? [{ ...item, mark: '' }] : [];
    })
    .toSorted((left, right) => left.start - right.start);
}

function isQuestionsTitle(title: string): boolean {
  return readTitle(title).key === OPEN_QUESTIONS_KEY;
}

/** A checklist item, or plain text that asks something: a drafter's list without boxes is not an answered one. */
function questionItem(paragraph: Nodes | undefined, checked: ListItem['checked'], draft: string): QuestionItem | null {
  const start = paragraph?.position?.start.offset;
  const end = paragraph?.position?.end.offset;
  if (paragraph?.type !== 'paragraph' || start === undefined || end === undefined) return null;
  const text = flatText(paragraph);
  const isChecklist = typeof checked === 'boolean';
  const asks = isChecklist || text.includes('?');
  if (NONE.test(text) || !asks) return null;

  // The parser counts the box as part of the paragraph when the question begins with markup.
  const ownBox = isChecklist ? (/^\[[ \txX]\]\s+/.exec(draft.slice(start, end))?.[0].length ?? 0) : 0;
  const box = isChecklist ? draft.lastIndexOf('[', ownBox > 0 ? start : start - 1) : null;
  const first = paragraph.children.find((node) => plainText(node) !== '');
  const struck = first?.type === 'delete' ? flatText(first) : null;
  const isOpen = checked !== true && !RESOLVED.test(text) && (struck === null || struck.length * 2 <= text.length);
  const answer = struck === null ? '' : tidyAnswer(text.slice(text.indexOf(struck) + struck.length));
  const question = struck ?? questionOf(text);
  return { question, answer, isOpen, line: lineOf(paragraph), box, mark: '[x] ', start: start + ownBox, end };
}

/** Without the answer behind it. */
function questionOf(text: string): string {
  const resolution = RESOLVED.exec(text);
  return (resolution && resolution.index > 0 ? text.slice(0, resolution.index) : text).trim();
}
