import { contentWords, sharedWords } from '../markdown/words.ts';
import type { Finding } from './review/reader.ts';

/** Two findings are the same if they share this part of the shorter one's words; less is enough for the same subject. */
const SAME_SUBJECT = 0.2;
const SAME_PLACE = 0.35;
const OTHER_PLACE = 0.55;
const ENOUGH_COMMON_WORDS = 3;

type Entry = Finding & { id: string };

interface Words {
  words: Set<string>;
  /** The requirements, scenarios, sections and paths that it names. */
  subjects: Set<string>;
}

/**
 * Finds the findings of a review that are in the ledger already. A finding with an id in front or in brackets is that entry;
 * the others are matched by likeness, best pairs first, each entry once.
 */
export function matchFindings(
  entries: readonly Entry[],
  findings: readonly Finding[],
): { repeated: Map<string, Finding>; added: Finding[] } {
  const repeated = new Map<string, Finding>();
  const known = new Map(entries.map((entry) => [entry.id, wordsOf(entry.text)]));
  const unnamed = findings.filter((finding) => {
    const id = namedId(finding.text);
    if (id === null || !known.has(id)) return true;
    if (!repeated.has(id)) repeated.set(id, finding);
    return false;
  });
  const pairs = unnamed.flatMap((finding, index) => {
    const words = wordsOf(finding.text);
    return entries.flatMap((entry) => {
      const entryWords = known.get(entry.id);
      const score = entryWords ? likeness(entryWords, words, isSamePlace(entry, finding)) : null;
      return score === null ? [] : [{ finding, index, id: entry.id, score }];
    });
  });
  pairs.sort((a, b) => b.score - a.score || a.index - b.index);
  const taken = new Set<number>();
  for (const { finding, index, id } of pairs) {
    if (taken.has(index) || repeated.has(id)) continue;
    taken.add(index);
    repeated.set(id, finding);
  }
  return { repeated, added: unnamed.filter((_, index) => !taken.has(index)) };
}

function namedId(text: string): string | null {
  const match = /^\W{0,4}(?:finding )?(F\d+)\b(?!\s*[-\s]?scores?\b)/i.exec(text) ?? /[[(](F\d+)[\])]/i.exec(text);
  return match?.[1]?.toUpperCase() ?? null;
}

function isSamePlace(entry: Entry, finding: Finding): boolean {
  return entry.tier === finding.tier && entry.area.toLowerCase() === finding.area.toLowerCase();
}

function likeness(a: Words, b: Words, samePlace: boolean): number | null {
  const shared = sharedWords(a.subjects, b.subjects);
  const kinds = kindsOf(b);
  if (shared === 0 && [...kindsOf(a)].some((kind) => kinds.has(kind))) return null;
  const common = sharedWords(a.words, b.words);
  const share = common / Math.max(1, Math.min(a.words.size, b.words.size));
  const threshold = shared > 0 ? SAME_SUBJECT : samePlace ? SAME_PLACE : OTHER_PLACE;
  const isContained = samePlace && share === 1 && common === ENOUGH_COMMON_WORDS - 1;
  const isSame = (share >= threshold && common >= ENOUGH_COMMON_WORDS) || isContained;
  return isSame ? share + (samePlace ? 1 : 0) + shared : null;
}

function kindsOf({ subjects }: Words): Set<string> {
  return new Set([...subjects].map((subject) => subject.split(' ', 1)[0] ?? ''));
}

const NUMBERED = /\b(req(?:uirement)?|scenario|test)s?[\s#-]*0*(\d{1,4})\b/gi;
const SECTIONS = /(?:\bsections?|\bsec\.|§+)\s*((?:\d{1,2}(?:\.\d{1,2})*(?:\s*(?:,|&|\/|and|or|to|[-–])\s*)?)+)/gi;
const BARE_SECTION = /(?<![\w.])\d{1,2}\.\d{1,2}(?![\w.%])/g;
const PATH = /(?<![\w:/])((?:[\w.-]+\/)+[\w-]+\.\w+)/g;

function wordsOf(text: string): Words {
  const subjects = subjectsOf(text);
  return { words: new Set([...contentWords(text), ...subjects]), subjects };
}

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
