import type { Code, Heading, RootContent } from 'mdast';
import { codeIn, fieldsIn, lineOf, parseMarkdown, plainText, statementsIn } from '../../markdown/markdown.ts';
import { readTitle } from '../../markdown/words.ts';
import { type NumberedEntry, readNumbered } from '../coverage.ts';
import { readHeader } from '../header.ts';
import type { Review } from '../review/reader.ts';
import {
  bareDocument,
  type DocumentSection,
  type ParsedDocument,
  parseDocument,
  type SectionName,
  sectionId,
  sectionName,
} from '../sections.ts';
import { type FilesTable, readFilesTable } from './files.ts';
import { guardsIn, isGuard, isGuardFinding, readScenarios, type Scenarios } from './scenarios.ts';

/** Id, title, and the words of which one is enough if the heading has the right number. */
const SECTIONS: [id: string, title: string, words: string][] = [
  ['1', 'Context & Goal', 'context|goal|background|objective|overview'],
  ['2', 'Proposed Changes', 'propos\\w*|change|solution|design|implementation'],
  ['2.1', 'Files Changed', 'file|path'],
  ['2.2', 'Dependencies', 'dependency|package|librar\\w+'],
  ['2.3', 'Data Structures', 'data|struct\\w*|model|type|schema'],
  ['2.4', 'Function Signatures', 'signature|function|interface|api|method'],
  ['2.5', 'Logic Flow', 'logic|flow|algorithm|pseudo\\w*'],
  ['2.6', 'Technical Approach', 'approach|technical|implementation'],
  ['2.7', 'Architecture Decisions', 'decision|architect\\w*'],
  ['3', 'Requirements', 'requirement|acceptance'],
  ['4', 'Alternatives Considered', 'alternative|option'],
  ['5', 'Data & Fixtures', 'data|fixture'],
  ['6', 'Diagram', 'diagram|mermaid'],
  ['7', 'Security & Safety Considerations', 'security|safety'],
  ['8', 'Performance & Cost Considerations', 'performance|cost|budget'],
  ['9', 'Legal & Compliance', 'legal|complian\\w*|licen\\w*'],
  ['10', 'Verification & Testing', 'verif\\w*|test\\w*'],
  ['11', 'Risks & Mitigations', 'risk|mitigation'],
  ['12', 'Definition of Done', 'done|dod'],
];

export const LLD_SECTIONS: SectionName[] = [
  ...SECTIONS.map(([id, title, words]) => sectionName(id, title, { hint: new RegExp(`\\b(?:${words})\\b`) })),
  sectionName('log', 'Review Log', { alias: /^review history$/, missing: 'warning' }),
];

/** Titles that other kinds of documents have too; without the number they tell nothing. */
const COMMON = /^(?:requirement|dependency|diagram|data structure)$/;
const REVIEW_HEADING =
  /^\W*(?:identity confirmation|pre-?flight gate|review summary|open questions resolved|requirement coverage analysis|tier [123]\b|questions for orchestrator|(?:governance )?verdict)/i;

/**
 * Whether a text is meant to be an LLD, however broken, and not a review or a README. The sections decide, because the title of
 * a design may speak of reviews and verdicts.
 */
export function isLld(text: string): boolean {
  const headings = parseMarkdown(bareDocument(text, LLD_SECTIONS)).children.filter((node) => node.type === 'heading');
  const titles = headings.map((heading) => plainText(heading));
  const found = titles.map(readTitle).flatMap(({ number, key }) => {
    const id = sectionId(number, key, LLD_SECTIONS);
    return id === null || (id !== number && COMMON.test(key)) ? [] : [id];
  });
  const review = new Set(titles.flatMap((title) => REVIEW_HEADING.exec(title)?.[0].toLowerCase() ?? [])).size;
  const [title = ''] = titles;
  const isNamed = /^\W*(?:LLD|low[- ]level design)[\s-]*(?:#?\d|[:–—])(?!.*\b(?:review|verdict)\b)/i.test(title);
  const sections = new Set(found).size;
  return (isNamed || sections >= 3) && sections + (isNamed ? 3 : 0) > review;
}

export interface LldDocument extends ParsedDocument, FilesTable, Scenarios {
  /** The line of a second title, if another document was appended. */
  secondTitleLine: number | null;
  /** The issue that the title names. */
  titleIssue: IssueMention | null;
  /** The issue that section 1 names. */
  contextIssue: IssueMention | null;
  requirements: NumberedEntry[];
  /** The fields of the template, such as `* **Depends on:** #12`. */
  fields: {
    /** Ids of the issues that have to be done first. */
    dependsOn: string[];
    /** The percentage of changed lines that the tests have to cover; null: no target. */
    coverageTarget: number | null;
  };
  mermaid: Code[];
}

export function readLld(given: string): LldDocument {
  const { parsed, heading, nodesOf } = parseDocument(given, LLD_SECTIONS);
  const { text, root, title, titleLine } = parsed;
  const table = readFilesTable(nodesOf('2.1'), text);
  const requirements = readNumbered(nodesOf('3'), text);
  const known = requirements.map((requirement) => requirement.id);
  return {
    ...parsed,
    secondTitleLine: secondTitleLine(parsed, heading),
    titleIssue: heading ? issueOfTitle(title, titleLine) : null,
    contextIssue: issueOfContext(nodesOf('1')),
    ...(table.filesLine === null ? readFilesTable(nodesOf('2'), text) : table),
    requirements,
    ...readScenarios(nodesOf('10'), known),
    fields: readFields(['1', '2.2', '10', '12'].flatMap(nodesOf)),
    mermaid: codeIn(root).filter(isMermaid),
  };
}

export function isMermaid({ lang }: Code): boolean {
  return /^(?:mermaid|mmd)$/i.test(lang ?? '');
}

/** Headings that only an issue has. */
const OF_AN_ISSUE = ['User Story', 'Acceptance Criteria', 'Scenarios of Use'].map((title) => readTitle(title).key);

function secondTitleLine({ root, sections }: ParsedDocument, title: Heading | undefined): number | null {
  const logLine = sections.find(({ id }) => id === 'log')?.line ?? Number.POSITIVE_INFINITY;
  const headings = root.children.filter((node) => node.type === 'heading').filter((node) => node !== title);
  const top = headings.filter(({ depth }) => depth === 1);
  // Sections on the level of the title are not a second title.
  const isAlone = title?.depth === 1 && top.every((node) => sections.every(({ line }) => line !== lineOf(node)));
  const second = isAlone ? top.find((node) => !/^appendix\b/i.test(plainText(node))) : undefined;
  const isAppended = (node: Heading): boolean =>
    lineOf(node) > logLine && OF_AN_ISSUE.includes(readTitle(plainText(node)).key);
  const found = second ?? headings.find(isAppended);
  return found ? lineOf(found) : null;
}

/** Where a document names its issue. */
export interface IssueMention {
  /** The text in place of the id: `42`, `TBD`, `#0XXX`. */
  text: string;
  /** Null for a placeholder. */
  id: string | null;
  line: number;
}

const PLACEHOLDER =
  /^\W*(?:tbd|tba|todo|to be (?:determined|defined|assigned)|n\/?a|none|unknown|pending|\d*x{2,}|n{2,}|issue|id|number|\{\{.*\}\}|<.*>|\[.*\])?\W*$/i;
export const TITLE_PREFIX = /^(?:(?:lld|low[- ]level design|design|issue|ticket)\b[\s:#–—-]*)*#?\s*/i;
const KINDS = /^(?:feature|fix|bug|chore|docs?|refactor|enhancement|task|improvement|tests?|lld|issue)$/i;
const ISSUE_FIELD = /^(?:github )?(?:issue|ticket)(?: (?:link|number|id|no|#))?$/;

/** The id at the beginning of a title such as `42 - Feature: …`, `LLD-42: …`, `137-Feature: …`, `add-login - Feature: …`. */
function issueOfTitle(title: string, line: number): IssueMention | null {
  const rest = title.replace(TITLE_PREFIX, '');
  const [, text] =
    /^(\d{1,64})(?=$|[^\p{L}\p{N}_])/u.exec(rest) ??
    /^(\{\{[^}]*\}\}|<[^>]*>|\[[^\]]*\]|\d*X{2,}|[\w-]{1,64}?)(?=\s+[-–—|]\s|:\s|-\p{Lu})/u.exec(rest) ??
    [];
  if (text !== undefined && !KINDS.test(text)) return { text, id: PLACEHOLDER.test(text) ? null : text, line };
  const linked = /#(\d{1,64})\b/.exec(title)?.[1];
  return linked === undefined ? null : { text: linked, id: linked, line };
}

/** The field `Issue: #42` of section 1; else the first `#42` that is not a related issue. */
function issueOfContext(nodes: RootContent[]): IssueMention | null {
  const field = fieldsIn(nodes).find(({ name }) => ISSUE_FIELD.test(name));
  const own = statementsIn(nodes).find(
    ({ text }) => /#\w/.test(text) && !/^\W*(?:related|depends|blocked|see also|parent)/i.test(text),
  );
  const text = field?.value.trim() ?? own?.text;
  if (text === undefined) return null;
  const [, id] = /(?:issues\/|#|GH-)([\w-]{1,64})/.exec(text) ?? /^\W*([\w-]{1,64})/.exec(text) ?? [];
  const isPlaceholder = id === undefined || [id, text].some((said) => PLACEHOLDER.test(said));
  return { text, id: isPlaceholder ? null : id, line: field?.line ?? own?.line ?? 1 };
}

/** Compares numbers without leading zeros, and names without case. */
export function sameIssue(found: string, id: string): boolean {
  const canonical = (value: string) => (/^\d+$/.test(value) ? value.replace(/^0+(?=\d)/, '') : value.toLowerCase());
  return canonical(found) === canonical(id);
}

const REFERENCE = /(?:#|issues\/|LLD-|GH-)([A-Za-z0-9_-]{1,64})|(?<![\w.-])(\d+)(?![\w.-])/g;

function readFields(nodes: DocumentSection['nodes']): LldDocument['fields'] {
  const fields = fieldsIn(nodes);
  const depends = fields.flatMap(({ name, value }) => {
    if (name === 'depends on') return [value];
    return /^related issues?$/.test(name) ? [/\bdepends on:?\s+(.*)$/is.exec(value)?.[1] ?? ''] : [];
  });
  const named = depends.flatMap((said) => [...said.replace(/\([^)]*\)/g, ' ').matchAll(REFERENCE)]);
  const coverage = fields.find(({ name }) => /^(?:test |line )?coverage target$/.test(name))?.value ?? '';
  const target = Number(/^\W*(\d{1,3}(?:\.\d+)?)\s*%/.exec(coverage)?.[1]);
  return {
    dependsOn: [...new Set(named.flatMap(([, linked, bare]) => linked ?? bare ?? []))],
    coverageTarget: target > 0 && target <= 100 ? target : null,
  };
}

/** The facts of a design that scheduling needs. */
export interface DesignFacts {
  title: string;
  /** Files that it adds, changes or deletes. */
  files: string[];
  /** Items that it depends on. */
  after: string[];
}

export function designFacts(text: string): DesignFacts {
  const lld = readLld(text);
  const own = [lld.titleIssue?.id, lld.contextIssue?.id].filter((id) => typeof id === 'string');
  return {
    title: readHeader(text).header.title ?? lld.title,
    files: [...new Set(lld.files.map(({ path }) => path))],
    after: lld.fields.dependsOn.filter((id) => !own.some((other) => sameIssue(id, other))),
  };
}

/** Sets the type of the scenarios that the reviewer calls guards; every other byte stays. */
export function withGuards(draft: string, review: Pick<Review, 'findings'>): string {
  if (!review.findings.some(isGuardFinding)) return draft;
  const { text, scenarios } = readLld(draft);
  const cells = guardsIn(review, scenarios)
    .filter((scenario) => !isGuard(scenario))
    .flatMap(({ typeCell }) => typeCell ?? []);
  if (cells.length === 0) return draft;
  let edited = text;
  for (const { start, end } of cells.toSorted((left, right) => right.start - left.start)) {
    const cell = text.slice(start, end).replace(/^(\|?\s*)[^|]*?(\s*)$/, '$1Guard$2');
    edited = edited.slice(0, start) + cell + edited.slice(end);
  }
  return edited;
}
