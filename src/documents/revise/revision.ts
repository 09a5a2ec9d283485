import type { Nodes } from 'mdast';
import { normaliseText, parseMarkdown, plainText, type Section, sectionsOf } from '../../markdown/markdown.ts';
import { contentWords, overlap, REVIEW_LOG_KEY, readTitle, sectionsNamed, singular } from '../../markdown/words.ts';
import { disputesIn } from '../ledger.ts';
import { keepAnswers } from '../questions.ts';
import { leftOutIn } from '../template-text.ts';
import { applyEdits, readEdits } from './edits.ts';
import { type DocumentForm, documentFromReply, formOf, LLD_FORM, type Outcome } from './reply.ts';

interface Limits {
  /** The texts of the findings: a whole document may not lose text of sections that they don't name. Null: of any section. */
  named: readonly string[] | null;
  form: DocumentForm;
}

const NO_CHANGE =
  /\bno (?:further |additional |more )?(?:changes?|edits?|revisions?)\b[^.\n]{0,60}\b(?:needed|required|necessary|made|to make)\b|\b(?:draft|lld|document) (?:is|remains|stays) (?:unchanged|as (?:it )?is)\b|\b(?:draft|lld|document) already (?:address|cover|satisf|meet|handl)|^\W*no[ _-]?changes?\W*$/im;
const UNABLE = /\b(?:can(?:no|['’])t|cannot|unable to|error|not able to|won['’]t|sorry)\b/i;

/**
 * The draft after a drafter's reply: edit blocks, or the whole document in any form that `documentFromReply` reads. No section
 * may be missing afterwards. A reply that says explicitly that nothing changes keeps the draft; any other prose is refused. A
 * document of the other form replaces the whole draft.
 */
export function reviseDraft(
  draft: string,
  reply: string,
  { named, form = LLD_FORM }: Pick<Limits, 'named'> & Partial<Limits>,
): Outcome {
  const current = finished(draft);
  const edits = readEdits(reply);
  if (edits === null && saysNoChange(reply)) return { ok: true, text: current };
  const applied = edits && applyEdits(current, edits);
  // An edit quotes the text that it replaces, so it may shorten any section, but not remove one.
  if (applied?.ok) return judged(current, applied.text, { named: null, form });
  const document = documentFromReply(reply, form);
  const whole = document.ok ? judged(current, document.text, { named, form }) : document;
  // A whole document may contain the markers of edits as text.
  return whole.ok || applied === null ? whole : applied;
}

function judged(current: string, given: string, { named, form: asked }: Limits): Outcome {
  const form = formOf(current, asked);
  if (formOf(given, asked) !== form) return { ok: true, text: finished(given) };
  const text = finished(keepAnswers(current, given));
  if (sameWords(current, text)) return { ok: true, text: current };
  // A better claim that the issue is done may cite other or less evidence.
  const losses = sectionLosses(current, text, { named: form === asked ? named : null, form });
  if (losses.length > 0) return { ok: false, reason: `the revision loses text of the draft: ${losses.join('; ')}` };
  return { ok: true, text };
}

/** Whether a reply says explicitly that the draft stays the same, or only disputes findings. */
export function saysNoChange(reply: string): boolean {
  const text = normaliseText(reply).trim();
  if (/^ {0,3}#/m.test(text)) return false;
  return disputesIn(text).length > 0 || (text.length <= 600 && NO_CHANGE.test(text) && !UNABLE.test(text));
}

/** Ignores padding of tables, blank lines and wrapping. */
function sameWords(left: string, right: string): boolean {
  const bare = (text: string) =>
    text
      .replace(/-{3,}/g, '---')
      .replace(/\s*\|\s*/g, '|')
      .replace(/\s+/g, ' ');
  return bare(left) === bare(right);
}

function finished(text: string): string {
  return `${normaliseText(text).trimEnd()}\n`;
}

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
/** Sections in which every list item or table row counts. */
const OF_ENTRIES = /^(?:scenario use|requirement|acceptance criteria|verification testing)$/;
/** Findings name requirements and scenarios by their own numbers. */
const NAMED_BY: [key: string, pattern: RegExp][] = [
  ['requirement', /\brequirements?\b|\bREQ-?\d|\bR\d/i],
  ['verification testing', /\bscenarios?\b|\btest (?:plan|case|table)s?\b|\bcriteri(?:a|on)\b|\bT?\d{3}\b/i],
];
const REMOVAL = /\b(?:remov|delet|drop|merg|out of scope)/i;

/**
 * What the revised text lost although no finding asked for it, as sentences for the drafter: sections that are gone or empty, that
 * lost more than half of their text or an entry, and text that was left out. The program writes the review log, so that is
 * exempt.
 */
function sectionLosses(draft: string, revised: string, { named, form }: Limits): string[] {
  const before = partsOf(draft, form);
  const after = partsOf(revised, form);
  const losses = before.hasTitle && !after.hasTitle ? ['it drops the title'] : [];
  for (const part of before.parts) {
    const name = `the section "${part.title}"`;
    const match = takeMatch(part, after.parts, before.parts);
    const about = named?.filter((finding) => isNamed(part, finding)) ?? null;
    if (!match) {
      const isAskedFor = about === null || about.some((finding) => REMOVAL.test(finding));
      if (form.keys.has(part.key) || !isAskedFor) losses.push(`it drops ${name}`);
      continue;
    }
    if (part.text !== '' && match.text === '') losses.push(`it empties ${name}`);
    else if (about?.length === 0) losses.push(...shrinking(part, match));
  }
  const known = new Set(draft.split('\n').map((line) => line.trim()));
  const elided = revised.split('\n').find((line) => leftOutIn(line) !== null && !known.has(line.trim()));
  if (elided !== undefined) losses.push(`it leaves text out: "${elided.trim()}"`);
  return losses;
}

function shrinking({ title, key, text, entries }: Part, match: Part): string[] {
  const lost = text.length - match.text.length;
  if (lost * 2 > text.length && lost > SMALL_LOSS)
    return [
      `it shortens the section "${title}" from ${text.length} to ${match.text.length} characters, and no finding names it`,
    ];
  if (!OF_ENTRIES.test(key) || match.entries.length >= entries.length) return [];
  const others = match.entries.map(contentWords);
  const gone = entries.find((entry) => !others.some((other) => overlap(contentWords(entry), other) >= 0.5));
  return gone === undefined ? [] : [`it drops an entry of the section "${title}", and no finding names it: "${gone}"`];
}

/** Sections down to the third level, without the title and the review log; deeper ones are text of the one around them. */
function partsOf(text: string, form: DocumentForm): { hasTitle: boolean; parts: Part[] } {
  const sections = sectionsOf(parseMarkdown(text));
  const [first] = sections;
  const hasTitle = first?.depth === 1 && !form.keys.has(readTitle(first.title).key);
  const logs = sections.filter((section) => readTitle(section.title).key === REVIEW_LOG_KEY);
  const isInLog = ({ start }: Section): boolean => logs.some((log) => start >= log.start && start < log.end);
  const compared = sections.filter(
    (section) => section.depth <= 3 && !(hasTitle && section === first) && !isInLog(section),
  );
  let last: string | null = null;
  const parts = compared.map(({ title, all }) => {
    const { number, key } = readTitle(title);
    last = number ?? last;
    const words = all.map(plainText).join(' ').replace(/\s+/g, ' ').trim();
    return { title, key, number: last, text: words, entries: all.flatMap(entriesIn) };
  });
  return { hasTitle, parts };
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
  return isNumbered || isTitled || NAMED_BY.some(([of, pattern]) => of === key && pattern.test(finding));
}

function entriesIn(node: Nodes): string[] {
  if (node.type === 'list') return node.children.map(plainText);
  return node.type === 'table' ? node.children.slice(1).map((row) => row.children.map(plainText).join(' ')) : [];
}
