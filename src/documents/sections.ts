import type { Heading, Root, RootContent } from 'mdast';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import { lineOf, plainText } from './markdown.ts';
import { readTitle } from './titles.ts';

export interface SectionName {
  /** `3`, `2.4`, `scope`, or `log` for the review log. */
  id: string;
  title: string;
  key: string;
  /** Other titles under which the section is known, as `readTitle` gives them: lower case, singular, without "and" and "of". */
  alias: RegExp | null;
  /** Enough to know the section when its heading carries the right number as well. */
  hint: RegExp | null;
  /** What it is when the section is not there; null: nothing. */
  missing: DocumentFinding['severity'] | null;
}

export function sectionName(
  id: string,
  title: string,
  alias: RegExp | null,
  { hint = null, missing = 'error' }: Partial<Pick<SectionName, 'hint' | 'missing'>> = {},
): SectionName {
  return { id, title, key: readTitle(title).key, alias, hint, missing };
}

export interface DocumentSection {
  id: string;
  /** The heading as written, with its number. */
  title: string;
  /** The number that the heading carries, right or wrong. */
  number: string | null;
  line: number;
  /** How many lines it has below its heading. */
  lines: number;
  /** All nodes below the heading, with the headings of its subsections. */
  nodes: RootContent[];
}

interface Candidate {
  index: number;
  node: Heading;
  id: string;
  number: string | null;
  exact: boolean;
}

export interface DocumentSections {
  sections: DocumentSection[];
  /** Headings of sections that the document has had before. */
  repeatedSections: DocumentSection[];
}

/** The title of a document: the one heading above all others, even where issue 2 is about a change: `# 2 - Feature: Change …`. */
export function titleOf(root: Root, names: readonly SectionName[]): Heading | undefined {
  const headings = root.children.filter((node) => node.type === 'heading');
  const first = headings.find((heading) => heading.depth === 1) ?? headings[0];
  if (!first) return undefined;
  const isAlone = headings.length > 1 && headings.every((heading) => heading === first || heading.depth > first.depth);
  if (first === headings[0] && isAlone) return first;
  const { number, key } = readTitle(plainText(first));
  return sectionId(number, key, names) === null ? first : undefined;
}

/**
 * The sections of the template in document order, whatever the level of their headings: the level at which most of
 * them stand is theirs. A heading of another level is one only when its number and its title agree, so that `Security`
 * inside section 7 or `Tests` inside section 12 is not taken for a section of its own.
 */
export function findSections(root: Root, names: readonly SectionName[]): DocumentSections {
  const candidates = candidatesIn(root, names);
  const main = candidates.filter((candidate) => !candidate.id.includes('.'));
  const depth = commonDepth(main);
  const sections = main.filter(
    (candidate) => candidate.node.depth === depth || (candidate.exact && candidate.number === candidate.id),
  );
  const starts = new Set(sections.map((candidate) => candidate.index));
  const [first, again] = splitRepeated(sections);

  const changes = first.find((candidate) => candidate.id === '2');
  const next = sections.find((candidate) => candidate.index > (changes?.index ?? Number.POSITIVE_INFINITY));
  const parts = candidates.filter((candidate) => {
    if (!candidate.id.includes('.')) return false;
    if (candidate.number !== null || !changes) return true;
    return candidate.index > changes.index && candidate.index < (next?.index ?? Number.POSITIVE_INFINITY);
  });
  const [firstParts, repeatedParts] = splitRepeated(parts);

  const toSection = (candidate: Candidate) => sectionAt(root, candidate, starts);
  const order = (all: Candidate[]) => all.toSorted((a, b) => a.index - b.index).map(toSection);
  return {
    sections: order([...first, ...firstParts]),
    repeatedSections: order([...again, ...repeatedParts]),
  };
}

function candidatesIn(root: Root, names: readonly SectionName[]): Candidate[] {
  return root.children.flatMap((node, index) => {
    if (node.type !== 'heading') return [];
    const { number, key } = readTitle(plainText(node));
    const id = sectionId(number, key, names);
    const exact = names.some((name) => name.id === id && name.key === key);
    return id === null ? [] : [{ index, node, id, number, exact }];
  });
}

/** The section that a heading begins, or null. */
export function sectionId(number: string | null, key: string, names: readonly SectionName[]): string | null {
  if (key === '') return null;
  if (number !== null && names.find(({ id }) => id === number)?.hint?.test(key)) return number;
  const id = (names.find((name) => name.key === key) ?? names.find(({ alias }) => alias?.test(key)))?.id ?? null;
  // `7.1 Security` is a part of section 7, and `1.1 Files Changed` nothing that the template knows.
  const dotted = number?.includes('.') ?? false;
  return id !== null && dotted && !id.includes('.') ? null : id;
}

function commonDepth(candidates: Candidate[]): number {
  const votes = new Map<number, Set<string>>();
  for (const { node, id } of candidates) votes.set(node.depth, (votes.get(node.depth) ?? new Set()).add(id));
  return [...votes].toSorted((a, b) => b[1].size - a[1].size || a[0] - b[0])[0]?.[0] ?? 2;
}

function splitRepeated(candidates: Candidate[]): [Candidate[], Candidate[]] {
  const seen = new Set<string>();
  const first: Candidate[] = [];
  const again: Candidate[] = [];
  for (const candidate of candidates) {
    (seen.has(candidate.id) ? again : first).push(candidate);
    seen.add(candidate.id);
  }
  return [first, again];
}

function sectionAt(root: Root, candidate: Candidate, starts: Set<number>): DocumentSection {
  const nodes: RootContent[] = [];
  for (let index = candidate.index + 1; index < root.children.length; index++) {
    const node = root.children[index];
    if (!node || starts.has(index)) break;
    if (node.type === 'heading' && node.depth <= candidate.node.depth && !isPartOf(node, candidate)) break;
    nodes.push(node);
  }
  return {
    id: candidate.id,
    title: plainText(candidate.node),
    number: candidate.number,
    line: lineOf(candidate.node),
    lines: (nodes.at(-1)?.position?.end.line ?? lineOf(candidate.node)) - lineOf(candidate.node),
    nodes,
  };
}

/** `## 2.1 …` belongs to `## 2. …` though it stands on the same level. */
function isPartOf(heading: Heading, candidate: Candidate): boolean {
  return readTitle(plainText(heading)).number?.startsWith(`${candidate.id}.`) ?? false;
}

/** `N/A – reason`: a section whose first words say why it has nothing to say, below a heading of its own or not. */
export function isNotApplicable({ nodes }: DocumentSection): boolean {
  const first = nodes.find(({ type }) => type !== 'heading');
  return (
    first?.type === 'paragraph' &&
    /^\W*(?:n\/?a|not applicable|none)\s*[:.,(–—-]+\s*\p{L}[^\n]{5,}$/iu.test(plainText(first))
  );
}

/** Whether a node of a section says anything. */
function isContent(node: RootContent): boolean {
  if (node.type === 'heading' || node.type === 'thematicBreak' || node.type === 'definition') return false;
  if (node.type === 'html') return node.value.replace(/<!--[\s\S]*?(?:-->|$)/g, '').trim() !== '';
  if (node.type === 'code') return node.value.trim() !== '';
  return node.type !== 'table' || node.children.length > 1;
}

/** `section-missing`, `section-empty`, `section-repeated`, `section-order`. */
export function checkOutline(
  { sections, repeatedSections, titleLine }: DocumentSections & { titleLine: number },
  names: readonly SectionName[],
): DocumentFinding[] {
  const order = names.map(({ id }) => id);
  const found = new Set(sections.map(({ id }) => id));
  const missing = names.flatMap((name): DocumentFinding[] => {
    const { id, title, missing: severity } = name;
    if (found.has(id) || severity === null || (id.startsWith('2.') && !found.has('2'))) return [];
    const before = order.slice(0, order.indexOf(id));
    const line = sections.filter((section) => before.includes(section.id)).at(-1)?.line ?? titleLine;
    const message = `The section ${quote(title)} is missing: add "${headingOf(name)}" with its content.`;
    return [{ rule: 'section-missing', severity, line, message }];
  });
  const empty = sections
    .filter(({ id, nodes }) => names.find((name) => name.id === id)?.missing === 'error' && !nodes.some(isContent))
    .filter(({ id }) => id !== '2' || ![...found].some((other) => other.startsWith('2.')))
    .map(({ line, title }) =>
      error('section-empty', line, `${quote(title)} is empty: fill it in, or say "None" and why nothing applies.`),
    );
  const repeated = repeatedSections.map(({ line, title }) => {
    const message = `${quote(title)} stands here for the second time, and only the first is read: merge the two.`;
    return warning('section-repeated', line, message);
  });
  let last = -1;
  const misplaced = sections.flatMap(({ id, line, title, number }) => {
    const place = order.indexOf(id);
    const isBefore = place < last;
    last = Math.max(last, place);
    if (isBefore) return [warning('section-order', line, `${quote(title)} stands out of order: see the template.`)];
    if (number === null || number === id || !/^\d/.test(id)) return [];
    return [warning('section-order', line, `${quote(title)} is section ${id} of the template: correct its number.`)];
  });
  return [...missing, ...empty, ...repeated, ...misplaced];
}

function headingOf({ id, title }: SectionName): string {
  if (id === 'log') return '## Appendix: Review Log';
  if (!/^\d/.test(id)) return `## ${title}`;
  return id.includes('.') ? `### ${id} ${title}` : `## ${id}. ${title}`;
}
