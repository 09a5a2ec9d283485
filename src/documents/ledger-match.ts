import type { Finding } from './review/review.ts';
import { contentWords, overlap, sharedWords } from './words.ts';

/** Shares of common words above which two findings are the same one; lower where they are about the same thing. */
const SAME_SUBJECT = { lead: 0.4, body: 0.2 };
const SAME_PLACE = { lead: 0.6, body: 0.35 };
const OTHER_PLACE = { lead: 0.75, body: 0.55 };
/** A title alone is no match: every round may have its "Requirement Coverage". */
const LEAST_BODY = 0.2;
const ENOUGH_COMMON_WORDS = 3;

/** A finding that has its id. */
type Entry = Finding & { id: string };

interface Words {
  lead: Set<string>;
  body: Set<string>;
  /** What it is about: requirements, scenarios, sections, paths. "Requirement 3 is untested" is not "Requirement 4 …". */
  subjects: Set<string>;
}

/**
 * Which findings of a review are in the ledger already. A finding that names an id in front or in brackets is that one;
 * the others go to the entry that has most in common with them, best pairs first, each entry once.
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
  const both = [...kindsOf(a)].filter((kind) => kindsOf(b).has(kind));
  if (both.length > 0 && shared === 0) return null;
  const threshold = shared > 0 ? SAME_SUBJECT : samePlace ? SAME_PLACE : OTHER_PLACE;
  const common = sharedWords(a.body, b.body);
  const body = common / Math.max(1, Math.min(a.body.size, b.body.size));
  const lead = overlap(a.lead, b.lead);
  const besideLead = sharedWords(without(a.body, a.lead), without(b.body, b.lead));
  const saysMore = besideLead / Math.max(1, Math.min(a.body.size - a.lead.size, b.body.size - b.lead.size));
  const isContained = samePlace && body === 1 && common === ENOUGH_COMMON_WORDS - 1;
  const isTitled = lead >= threshold.lead && (shared > 0 || saysMore >= LEAST_BODY);
  const isSame = isTitled || (body >= threshold.body && common >= ENOUGH_COMMON_WORDS) || isContained;
  return isSame ? Math.max(lead, body) + (samePlace ? 1 : 0) + shared : null;
}

function kindsOf({ subjects }: Words): Set<string> {
  return new Set([...subjects].map((subject) => subject.split(' ', 1)[0] ?? ''));
}

function without(words: Set<string>, left: Set<string>): Set<string> {
  return new Set([...words].filter((word) => !left.has(word)));
}

function wordsOf(text: string): Words {
  const lead = /^([^:.\n]{3,90})[:.\n]/.exec(text)?.[1] ?? '';
  const subjects = subjectsOf(text);
  return { lead: contentWords(lead), body: new Set([...contentWords(text), ...subjects]), subjects };
}

/** `req 3`, `scenario 20`, `section 2.6`, `path src/a.js`. */
export function subjectsOf(text: string): Set<string> {
  const numbered = [...text.matchAll(/\b(req(?:uirement)?|scenario|test)s?[\s#-]*0*(\d{1,4})\b/gi)].map(
    ([, kind = '', number]) => `${/^r/i.test(kind) ? 'req' : 'scenario'} ${number}`,
  );
  const sections = [
    ...text.matchAll(/(?:\bsections?\s+|§\s*)(\d{1,2}(?:\.\d{1,2})?)|(?<![\w.])(\d{1,2}\.\d{1,2})(?![\w.%])/gi),
  ];
  const paths = [...text.matchAll(/(?<![\w:/])((?:[\w.-]+\/)+[\w-]+\.\w+)/g)];
  return new Set([
    ...numbered,
    ...sections.map(([, named, bare]) => `section ${named ?? bare}`),
    ...paths.map(([, path]) => `path ${path}`),
  ]);
}
