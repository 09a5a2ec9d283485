import { diffLines } from 'diff';
import { subjectsOf } from '../documents/ledger-match.ts';
import { withoutReviewLog } from '../documents/revise/review-log.ts';
import { contentWords, sharedWords } from '../markdown/words.ts';

/** A design before and after later changes. */
export type LaterChange = readonly [before: string, after: string];

/** Compares without the review log, which every review changes. */
export function saysTheSame(one: string, other: string): boolean {
  return withoutReviewLog(one).trim() === withoutReviewLog(other).trim();
}

/** How many words of a finding without a subject must be in the changed lines. */
const ENOUGH_WORDS = 3;
const ENOUGH_SHARE = 0.5;

/**
 * How many of these findings later changes confirm: the section, requirement, scenario or path that a finding names was changed,
 * or, if it names none of these, most of its words are in changed lines.
 */
export function confirmedFindings(findings: readonly string[], changes: readonly LaterChange[]): number {
  const lines = changes.flatMap(([before, after]) => changedLines(withoutReviewLog(before), withoutReviewLog(after)));
  const subjects = new Set(lines.flatMap(subjectsOfLine));
  const words = contentWords(lines.map(({ text }) => text).join('\n'));
  const isConfirmed = (finding: string): boolean => {
    const about = subjectsOf(finding);
    if (about.size > 0) return sharedWords(about, subjects) > 0;
    const own = contentWords(finding);
    const shared = sharedWords(own, words);
    return shared >= ENOUGH_WORDS && shared >= own.size * ENOUGH_SHARE;
  };
  return findings.filter(isConfirmed).length;
}

interface ChangedLine {
  text: string;
  /** `2.6`; null: above the first section. */
  section: string | null;
}

/** Lines that are in only one of the two, with their section. */
function changedLines(before: string, after: string): ChangedLine[] {
  const at: Record<'before' | 'after', string | null> = { before: null, after: null };
  return diffLines(before, after).flatMap(({ value, added, removed }) => {
    const sides = added ? (['after'] as const) : removed ? (['before'] as const) : (['before', 'after'] as const);
    return value.split('\n').flatMap((text) => {
      const heading = /^#{1,6}\s+(\d{1,2}(?:\.\d{1,2})?)\b/.exec(text)?.[1];
      if (heading !== undefined) for (const side of sides) at[side] = heading;
      return sides.length === 2 || text.trim() === '' ? [] : [{ text, section: at[sides[0]] }];
    });
  });
}

function subjectsOfLine({ text, section }: ChangedLine): string[] {
  const [whole = ''] = section?.split('.') ?? [];
  const requirement = whole === '3' ? /^\W*(?:REQ-|R)?0*(\d{1,4})\b/i.exec(text)?.[1] : undefined;
  const scenario = whole === '10' ? /^\|\W*0*(\d{1,4})\b/.exec(text)?.[1] : undefined;
  return [
    ...subjectsOf(text),
    ...(section === null ? [] : [`section ${section}`, `section ${whole}`]),
    ...(requirement === undefined ? [] : [`req ${requirement}`]),
    ...(scenario === undefined ? [] : [`scenario ${scenario}`]),
  ];
}
