import type { Nodes } from 'mdast';
import { parseMarkdown, plainText, type Section, sectionsOf } from '../../markdown/markdown.ts';
import { contentWords, overlap, REVIEW_LOG_KEY, readTitle, singular } from '../../markdown/words.ts';
import { sectionsNamed } from '../ledger-match.ts';
import { leftOutIn } from '../template-text.ts';
import type { DocumentForm } from './form.ts';
import type { RevisionOptions } from './revision.ts';

interface Part {
  title: string;
  key: string;
  /** Its own, else that of the last numbered section above. */
  number: string | null;
  text: string;
  /** List items and table rows. */
  entries: string[];
}

/** A loss of fewer characters may be one word replaced by another. */
const SMALL_LOSS = 30;
/** Findings name requirements and scenarios by their own numbers. */
const NAMED_BY: [RegExp, string][] = [
  [/\brequirements?\b|\bREQ-?\d|\bR\d/i, readTitle('Requirements').key],
  [
    /\bscenarios?\b|\btest (?:plan|case|table)s?\b|\bcriteri(?:a|on)\b|\bT?\d{3}\b/i,
    readTitle('Verification & Testing').key,
  ],
];
const REMOVAL = /\b(?:remov|delet|drop|merg|out of scope)/i;

/**
 * What the revised text lost although no finding asked for it, as sentences for the drafter: sections that are gone or empty, that
 * lost more than half of their text or an entry, and text that was left out. The program writes the review log, so that is
 * exempt. With null every section may be rewritten.
 */
export function sectionLosses(draft: string, revised: string, { named, form }: Required<RevisionOptions>): string[] {
  const [before, after] = [draft, revised].map((text) => sectionsOf(parseMarkdown(text)));
  const [parts, kept] = [partsOf(before ?? [], form), partsOf(after ?? [], form)];
  const losses = titleOf(before, form) && !titleOf(after, form) ? ['it drops the title'] : [];
  for (const part of parts) {
    const name = `the section "${part.title}"`;
    const match = takeMatch(part, kept, parts);
    const about = named?.filter((finding) => isNamed(part, finding)) ?? null;
    if (!match) {
      const isAskedFor = about === null || about.some((finding) => REMOVAL.test(finding));
      if (form.keys.has(part.key) || !isAskedFor) losses.push(`it drops ${name}`);
      continue;
    }
    if (part.text !== '' && match.text === '') losses.push(`it empties ${name}`);
    else if (about?.length === 0) losses.push(...shrinking(part, match, form));
  }
  const known = new Set(draft.split('\n').map((line) => line.trim()));
  const elided = revised.split('\n').find((line) => leftOutIn(line) !== null && !known.has(line.trim()));
  if (elided !== undefined) losses.push(`it leaves text out: "${elided.trim()}"`);
  return losses;
}

function shrinking({ title, key, text, entries }: Part, match: Part, form: DocumentForm): string[] {
  const lost = text.length - match.text.length;
  if (lost * 2 > text.length && lost > SMALL_LOSS)
    return [
      `it shortens the section "${title}" from ${text.length} to ${match.text.length} characters, and no finding names it`,
    ];
  if (!form.entryKeys.has(key) || match.entries.length >= entries.length) return [];
  const others = match.entries.map(contentWords);
  const gone = entries.find((entry) => !others.some((other) => overlap(contentWords(entry), other) >= 0.5));
  return gone === undefined ? [] : [`it drops an entry of the section "${title}", and no finding names it: "${gone}"`];
}

/** Sections down to the third level, without the title and the review log; deeper ones are text of the one around them. */
function partsOf(sections: Section[], form: DocumentForm): Part[] {
  const heading = titleOf(sections, form);
  const logs = sections.filter((section) => readTitle(section.title).key === REVIEW_LOG_KEY);
  const isInLog = ({ start }: Section): boolean => logs.some((log) => start >= log.start && start < log.end);
  const compared = sections.filter((section) => section.depth <= 3 && section !== heading && !isInLog(section));
  let last: string | null = null;
  return compared.map(({ title, all }) => {
    const { number, key } = readTitle(title);
    last = number ?? last;
    const text = all.map(plainText).join(' ').replace(/\s+/g, ' ').trim();
    return { title, key, number: last, text, entries: all.flatMap(entriesIn) };
  });
}

function titleOf(sections: Section[] | undefined, form: DocumentForm): Section | undefined {
  const first = sections?.[0];
  return first?.depth === 1 && !form.keys.has(readTitle(first.title).key) ? first : undefined;
}

/** The section with the same title, used once; else a new one with a longer or shorter title (`Diagram of States`). */
function takeMatch({ key }: Part, kept: Part[], parts: Part[]): Part | undefined {
  const isRenamed = (other: Part): boolean =>
    (` ${other.key} `.includes(` ${key} `) || ` ${key} `.includes(` ${other.key} `)) &&
    !parts.some((part) => part.key === other.key);
  const match = kept.find((other) => other.key === key) ?? kept.find(isRenamed);
  if (match) kept.splice(kept.indexOf(match), 1);
  return match;
}

/** Whether a finding names a section: by its number ("Section 2.4", "§7"), its title, or its contents. */
function isNamed({ key, number }: Part, finding: string): boolean {
  const isInside = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}.`);
  const isNumbered = sectionsNamed(finding).some(
    (one) => number !== null && (isInside(number, one) || isInside(one, number)),
  );
  const words = (finding.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(singular);
  const isTitled = key !== '' && key.split(' ').every((word) => words.includes(word));
  return isNumbered || isTitled || NAMED_BY.some(([pattern, of]) => of === key && pattern.test(finding));
}

function entriesIn(node: Nodes): string[] {
  if (node.type === 'list') return node.children.map(plainText);
  return node.type === 'table' ? node.children.slice(1).map((row) => row.children.map(plainText).join(' ')) : [];
}
