import { wordStem } from './section-titles.ts';

const COMMON = new Set(
  (
    'a an the and or but if in on of for to from by with without as at is are was were be been being it its this that ' +
    'these those there we you they he she do does did done can could should shall will would may might must what which ' +
    'who whom whose when where why how not no yes any all each also than then so such into per via about only have has ' +
    'had our your their i'
  ).split(' '),
);

/** The words that carry meaning, each once, in a form that is the same for singular and plural. */
export function contentWords(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => !COMMON.has(word)).map(wordStem));
}

export function sharedWords(left: Set<string>, right: Set<string>): number {
  return [...left].filter((word) => right.has(word)).length;
}

/** From 0 (no word in common) to 1 (the same words). */
export function overlap(left: Set<string>, right: Set<string>): number {
  const total = left.size + right.size;
  return total === 0 ? 0 : (2 * sharedWords(left, right)) / total;
}
