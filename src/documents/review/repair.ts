import type { Code, Root } from 'mdast';
import { CLOSING_FENCE, codeIn, FENCE, lineOf, parseMarkdown, withoutWrapper } from '../../markdown/markdown.ts';
import { knownArea, meaningOfHeading } from './outline.ts';

export interface Source {
  text: string;
  root: Root;
}

const MOST_REPAIRS = 5;

/**
 * The review without a fence around the whole of it, as it stands (`given`) and with each fence that swallowed sections closed
 * before the first of them.
 */
export function repairFences(text: string): { given: Source; repaired: Source; unbalanced: boolean } {
  const given = parsed(withoutWrapper(text, beginsReview));
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

/** A rule or a sentence may stand above the title. */
function beginsReview(text: string): boolean {
  const [, heading] = /^\s*(?:[^#\n]{1,200}\n\s*){0,2}#{1,3}\s+(.*)/.exec(text) ?? [];
  return heading !== undefined && meaningOfHeading(heading, true) !== null;
}

function isReviewHeading(line: string): boolean {
  const [, title] = /^#{1,4}\s*(\S.*)$/.exec(line) ?? [];
  return title !== undefined && (meaningOfHeading(title, false) !== null || knownArea(title) !== null);
}

/** A fenced block without an end. */
function isOpen(code: Code, lines: string[]): boolean {
  const [first, last] = [lineOf(code) - 1, (code.position?.end.line ?? 1) - 1];
  return FENCE.test(lines[first] ?? '') && (first === last || !CLOSING_FENCE.test(lines[last] ?? ''));
}

/** A fence that is never closed, or only by the fence of a later block. One that closes properly quotes its content. */
function swallowsSections(code: Code, lines: string[]): boolean {
  const inside = code.value.split('\n');
  const isClosedLate = inside.some((line) => FENCE.test(line) && !CLOSING_FENCE.test(line));
  const isFenced = FENCE.test(lines[lineOf(code) - 1] ?? '');
  return isFenced && inside.some(isReviewHeading) && (isClosedLate || isOpen(code, lines));
}
