const NUMBER = /^(?:section\s+|§+\s*)?(\d{1,2}(?:\.\d{1,2})*)(?:[.):]+|\s+|$)\s*[-–—:]?\s*/i;
const APPENDIX = /^appendix(?:\s+[a-z0-9]{1,2}(?=\s*[-–—:.]))?\s*[-–—:.]*\s+(?=\S)/i;
const FILLER = new Set(['and', 'the', 'of', 'a', 'an', 'consideration']);

export interface TitleParts {
  /** `2.4` of `2.4 Function Signatures`, null when the title has no number. */
  number: string | null;
  /** What two spellings of the same title have in common: no number, no case, no markup, `&` or `and`, plural or not. */
  key: string;
}

/** One form for a word in singular and plural; not a dictionary, only the same for both sides of a comparison. */
export function wordStem(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

export function readTitle(title: string): TitleParts {
  const bare = title
    .replace(/[*_`~]/g, '')
    .replace(/^[^\p{L}\p{N}§]+/u, '')
    .trim();
  const number = NUMBER.exec(bare);
  const name = (number ? bare.slice(number[0].length) : bare).replace(APPENDIX, '').replace(/\([^)]*\)/g, ' ');
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const key = words
    .map(wordStem)
    .filter((word) => !FILLER.has(word))
    .join(' ');
  return { number: number?.[1] ?? null, key };
}

export const REVIEW_LOG_KEY = readTitle('Review Log').key;
export const OPEN_QUESTIONS_KEY = readTitle('Open Questions').key;

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
