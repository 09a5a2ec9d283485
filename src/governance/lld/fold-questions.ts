import type { List, ListItem, Nodes, Parents, Root } from 'mdast';
import { flattenSections, parseMarkdown, plainText, sectionsOf } from '../markdown.ts';
import { OPEN_QUESTIONS_KEY, readTitle } from './section-titles.ts';
import { contentWords, overlap, sharedWords } from './word-overlap.ts';

export interface ResolvedQuestion {
  question: string;
  answer: string;
}

export interface Folded {
  text: string;
  /** How many questions this call marked as resolved. */
  folded: number;
  /** Those that are no question of the draft, open or resolved. */
  unmatched: ResolvedQuestion[];
}

interface QuestionItem {
  question: string;
  isOpen: boolean;
  /** Offsets of the checkbox (absent for a plain list item) and of the question's text. */
  box: number | null;
  start: number;
  end: number;
}

const NONE =
  /^(?:none|nil|nothing|n\/?a|no (?:(?:further|remaining|outstanding|unresolved|more) )?(?:open )?questions?)(?: (?:at (?:this|the) (?:time|moment|stage)|identified|remain(?:s|ing)?|currently|for now|yet|known|so far|left|open))*[.!]?$/i;
const RESOLVED = /\b(?:RESOLVED|ANSWERED|DECIDED)\b|\b(?:Resolved|Resolution|Answered|Answer|Decided|Decision)\s*[:–—]/;
const NTH = /^(?:open )?(?:question|q) ?#?(\d{1,2})$/;

/** The questions of the draft that nobody has answered yet. */
export function openQuestions(draft: string): string[] {
  return questionItems(draft)
    .filter((item) => item.isOpen)
    .map((item) => item.question);
}

/**
 * Each open question that the reviewer resolved becomes `- [x] ~~question~~ **RESOLVED: answer**`; every other byte of
 * the draft stays. Doing it again with the same answers changes nothing.
 */
export function foldResolvedQuestions(draft: string, resolved: ResolvedQuestion[]): Folded {
  const items = questionItems(draft);
  const answers = new Map<QuestionItem, string>();
  const unmatched: ResolvedQuestion[] = [];
  for (const entry of resolved) {
    const answer = tidyAnswer(entry.answer);
    const matches = answer === '' ? [] : matching(entry.question, items, resolved.length);
    if (matches.length === 0) unmatched.push(entry);
    for (const item of matches) if (item.isOpen && !answers.has(item)) answers.set(item, answer);
  }
  let text = draft;
  for (const [item, answer] of [...answers].toSorted(([left], [right]) => right.start - left.start)) {
    const question = draft.slice(item.start, item.end).replaceAll('~~', '').trim();
    const line = `${item.box === null ? '[x] ' : ''}~~${question}~~ **RESOLVED: ${answer}**`;
    text = text.slice(0, item.start) + line + text.slice(item.end);
    if (item.box !== null) text = `${text.slice(0, item.box)}[x]${text.slice(item.box + 3)}`;
  }
  return { text, folded: answers.size, unmatched };
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

function questionItems(draft: string): QuestionItem[] {
  const root = parseMarkdown(draft);
  return questionLists(root)
    .flatMap((list) => list.children.flatMap((item) => questionItem(item, draft) ?? []))
    .toSorted((left, right) => left.start - right.start);
}

/** Lists under a heading "Open Questions", or right below a paragraph that says only that. */
function questionLists(root: Root): List[] {
  const lists = new Set<List>();
  for (const section of flattenSections(sectionsOf(root))) {
    if (!isQuestionsTitle(section.title)) continue;
    for (const node of section.all) if (node.type === 'list') lists.add(node);
  }
  const visit = (parent: Parents): void => {
    for (const [index, node] of parent.children.entries()) {
      const above: Nodes | undefined = parent.children[index - 1];
      if (node.type === 'list' && above?.type === 'paragraph' && isQuestionsTitle(plainText(above))) lists.add(node);
      if ('children' in node) visit(node);
    }
  };
  visit(root);
  return [...lists];
}

function isQuestionsTitle(title: string): boolean {
  return readTitle(title).key === OPEN_QUESTIONS_KEY;
}

/** A checklist item, or a plain one that asks something: a drafter's list without boxes is not an answered one. */
function questionItem(item: ListItem, draft: string): QuestionItem | null {
  const paragraph = item.children[0];
  const start = paragraph?.position?.start.offset;
  const end = paragraph?.position?.end.offset;
  if (paragraph?.type !== 'paragraph' || start === undefined || end === undefined) return null;
  const text = plainText(paragraph);
  const isChecklist = typeof item.checked === 'boolean';
  if (NONE.test(text) || (!isChecklist && !text.endsWith('?'))) return null;

  // The parser counts the box as part of the paragraph when the question begins with markup.
  const ownBox = isChecklist ? (/^\[[ \txX]\]\s+/.exec(draft.slice(start, end))?.[0].length ?? 0) : 0;
  const box = isChecklist ? draft.lastIndexOf('[', ownBox > 0 ? start : start - 1) : null;
  const first = paragraph.children.find((node) => plainText(node) !== '');
  const struck = first?.type === 'delete' ? plainText(first) : null;
  const isOpen = item.checked !== true && !RESOLVED.test(text);
  return { question: struck ?? text, isOpen, box, start: start + ownBox, end };
}
