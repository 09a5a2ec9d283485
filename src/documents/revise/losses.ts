import { parseMarkdown, plainText, type Section, sectionsOf } from '../markdown.ts';
import { leftOutIn } from '../template-text.ts';
import { REVIEW_LOG_KEY, readTitle } from '../titles.ts';
import { contentWords, overlap, singular } from '../words.ts';
import type { DocumentForm } from './form.ts';

interface Part {
  section: Section;
  key: string;
  /** Its own, else that of the section around it. */
  number: string | null;
}

/** Below it, half a section may be one word replaced by another. */
const SMALL_LOSS = 30;
/** Requirements and scenarios are spoken of by their own numbers. */
const SPOKEN_OF: [RegExp, string][] = [
  [/\brequirements?\b|\bREQ-?\d|\bR\d/i, readTitle('Requirements').key],
  [
    /\bscenarios?\b|\btest (?:plan|case|table)s?\b|\bcriteri(?:a|on)\b|\bT?\d{3}\b/i,
    readTitle('Verification & Testing').key,
  ],
];
const REMOVAL = /\b(?:remov|delet|drop|merg|out of scope)/i;

/**
 * What the revised text gave up that no finding asked it to: a section that is gone or empty, one that lost more than half
 * of its text or an agreed entry, and words that stand for text. Each as a sentence for the drafter. The review log is
 * exempt with all that is in it, as it is written by the program. Without findings (null) every section may be rewritten.
 */
export function sectionLosses(
  draft: string,
  revised: string,
  { findings, form }: { findings: string[] | null; form: DocumentForm },
): string[] {
  const before = sectionsOf(parseMarkdown(draft));
  const after = sectionsOf(parseMarkdown(revised));
  const kept = partsOf(after, form);
  const parts = partsOf(before, form);
  const losses = titleOf(before, form) && !titleOf(after, form) ? ['it drops the title'] : [];
  for (const part of parts) {
    const name = `the section "${part.section.title}"`;
    const match = takeMatch(part, kept, parts);
    const about = findings?.filter((finding) => isNamed(part, finding)) ?? null;
    if (!match) {
      const isAskedFor = about === null || about.some((finding) => REMOVAL.test(finding));
      if (form.keys.has(part.key) || !isAskedFor) losses.push(`it drops ${name}`);
      continue;
    }
    const text = textOf(part.section);
    // What moved into new parts of the same section is not lost.
    const isLeaf = part.section.subsections.length === 0;
    const now = isLeaf ? match.section.all.map(plainText).join(' ') : textOf(match.section);
    if (text !== '' && now === '') losses.push(`it empties ${name}`);
    else if (about?.length === 0) losses.push(...shrinking(part, match, { text, now, form }));
  }
  const known = new Set(draft.split('\n').map((line) => line.trim()));
  const elided = revised.split('\n').find((line) => leftOutIn(line) !== null && !known.has(line.trim()));
  if (elided !== undefined) losses.push(`it leaves text out: "${elided.trim()}"`);
  return losses;
}

function shrinking(
  part: Part,
  match: Part,
  { text, now, form }: { text: string; now: string; form: DocumentForm },
): string[] {
  const name = `the section "${part.section.title}"`;
  const lost = text.length - now.length;
  if (lost * 2 > text.length && lost > SMALL_LOSS)
    return [`it shortens ${name} from ${text.length} to ${now.length} characters, and no finding names it`];
  const [entries, left] = [entriesOf(part.section), entriesOf(match.section)];
  if (!form.entryKeys.has(part.key) || left.length >= entries.length) return [];
  const others = left.map(contentWords);
  const gone = entries.find((entry) => !others.some((other) => overlap(contentWords(entry), other) >= 0.5));
  return gone === undefined ? [] : [`it drops an entry of ${name}, and no finding names it: "${gone}"`];
}

/** Sections down to the third level, without the title and the review log; what is deeper is text of the one around it. */
function partsOf(sections: Section[], form: DocumentForm): Part[] {
  const title = titleOf(sections, form);
  const walk = (section: Section, around: string | null): Part[] => {
    if (section === title) return section.subsections.flatMap((child) => walk(child, null));
    const { number, key } = readTitle(section.title);
    if (section.depth > 3 || key === REVIEW_LOG_KEY) return [];
    return [
      { section, key, number: number ?? around },
      ...section.subsections.flatMap((child) => walk(child, number ?? around)),
    ];
  };
  return sections.flatMap((section) => walk(section, null));
}

function titleOf(sections: Section[], form: DocumentForm): Section | undefined {
  const first = sections[0];
  return first?.depth === 1 && !form.keys.has(readTitle(first.title).key) ? first : undefined;
}

/** The section of the same title, taken once; else a new one whose title was only extended or cut (`Diagram of States`). */
function takeMatch({ key }: Part, kept: Part[], parts: Part[]): Part | undefined {
  const isRenamed = (other: Part): boolean =>
    (` ${other.key} `.includes(` ${key} `) || ` ${key} `.includes(` ${other.key} `)) &&
    !parts.some((part) => part.key === other.key);
  const match = kept.find((other) => other.key === key) ?? kept.find(isRenamed);
  if (match) kept.splice(kept.indexOf(match), 1);
  return match;
}

/** Whether a finding speaks of a section: by its number ("Section 2.4", "§7"), its title, or what it is known for. */
function isNamed({ key, number }: Part, finding: string): boolean {
  const lists = [
    ...finding.matchAll(
      /(?:\bsections?|\bsec\.|§+)\s*((?:\d{1,2}(?:\.\d{1,2})*(?:\s*(?:,|&|\/|and|or|to|[-–])\s*)?)+)/gi,
    ),
  ];
  const named = lists.flatMap(([, list = '']) => list.match(/\d{1,2}(?:\.\d{1,2})*/g) ?? []);
  const isInside = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}.`);
  if (number !== null && named.some((one) => isInside(number, one) || isInside(one, number))) return true;
  const words = (finding.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(singular);
  const isTitled = key !== '' && key.split(' ').every((word) => words.includes(word));
  return isTitled || SPOKEN_OF.some(([pattern, of]) => of === key && pattern.test(finding));
}

/** The section's own text with that of the parts inside it that are too deep to be compared. */
function textOf({ own, subsections }: Section): string {
  const deep = subsections.filter(({ depth }) => depth > 3).map((child) => `${child.title} ${textOf(child)}`);
  return [...own.map(plainText), ...deep].join(' ').replace(/\s+/g, ' ').trim();
}

function entriesOf(section: Section): string[] {
  return section.all.flatMap((node) => {
    if (node.type === 'list') return node.children.map(plainText);
    return node.type === 'table' ? node.children.slice(1).map((row) => row.children.map(plainText).join(' ')) : [];
  });
}
