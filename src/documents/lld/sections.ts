import type { Heading, Root, RootContent } from 'mdast';
import { lineOf, normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { readTitle } from '../titles.ts';

interface SectionName {
  /** `3`, `2.4`, or `log` for the appendix. */
  id: string;
  title: string;
  /** Other titles under which the section is known. */
  alias: RegExp;
  /** Enough to know the section when its heading carries the right number as well. */
  hint: RegExp;
}

const name = (id: string, title: string, alias: RegExp, hint: RegExp): SectionName => ({ id, title, alias, hint });

/** Titles are compared as `readTitle` gives them: lower case, singular, without "and", "of" and "considerations". */
export const LLD_SECTIONS: SectionName[] = [
  name(
    '1',
    'Context & Goal',
    /^(?:(?:context|background|overview)(?: (?:goal|objective|scope))?|goal(?: context)?)$/,
    /context|goal|background|objective|overview/,
  ),
  name(
    '2',
    'Proposed Changes',
    /^(?:proposed (?:change|solution|design|implementation)|change)$/,
    /propos|change|solution|design|implementation/,
  ),
  name(
    '2.1',
    'Files Changed',
    /^(?:file|(?:file|path) (?:to )?(?:be )?(?:changed?|modif\w+|affected|touched|list)|(?:changed|affected|modified) file)$/,
    /file|path/,
  ),
  name('2.2', 'Dependencies', /^(?:new |external )?dependency(?: change)?$/, /depend|package|librar/),
  name(
    '2.3',
    'Data Structures',
    /^(?:data (?:structure|model|type|schema)|type|schema)(?: type)?$/,
    /data|struct|model|type|schema/,
  ),
  name(
    '2.4',
    'Function Signatures',
    /^(?:(?:function|method|api|key|public)? ?signature|(?:public )?(?:api|interface)|function)$/,
    /signature|function|interface|api|method/,
  ),
  name(
    '2.5',
    'Logic Flow',
    /^(?:logic(?: flow)?|(?:control |program )?flow|algorithm|pseudocode)$/,
    /logic|flow|algorithm|pseudo/,
  ),
  name('2.6', 'Technical Approach', /^(?:technical |implementation )?approach$/, /approach|technical|implementation/),
  name(
    '2.7',
    'Architecture Decisions',
    /^(?:architectur(?:e|al)|design|key|technical)(?: design)? decision$/,
    /decision|architect/,
  ),
  name('3', 'Requirements', /^(?:functional |testable |acceptance )?requirement$/, /requirement|acceptance/),
  name('4', 'Alternatives Considered', /^(?:considered )?alternative(?: considered| rejected)?$/, /alternative|option/),
  name('5', 'Data & Fixtures', /^(?:(?:test )?data(?: test)? fixture|fixture(?: data)?|test data)$/, /data|fixture/),
  name(
    '6',
    'Diagram',
    /^(?:(?:architecture|sequence|mermaid|flow|system|component|design) )*diagram$/,
    /diagram|mermaid/,
  ),
  name(
    '7',
    'Security & Safety Considerations',
    /^(?:security safety|safety security|security|safety)$/,
    /securit|safety/,
  ),
  name(
    '8',
    'Performance & Cost Considerations',
    /^(?:performance cost|cost performance|performance(?: budget)?)$/,
    /performance|cost|budget/,
  ),
  name('9', 'Legal & Compliance', /^(?:legal compliance|compliance legal|legal|compliance)$/, /legal|complian|licen/),
  name(
    '10',
    'Verification & Testing',
    /^(?:verification|testing|test)(?: (?:verification|testing|test|plan|strategy|scenario))*$/,
    /verif|test/,
  ),
  name('11', 'Risks & Mitigations', /^risk(?: mitigation)?$/, /risk|mitigation/),
  name('12', 'Definition of Done', /^(?:definition done|dod)$/, /done|dod/),
  name('log', 'Review Log', /^(?:review (?:log|history)|appendix review log)$/, /review log/),
];

const KEYS = new Map(LLD_SECTIONS.map((section) => [readTitle(section.title).key, section.id]));
const BY_ID = new Map(LLD_SECTIONS.map((section) => [section.id, section]));

export interface LldSection {
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

export interface LldSections {
  found: LldSection[];
  /** Headings of sections that the document has had before. */
  repeated: LldSection[];
}

/**
 * The sections of the template in document order, whatever the level of their headings: the level at which most of
 * them stand is theirs. A heading of another level is one only when its number and its title agree, so that `Security`
 * inside section 7 or `Tests` inside section 12 is not taken for a section of its own.
 */
export function findSections(root: Root): LldSections {
  const candidates = candidatesIn(root);
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
  return { found: order([...first, ...firstParts]), repeated: order([...again, ...repeatedParts]) };
}

function candidatesIn(root: Root): Candidate[] {
  return root.children.flatMap((node, index) => {
    if (node.type !== 'heading') return [];
    const { number, key } = readTitle(plainText(node));
    const id = sectionId(number, key);
    return id === null ? [] : [{ index, node, id, number, exact: KEYS.get(key) === id }];
  });
}

/** The section that a heading begins, or null. */
export function sectionId(number: string | null, key: string): string | null {
  if (key === '') return null;
  if (number !== null && BY_ID.get(number)?.hint.test(key)) return number;
  const id = KEYS.get(key) ?? LLD_SECTIONS.find((section) => section.alias.test(key))?.id ?? null;
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

function sectionAt(root: Root, candidate: Candidate, starts: Set<number>): LldSection {
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
export function isNotApplicable({ nodes }: LldSection): boolean {
  const first = nodes.find(({ type }) => type !== 'heading');
  return (
    first?.type === 'paragraph' &&
    /^\W*(?:n\/?a|not applicable|none)\s*[:.,(–—-]+\s*\p{L}[^\n]{5,}$/iu.test(plainText(first))
  );
}

/** Titles that other documents have as well, and that therefore count for less. */
const COMMON = new Set(
  ['Requirements', 'Dependencies', 'Diagram', 'Data Structures'].map((title) => readTitle(title).key),
);
const DISTINCTIVE = new Set([...KEYS.keys()].filter((key) => !COMMON.has(key)));
const REVIEW_HEADING =
  /^\W*(?:identity confirmation|pre-?flight gate|review summary|open questions resolved|requirement coverage analysis|tier [123]\b|questions for orchestrator|(?:governance )?verdict)/i;

/**
 * Whether a Markdown text is meant to be an LLD, however broken; a review of one, or a README, is not. The sections
 * decide: a design may be about reviews and verdicts, and be called so.
 */
export function isLld(text: string): boolean {
  const headings = parseMarkdown(normaliseText(text)).children.filter((node) => node.type === 'heading');
  const titles = headings.map((heading) => plainText(heading));
  const parts = titles.map((title) => readTitle(title));
  const distinct = new Set(parts.filter(({ key }) => DISTINCTIVE.has(key)).map(({ key }) => key)).size;
  const numbered = new Set(
    parts
      .filter(({ number, key }) => !DISTINCTIVE.has(key) && number !== null && sectionId(number, key) === number)
      .map(({ number }) => number),
  ).size;
  const review = new Set(titles.flatMap((title) => REVIEW_HEADING.exec(title)?.[0].toLowerCase() ?? [])).size;
  const score = distinct + numbered * 0.75 + (/^\W*(?:LLD\W*)?#?\d+\s*[-–—:]/i.test(titles[0] ?? '') ? 1 : 0);
  return score >= 3 && score > review;
}
