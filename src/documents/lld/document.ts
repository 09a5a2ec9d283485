import type { Code, Heading, Nodes, Root } from 'mdast';
import { readHeader } from '../header.ts';
import { codeIn, flatText, lineOf, markedText, normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { type QuestionItem, questionItems } from '../questions.ts';
import { type DocumentSection, type DocumentSections, findSections, titleOf } from '../sections.ts';
import { readTitle } from '../titles.ts';
import { type DesignNames, designNames } from './declarations.ts';
import { type FilesTable, type LldFile, readFilesTable, type UnreadFile } from './files-table.ts';
import { type IssueMention, issueOfContext, issueOfTitle, sameIssue } from './issue-number.ts';
import { type NumberedEntry, readNumbered } from './requirements.ts';
import { type LldScenario, readScenarios } from './scenarios.ts';
import { LLD_SECTIONS } from './sections.ts';

export interface MermaidBlock {
  text: string;
  /** The line of the opening fence. */
  line: number;
}

/** What a design says in the fields of its template (`* **Depends on:** #12`), and nowhere else. */
interface LldFields {
  /** Ids of issues that have to be done first, in the order in which they are named. */
  dependsOn: string[];
  /** The percentage of changed lines that the tests have to cover; null: the design asks for none. */
  coverageTarget: number | null;
}

/** An LLD as read; every line is counted from 1 in the text as given. */
export interface LldDocument extends DocumentSections {
  /** The text that was parsed: line ends and byte-order mark normalised. */
  text: string;
  root: Root;
  /** The title heading, empty when there is none. */
  title: string;
  titleLine: number;
  /** Where another title stands below the sections: a second document was appended. */
  secondTitleLine: number | null;
  /** The issue that the title names. */
  titleIssue: IssueMention | null;
  /** The issue that section 1 names. */
  contextIssue: IssueMention | null;
  files: LldFile[];
  unreadFiles: UnreadFile[];
  /** The line of the table of files, null when there is none. */
  filesLine: number | null;
  requirements: NumberedEntry[];
  scenarios: LldScenario[];
  scenariosLine: number | null;
  hasPassColumn: boolean;
  /** Ids that only one of two tables of scenarios has. */
  oneSided: string[];
  openQuestions: QuestionItem[];
  fields: LldFields;
  mermaid: MermaidBlock[];
}

/** Never throws: what is missing or unreadable is empty, and the checks say so. */
export function readLld(given: string): LldDocument {
  const text = normaliseText(given);
  const root = parseMarkdown(text);
  const outline = findSections(root, LLD_SECTIONS);
  const { sections: found } = outline;
  const byId = (id: string) => found.find((section) => section.id === id);
  const title = titleOf(root, LLD_SECTIONS);
  const table = filesOf(found, text);
  const requirements = readNumbered(byId('3')?.nodes ?? [], text);
  const { scenarios, line, hasPassColumn, oneSided } = readScenarios(
    byId('10'),
    requirements.map((requirement) => requirement.id),
  );
  return {
    text,
    root,
    title: title ? plainText(title) : '',
    titleLine: lineOf(title),
    secondTitleLine: secondTitleLine(root, title, found),
    titleIssue: title ? issueOfTitle(plainText(title), lineOf(title)) : null,
    contextIssue: issueOfContext(byId('1')?.nodes ?? []),
    ...outline,
    files: table.files,
    unreadFiles: table.unread,
    filesLine: table.line,
    requirements,
    scenarios,
    scenariosLine: line,
    hasPassColumn,
    oneSided,
    openQuestions: questionItems(text, root),
    fields: readFields(found),
    mermaid: codeIn(root)
      .filter(isMermaid)
      .map((code) => ({ text: code.value, line: lineOf(code) })),
  };
}

export function isMermaid(code: Code): boolean {
  return /^(?:mermaid|mmd)$/i.test(code.lang ?? '');
}

/** Headings that only an issue has. */
const OF_AN_ISSUE = ['User Story', 'Acceptance Criteria', 'Scenarios of Use'].map((title) => readTitle(title).key);

function secondTitleLine(root: Root, title: Heading | undefined, sections: DocumentSection[]): number | null {
  const logLine = sections.find(({ id }) => id === 'log')?.line ?? Number.POSITIVE_INFINITY;
  const headings = root.children.filter((node) => node.type === 'heading' && node !== title) as Heading[];
  const top = headings.filter(({ depth }) => depth === 1);
  // Sections of the same level as the title are no second one.
  const isAlone = top.every((node) => sections.every(({ line }) => line !== lineOf(node)));
  const second = top.find((node) => !/^appendix\b/i.test(plainText(node)));
  if (title?.depth === 1 && isAlone && second) return lineOf(second);
  const appended = headings.find((node) => {
    return lineOf(node) > logLine && OF_AN_ISSUE.includes(readTitle(plainText(node)).key);
  });
  return appended ? lineOf(appended) : null;
}

function filesOf(sections: DocumentSection[], text: string): FilesTable {
  const files = sections.find((section) => section.id === '2.1');
  const changes = sections.find((section) => section.id === '2');
  const own = readFilesTable(files?.nodes ?? [], text);
  return own.line === null ? readFilesTable(changes?.nodes ?? [], text) : own;
}

/** Where a field may stand: the context, the dependencies, the tests, the definition of done. */
const SECTIONS = new Set(['1', '2.2', '10', '12']);
const DEPENDS_ON = /^\W*depends on\W*:\s*(.*)$|^\W*related issues?\W*:.*?\bdepends on:?\s+(.*)$/is;
const COVERAGE = /^\W*(?:test |line )?coverage target\W*:\W*(\d{1,3}(?:\.\d+)?)\s*%/i;
const REFERENCE = /(?:#|issues\/|LLD-|GH-)([A-Za-z0-9_-]{1,64})|(?<![\w.-])(\d+)(?![\w.-])/g;

function readFields(sections: DocumentSection[]): LldFields {
  const lines = sections.filter(({ id }) => SECTIONS.has(id)).flatMap(({ nodes }) => nodes.flatMap(linesOf));
  const value = (field: RegExp): string[] => lines.flatMap((line) => field.exec(line)?.slice(1).find(Boolean) ?? []);
  const target = Number(value(COVERAGE)[0]);
  return {
    dependsOn: [...new Set(value(DEPENDS_ON).flatMap(idsIn))],
    coverageTarget: target > 0 && target <= 100 ? target : null,
  };
}

function idsIn(value: string): string[] {
  const named = value.replace(/\([^)]*\)/g, ' ');
  return [...named.matchAll(REFERENCE)].flatMap(([, linked, bare]) => linked ?? bare ?? []);
}

function linesOf(node: Nodes): string[] {
  if (node.type === 'list') return node.children.map((item) => flatText(item));
  return node.type === 'paragraph' ? markedText(node).split('\n') : [];
}

/** What is compared of designs: to schedule them, and to forecast conflicts. */
export interface DesignFacts extends DesignNames {
  title: string;
  /** Files that it adds, changes or deletes. */
  files: string[];
  /** Items that it builds on. */
  after: string[];
}

export function designFacts(text: string): DesignFacts {
  const lld = readLld(text);
  const own = [lld.titleIssue?.id, lld.contextIssue?.id].filter((id) => typeof id === 'string');
  return {
    title: readHeader(text).header.title ?? lld.title,
    files: [...new Set(lld.files.map(({ path }) => path))],
    after: lld.fields.dependsOn.filter((id) => !own.some((other) => sameIssue(id, other))),
    ...designNames(lld.root, lld.sections, lld.files),
  };
}
