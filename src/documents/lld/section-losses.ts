import type { RootContent } from 'mdast';
import type { DocumentForm } from '../document-form.ts';
import { flattenSections, parseMarkdown, plainText, type Section, sectionsOf } from '../markdown.ts';
import { isNamed, isTouched, type NamedPart } from './named-sections.ts';
import { REVIEW_LOG_KEY, readTitle } from './section-titles.ts';
import { contentWords, overlap } from './word-overlap.ts';

interface Part extends NamedPart {
  section: Section;
  title: string;
}

/** A section that lost more than half of its text lost a real amount above this many characters. */
const LARGE_LOSS = 120;
/** Below it, half a section may be one word replaced by another. */
const SMALL_LOSS = 30;

const REMOVAL = /\b(?:remov|delet|drop|renam|merg|fold|consolidat|mov(?:e|ing)\b|combin)/i;
const EARLIER =
  '(?:in )?(?:the )?(?:previous|prior|original|last|current|earlier|existing) (?:draft|version|document|lld|section)';
const ELISION = new RegExp(
  `^(?:(?:section |content |text )?(?:unchanged|omitted(?: for brevity)?|(?:is |remains? |stays |kept )?(?:unchanged|the same|as is|as before))` +
    `|no changes?(?: (?:from|since|to) ${EARLIER}.*)?|same as (?:before|above|${EARLIER}.*)|as (?:before|above|${EARLIER}))$`,
);
const ELISION_INSIDE =
  /\b(?:rest|remainder|remaining \w+|other sections|all other|this section|sections? [\d.]+|previous content|existing (?:content|text|rows|entries)|everything else)\b.*\b(?:unchanged|the same|same as|as before|as above|omitted|as in the|here|continues?)\b/;
const ELISION_MARKS = /^(?:(?:[[(<_]|\*(?=\S)).*(?:[\])>*_…]|\.\.\.)|(?:\.\.\.|…|\/\/\s*(?:\.\.\.|…)).*)$/;

/**
 * What the revised text gave up that no finding asked it to: a section of the draft that is gone, one that is empty or
 * says only that it is unchanged, and one that lost most of its text or agreed entries. Each as a sentence for the
 * drafter. The review log is exempt, as it is written by the program. Without findings (null) every section is named.
 */
export function sectionLosses(
  draft: string,
  revised: string,
  { findings, form }: { findings: string[] | null; form: DocumentForm },
): string[] {
  const draftSections = sectionsOf(parseMarkdown(draft));
  const revisedSections = sectionsOf(parseMarkdown(revised));
  const before = partsOf(draftSections, form);
  const pairs = pairedSections(before, flattenSections(revisedSections));
  const isPart = (section: Section) => pairs.some((pair) => pair.after === section);
  const isDraftPart = (section: Section) => before.some((part) => part.section === section);

  const losses = titleOf(draftSections, form) && !titleOf(revisedSections, form) ? ['it drops the title'] : [];
  for (const { part, after: match } of pairs) {
    if (part.key === REVIEW_LOG_KEY) continue;
    if (!match) {
      const asked =
        !findings || findings.some((finding) => REMOVAL.test(finding) && isNamed(part, before, [finding], form));
      if (form.keys.has(part.key) || !asked) losses.push(`it drops the section "${part.title}"`);
      continue;
    }
    const loss = lossOf({
      part,
      text: textOf(part.section, isDraftPart),
      revisedText: textOf(match, isPart),
      revisedEntries: entriesOf(match),
      named: !findings || isNamed(part, before, findings, form),
      hasEntries: form.entryKeys.has(part.key),
      findings: findings ?? [],
    });
    if (loss !== null) losses.push(loss);
  }
  const elision = elisionIn(draft, revised);
  if (elision !== null && losses.length === 0) losses.push(`it leaves text out: "${elision}"`);
  return losses;
}

function lossOf(change: {
  part: Part;
  text: string;
  revisedText: string;
  revisedEntries: string[];
  named: boolean;
  hasEntries: boolean;
  findings: string[];
}): string | null {
  const { part, text, revisedText, named, findings } = change;
  const name = `the section "${part.title}"`;
  const isLeaf = part.section.subsections.length === 0;
  if (isLeaf && text !== '' && text !== revisedText) {
    if (revisedText === '') return `it empties ${name}`;
    if (text.length > SMALL_LOSS && ELISION.test(bareWords(revisedText)))
      return `it leaves out the text of ${name}: "${revisedText}"`;
  }
  if (named) return null;
  const lost = text.length - revisedText.length;
  if (lost * 2 > text.length) {
    const small = isLeaf && lost > SMALL_LOSS && !isTouched(text, findings);
    if (lost > LARGE_LOSS || small) {
      return `it shortens ${name} from ${text.length} to ${revisedText.length} characters, and no finding names it`;
    }
  }
  if (!change.hasEntries) return null;
  const entries = entriesOf(part.section);
  if (change.revisedEntries.length >= entries.length) return null;
  const kept = change.revisedEntries.map(contentWords);
  const gone = entries.find(
    (entry) => !kept.some((other) => overlap(contentWords(entry), other) >= 0.5) && !isTouched(entry, findings),
  );
  return gone === undefined ? null : `it drops an entry of ${name}, and no finding names it: "${gone}"`;
}

/** Sections down to the third level; what is deeper counts as text of the section around it. */
function partsOf(sections: Section[], form: DocumentForm): Part[] {
  const title = titleOf(sections, form);
  const walk = (section: Section, around: string | null): Part[] => {
    if (section === title) return section.subsections.flatMap((child) => walk(child, null));
    if (section.depth > 3) return [];
    const { number, key } = readTitle(section.title);
    const part = { section, title: section.title, key, number: number ?? around };
    return [part, ...section.subsections.flatMap((child) => walk(child, part.number))];
  };
  return sections.flatMap((section) => walk(section, null));
}

function titleOf(sections: Section[], form: DocumentForm): Section | undefined {
  const first = sections[0];
  return first?.depth === 1 && !form.keys.has(readTitle(first.title).key) ? first : undefined;
}

/** The same title first, occurrence by occurrence; then a title that was only extended or cut (`Diagram`, `Diagram of States`). */
function pairedSections(before: Part[], after: Section[]): { part: Part; after: Section | undefined }[] {
  const keyed = after.map((section) => ({ section, key: readTitle(section.title).key }));
  const taken = new Set<Section>();
  const take = (fits: (key: string) => boolean) => {
    const match = keyed.find((entry) => !taken.has(entry.section) && fits(entry.key));
    if (match) taken.add(match.section);
    return match?.section;
  };
  const exact = before.map((part) => ({ part, after: take((key) => key === part.key) }));
  const draftKeys = new Set(before.map((part) => part.key));
  return exact.map((pair) => {
    if (pair.after) return pair;
    const words = pair.part.key.split(' ');
    const renamed = (key: string) => {
      const others = key.split(' ');
      return (
        !draftKeys.has(key) &&
        (words.every((word) => others.includes(word)) || others.every((word) => words.includes(word)))
      );
    };
    return { part: pair.part, after: take((key) => key !== '' && renamed(key)) };
  });
}

/** The section's own text with that of subsections which are no part of the comparison themselves. */
function textOf(section: Section, isPart: (section: Section) => boolean): string {
  const inner = section.subsections
    .filter((child) => !isPart(child))
    .map((child) => `${child.title} ${textOf(child, isPart)}`);
  return [...section.own.map(plainText), ...inner].join(' ').replace(/\s+/g, ' ').trim();
}

function entriesOf(section: Section): string[] {
  const entries = (node: RootContent): string[] => {
    if (node.type === 'list') return node.children.map(plainText);
    if (node.type === 'table') return node.children.slice(1).map((row) => row.children.map(plainText).join(' '));
    return [];
  };
  return section.all.flatMap(entries);
}

/** A line like `[rest of the section unchanged]` that the draft doesn't have. */
function elisionIn(draft: string, revised: string): string | null {
  const known = new Set(draft.split('\n').map((line) => line.trim()));
  const line = revised.split('\n').find((candidate) => {
    const trimmed = candidate.trim();
    if (known.has(trimmed) || trimmed.length > 120 || !ELISION_MARKS.test(trimmed)) return false;
    const words = bareWords(trimmed);
    return ELISION_INSIDE.test(words) || /^unchanged\b/.test(words);
  });
  return line?.trim() ?? null;
}

function bareWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}. ]+/gu, ' ')
    .replace(/\.(?!\d)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
