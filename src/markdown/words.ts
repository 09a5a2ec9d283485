/* Normalised words and titles, for comparing two texts. Not linguistically right, only the same on both sides. */

/** Stop words. */
const COMMON = new Set(
  (
    'a about after all also an and another any are as at be been before being both but by can cannot could did do does done ' +
    'each either else every few for from further get gets give given had has have he her here his how i if in instead into is ' +
    'it its just least less let like made make makes many may might more most much must need needed needs never new no none ' +
    'nor not now of off on once one only or other our out over own per please same say says see shall she should show shows ' +
    'since so some something still such take takes than that the their them then there these they this those through to too ' +
    'two under until use used uses using very via want wants was way we were what when where whether which while who whom ' +
    'whose why will with within without would yes yet you your'
  ).split(' '),
);

export function singular(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

/** "retries", "retry" and "retrying" are one word. */
export function stem(word: string): string {
  const bare = singular(word)
    .replace(/(?<=[^aeiou])ied$/, 'y')
    .replace(/(?<=\p{L}{3})(?:ing|ed)$/u, '')
    .replace(/([bdfgklmnprt])\1$/, '$1');
  return bare.length > 3 ? bare.replace(/e$/, '') : bare;
}

/** The words of a text without stop words. */
export function contentWords(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return new Set(words.filter((word) => !COMMON.has(word)).map(stem));
}

export function sharedWords(left: Set<string>, right: Set<string>): number {
  return [...left].filter((word) => right.has(word)).length;
}

/** From 0 (no word in common) to 1 (the same words). */
export function overlap(left: Set<string>, right: Set<string>): number {
  const total = left.size + right.size;
  return total === 0 ? 0 : (2 * sharedWords(left, right)) / total;
}

const NUMBER = /^(?:section\s+|§+\s*)?(\d{1,2}(?:\.\d{1,2})*)(?:[.):]+|\s+|$)\s*[-–—:]?\s*/i;
const APPENDIX = /^appendix(?:\s+[a-z0-9]{1,2}(?=\s*[-–—:.]))?\s*[-–—:.]*\s+(?=\S)/i;
const FILLER = new Set(['and', 'the', 'of', 'a', 'an', 'consideration']);

export interface TitleParts {
  /** `2.4` of `2.4 Function Signatures`; null without a number. */
  number: string | null;
  /** The same for all spellings of a title: without number, case, markup, `&` or `and`, and plural. */
  key: string;
}

export function readTitle(title: string): TitleParts {
  const bare = title
    .replace(/[*_`~]/g, '')
    .replace(/^\s*\[[A-Z]{3,}\]/, '')
    .replace(/^[^\p{L}\p{N}§]+/u, '')
    .trim();
  const number = NUMBER.exec(bare);
  const name = (number ? bare.slice(number[0].length) : bare).replace(APPENDIX, '').replace(/\([^)]*\)/g, ' ');
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const key = words
    .map(singular)
    .filter((word) => !FILLER.has(word))
    .join(' ');
  return { number: number?.[1] ?? null, key };
}

export const REVIEW_LOG_KEY = readTitle('Review Log').key;
export const OPEN_QUESTIONS_KEY = readTitle('Open Questions').key;

const NUMBERED = /\b(req(?:uirement)?|scenario|test)s?[\s#-]*0*(\d{1,4})\b/gi;
const SECTIONS = /(?:\bsections?|\bsec\.|§+)\s*((?:\d{1,2}(?:\.\d{1,2})*(?:\s*(?:,|&|\/|and|or|to|[-–])\s*)?)+)/gi;
const BARE_SECTION = /(?<![\w.])\d{1,2}\.\d{1,2}(?![\w.%])/g;
const PATH = /(?<![\w:/])((?:[\w.-]+\/)+[\w-]+\.\w+)/g;

/** The numbers in "Section 2.4", "Sections 2.4 and 7", "§7". */
export function sectionsNamed(text: string): string[] {
  return [...text.matchAll(SECTIONS)].flatMap(([, list = '']) => list.match(/\d{1,2}(?:\.\d{1,2})*/g) ?? []);
}

/** `req 3`, `scenario 20`, `section 2.6`, `path src/a.js`. */
export function subjectsOf(text: string): Set<string> {
  const numbered = [...text.matchAll(NUMBERED)].map(
    ([, kind = '', id]) => `${/^r/i.test(kind) ? 'req' : 'scenario'} ${id}`,
  );
  const sections = [...sectionsNamed(text), ...(text.match(BARE_SECTION) ?? [])].map((number) => `section ${number}`);
  const paths = [...text.matchAll(PATH)].map(([, path]) => `path ${path}`);
  return new Set([...numbered, ...sections, ...paths]);
}
