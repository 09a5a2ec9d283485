import type { Heading, Root, RootContent } from 'mdast';
import { lineOf, normaliseText, parseMarkdown, plainText, withoutWrapper } from '../markdown/markdown.ts';
import { readTitle } from '../markdown/words.ts';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import { type QuestionItem, questionItems } from './questions.ts';
import { leftOutIn } from './template-text.ts';

export interface SectionName {
  /** `3`, `2.4`, `scope`, or `log` for the review log. */
  id: string;
  title: string;
  key: string;
  /** Other titles of the section, matched against the key of `readTitle`. */
  alias: RegExp | null;
  /** Words that identify the section if its heading also has the right number. */
  hint: RegExp | null;
  /** Severity of the finding if the section is missing; null: no finding. */
  missing: DocumentFinding['severity'] | null;
}

export function sectionName(
  id: string,
  title: string,
  { alias = null, hint = null, missing = 'error' }: Partial<Pick<SectionName, 'alias' | 'hint' | 'missing'>> = {},
): SectionName {
  return { id, title, key: readTitle(title).key, alias, hint, missing };
}

export interface DocumentSection {
  id: string;
  /** The heading as written, with its number. */
  title: string;
  /** The number in the heading, right or wrong. */
  number: string | null;
  line: number;
  /** Number of lines below the heading. */
  lines: number;
  /** All nodes below the heading, subsections included. */
  nodes: RootContent[];
}

interface Candidate {
  index: number;
  node: Heading;
  id: string;
  number: string | null;
  exact: boolean;
}

/** What an issue and a design have in common. Lines are counted from 1 in the text as given. */
export interface ParsedDocument {
  /** The normalised text. */
  text: string;
  root: Root;
  /** Empty without a title heading. */
  title: string;
  titleLine: number;
  sections: DocumentSection[];
  /** Later sections with the name of an earlier one. */
  repeatedSections: DocumentSection[];
  openQuestions: QuestionItem[];
}

/** Missing and empty sections have findings of their own. */
export function filledSection({ sections }: ParsedDocument, id: string): DocumentSection | undefined {
  return sections.find((section) => section.id === id && section.nodes.length > 0);
}

/** The normalised text without a fence around the whole document. */
export function bareDocument(given: string, names: readonly SectionName[]): string {
  return withoutWrapper(normaliseText(given), (inside) =>
    [...inside.matchAll(/^#{1,3}[ \t]+(.+)$/gm)].some(([, heading = '']) => {
      const { number, key } = readTitle(heading);
      return sectionId(number, key, names) !== null;
    }),
  );
}

/** Never throws: missing parts are empty, and the checks report them. `nodesOf`: what is below a section's heading. */
export function parseDocument(
  given: string,
  names: readonly SectionName[],
): { parsed: ParsedDocument; heading: Heading | undefined; nodesOf: (id: string) => RootContent[] } {
  const text = bareDocument(given, names);
  const root = parseMarkdown(text);
  const heading = titleOf(root, names);
  const outline = findSections(root, heading, names);
  const openQuestions = questionItems(text, root);
  return {
    parsed: { text, root, title: plainText(heading), titleLine: lineOf(heading), ...outline, openQuestions },
    heading,
    nodesOf: (id) => outline.sections.find((section) => section.id === id)?.nodes ?? [],
  };
}

/** The title: the one heading above all others, even if it looks like a section (`# 2 - Feature: Change …`). */
function titleOf(root: Root, names: readonly SectionName[]): Heading | undefined {
  const headings = root.children.filter((node) => node.type === 'heading');
  const first = headings.find((heading) => heading.depth === 1) ?? headings[0];
  if (!first) return undefined;
  const isAlone = headings.length > 1 && headings.every((heading) => heading === first || heading.depth > first.depth);
  if (first === headings[0] && isAlone) return first;
  const { number, key } = readTitle(plainText(first));
  return sectionId(number, key, names) === null ? first : undefined;
}

/**
 * The sections of the template in document order, on the level of the first of them. A heading of another level is a section only
 * if its number and its title agree, so `Security` inside section 7 is not taken for a section.
 */
function findSections(
  root: Root,
  title: Heading | undefined,
  names: readonly SectionName[],
): Pick<ParsedDocument, 'sections' | 'repeatedSections'> {
  const candidates = root.children.flatMap((node, index): Candidate[] => {
    if (node.type !== 'heading' || node === title) return [];
    const { number, key } = readTitle(plainText(node));
    const id = sectionId(number, key, names);
    const exact = names.some((name) => name.id === id && name.key === key);
    return id === null ? [] : [{ index, node, id, number, exact }];
  });
  const main = candidates.filter(({ id }) => !id.includes('.'));
  const depth = main[0]?.node.depth;
  const sections = main.filter(({ node, exact, number, id }) => node.depth === depth || (exact && number === id));
  const starts = new Set(sections.map(({ index }) => index));
  const changes = sections.find(({ id }) => id === '2')?.index ?? -1;
  const next = sections.find(({ index }) => index > changes)?.index ?? Number.POSITIVE_INFINITY;
  // A part of section 2 without a number counts only inside section 2.
  const parts = candidates.filter(
    ({ id, number, index }) =>
      id.includes('.') && (number !== null || changes < 0 || (index > changes && index < next)),
  );
  const all = [...sections, ...parts].toSorted((a, b) => a.index - b.index);
  const isFirst = (candidate: Candidate) => all.find(({ id }) => id === candidate.id) === candidate;
  const toSection = (candidate: Candidate) => sectionAt(root, candidate, starts);
  return {
    sections: all.filter(isFirst).map(toSection),
    repeatedSections: all.filter((candidate) => !isFirst(candidate)).map(toSection),
  };
}

/** The section that a heading begins, or null. */
export function sectionId(number: string | null, key: string, names: readonly SectionName[]): string | null {
  if (key === '') return null;
  if (number !== null && names.find(({ id }) => id === number)?.hint?.test(key)) return number;
  const id = (names.find((name) => name.key === key) ?? names.find(({ alias }) => alias?.test(key)))?.id ?? null;
  // `7.1 Security` is a part of section 7, and the template has no `1.1 Files Changed`.
  const dotted = number?.includes('.') ?? false;
  return id !== null && dotted && !id.includes('.') ? null : id;
}

function sectionAt(root: Root, candidate: Candidate, starts: Set<number>): DocumentSection {
  const { id, node: heading, number, index } = candidate;
  const rest = root.children.slice(index + 1);
  const end = rest.findIndex((node, offset) => {
    const isHigher = node.type === 'heading' && node.depth <= heading.depth && !isPartOf(node, candidate);
    return isHigher || starts.has(index + 1 + offset);
  });
  const nodes = end < 0 ? rest : rest.slice(0, end);
  const line = lineOf(heading);
  const lines = (nodes.at(-1)?.position?.end.line ?? line) - line;
  return { id, title: plainText(heading), number, line, lines, nodes };
}

/** `## 2.1 …` belongs to `## 2. …` although both have the same level. */
function isPartOf(heading: Heading, candidate: Candidate): boolean {
  return readTitle(plainText(heading)).number?.startsWith(`${candidate.id}.`) ?? false;
}

/** `N/A – reason` as the first words of a section. */
export function isNotApplicable({ nodes }: DocumentSection): boolean {
  const first = nodes.find(({ type }) => type !== 'heading');
  return (
    first?.type === 'paragraph' &&
    /^\W*(?:n\/?a|not applicable|none)\s*[:.,(–—-]+\s*\p{L}[^\n]{5,}$/iu.test(plainText(first))
  );
}

/** `N/A` without a reason. */
function isBareNa(nodes: readonly RootContent[]): boolean {
  return /^\W*(?:n\/?a|not applicable)\W*$/i.test(nodes.filter(isContent).map(plainText).join('\n'));
}

function isContent(node: RootContent): boolean {
  if (node.type === 'heading' || node.type === 'thematicBreak' || node.type === 'definition') return false;
  // A comment in place of text has a rule of its own.
  if (node.type === 'html')
    return leftOutIn(node.value) !== null || node.value.replace(/<!--[\s\S]*?(?:-->|$)/g, '').trim() !== '';
  if (node.type === 'paragraph') return /[\p{L}\p{N}]/u.test(plainText(node));
  if (node.type === 'code') return node.value.trim() !== '';
  return node.type !== 'table' || node.children.length > 1;
}

/** `section-missing`, `section-empty`, `section-repeated`, `section-order`. */
export function checkOutline(
  { sections, repeatedSections, titleLine }: ParsedDocument,
  names: readonly SectionName[],
): DocumentFinding[] {
  const order = names.map(({ id }) => id);
  const found = new Set(sections.map(({ id }) => id));
  const missing = names.flatMap((name, place): DocumentFinding[] => {
    const { id, title, missing: severity } = name;
    if (found.has(id) || severity === null || (id.startsWith('2.') && !found.has('2'))) return [];
    const line = sections.findLast((section) => order.indexOf(section.id) < place)?.line ?? titleLine;
    const message = `The section ${quote(title)} is missing: add "${headingOf(name)}" with its content.`;
    return [{ rule: 'section-missing', severity, line, message }];
  });
  const isNeeded = (id: string): boolean => names.find((name) => name.id === id)?.missing === 'error';
  const hasParts = [...found].some((id) => id.startsWith('2.'));
  const empty = sections
    .filter(({ id, nodes }) => isNeeded(id) && (!nodes.some(isContent) || (/^\d+$/.test(id) && isBareNa(nodes))))
    // Section 6 has a rule of its own.
    .filter(({ id, nodes }) => !(id === '2' && hasParts) && !(id === '6' && nodes.length > 0))
    .map(({ line, title }) =>
      error('section-empty', line, `${quote(title)} is empty: fill it in, or write "N/A – " and the reason.`),
    );
  const repeated = repeatedSections.map(({ line, title }) => {
    const message = `${quote(title)} is here for the second time, and only the first is read: merge the two.`;
    return warning('section-repeated', line, message);
  });
  let last = -1;
  const misplaced = sections.flatMap(({ id, line, title, number }) => {
    const isBefore = order.indexOf(id) < last;
    last = Math.max(last, order.indexOf(id));
    const isNumbered = number === null || number === id || !/^\d/.test(id);
    if (!isBefore && isNumbered) return [];
    const what = isBefore
      ? 'is out of order: follow the template'
      : `is section ${id} of the template: correct its number`;
    return [warning('section-order', line, `${quote(title)} ${what}.`)];
  });
  return [...missing, ...empty, ...repeated, ...misplaced];
}

function headingOf({ id, title }: SectionName): string {
  if (id === 'log') return '## Appendix: Review Log';
  if (!/^\d/.test(id)) return `## ${title}`;
  return id.includes('.') ? `### ${id} ${title}` : `## ${id}. ${title}`;
}
