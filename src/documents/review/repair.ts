import type { Code, Root } from 'mdast';
import { codeIn, lineOf, parseMarkdown } from '../../markdown/markdown.ts';
import { knownArea, meaningOfHeading } from './outline.ts';

export interface Source {
  text: string;
  root: Root;
}

const FENCE = /^[\s>]*(`{3,}|~{3,})/;
const CLOSING = /^[\s>]*(?:`{3,}|~{3,})\s*$/;
const MOST_REPAIRS = 5;

/**
 * The review without a fence around the whole of it, as it stands (`given`) and with each fence that swallowed sections closed
 * before the first of them.
 */
export function repairFences(text: string): { given: Source; repaired: Source; unbalanced: boolean } {
  const given = parsed(withoutWrapper(text));
  const givenLines = given.text.split('\n');
  let unbalanced = codeIn(given.root).some((code) => isOpen(code, givenLines));
  let repaired = given;
  for (let repair = 0; repair < MOST_REPAIRS; repair++) {
    const lines = repaired.text.split('\n');
    const culprit = codeIn(repaired.root).find((code) => swallowsSections(code, lines));
    if (!culprit) break;
    unbalanced = true;
    const first = lineOf(culprit);
    const section = lines.findIndex((line, index) => index >= first && isReviewHeading(line));
    repaired = parsed(lines.toSpliced(section, 0, FENCE.exec(lines[first - 1] ?? '')?.[1] ?? '').join('\n'));
  }
  return { given, repaired, unbalanced };
}

function parsed(text: string): Source {
  return { text, root: parseMarkdown(text) };
}

function isReviewHeading(line: string): boolean {
  const [, title] = /^#{1,4}\s*(\S.*)$/.exec(line) ?? [];
  return title !== undefined && (meaningOfHeading(title, false) !== null || knownArea(title) !== null);
}

/** A fenced block without an end. */
function isOpen(code: Code, lines: string[]): boolean {
  const [first, last] = [lineOf(code) - 1, (code.position?.end.line ?? 1) - 1];
  return FENCE.test(lines[first] ?? '') && (first === last || !CLOSING.test(lines[last] ?? ''));
}

/** A fence that is never closed, or only by the fence of a later block. One that closes properly quotes its content. */
function swallowsSections(code: Code, lines: string[]): boolean {
  const inside = code.value.split('\n');
  const isClosedLate = inside.some((line) => FENCE.test(line) && !CLOSING.test(line));
  const isFenced = FENCE.test(lines[lineOf(code) - 1] ?? '');
  return isFenced && inside.some(isReviewHeading) && (isClosedLate || isOpen(code, lines));
}

/** Without a ```markdown fence around the whole review: its first line, and the last fence that closes something. */
function withoutWrapper(text: string): string {
  const wrapper = parseMarkdown(text).children.find((node) => node.type !== 'paragraph');
  if (wrapper?.type !== 'code' || !/^(?:markdown|md|text|)$/i.test(wrapper.lang ?? '')) return text;
  // A rule or a sentence may stand above the title.
  const [, heading] = /^\s*(?:[^#\n]{1,200}\n\s*){0,2}#{1,3}\s+(.*)/.exec(wrapper.value) ?? [];
  const lines = text.split('\n');
  const first = lineOf(wrapper) - 1;
  const isReview = heading !== undefined && meaningOfHeading(heading, true) !== null;
  if (!isReview || !FENCE.test(lines[first] ?? '')) return text;
  const last = lines.findLastIndex((line) => CLOSING.test(line));
  return lines.filter((_, index) => index !== first && (index !== last || last <= first)).join('\n');
}
