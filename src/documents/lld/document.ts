import type { Code, Heading, Nodes, Root } from 'mdast';
import { lineOf, normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { type FilesTable, type LldFile, readFilesTable, type UnreadFile } from './files-table.ts';
import { readFrontMatter } from './front-matter.ts';
import { type IssueMention, issueOfContext, issueOfTitle } from './issue-number.ts';
import { type OpenQuestion, readOpenQuestions } from './open-questions.ts';
import { type LldRequirement, readRequirements } from './requirements.ts';
import { type LldScenario, readScenarios } from './scenarios.ts';
import { readTitle } from './section-titles.ts';
import { findSections, type LldSection, sectionId } from './sections.ts';

export interface MermaidBlock {
  text: string;
  /** The line of the opening fence. */
  line: number;
}

/** An LLD as read; every line is counted from 1 in the text as given. */
export interface LldDocument {
  /** The text that was parsed: line ends and byte-order mark normalised. */
  text: string;
  root: Root;
  frontMatter: Record<string, unknown>;
  /** The title heading, empty when there is none. */
  title: string;
  titleLine: number;
  /** The issue that the title names. */
  titleIssue: IssueMention | null;
  /** The issue that section 1 names. */
  contextIssue: IssueMention | null;
  /** The template's sections that were found, in document order. */
  sections: LldSection[];
  repeatedSections: LldSection[];
  files: LldFile[];
  unreadFiles: UnreadFile[];
  /** The line of the table of files, null when there is none. */
  filesLine: number | null;
  requirements: LldRequirement[];
  scenarios: LldScenario[];
  scenariosLine: number | null;
  hasPassColumn: boolean;
  openQuestions: OpenQuestion[];
  mermaid: MermaidBlock[];
}

/** Never throws: what is missing or unreadable is empty, and the checks say so. */
export function readLld(given: string): LldDocument {
  const text = normaliseText(given);
  const root = parseMarkdown(text);
  const { found, repeated } = findSections(root);
  const byId = (id: string) => found.find((section) => section.id === id);
  const title = titleOf(root);
  const table = filesOf(found, text);
  const requirements = readRequirements(byId('3')?.nodes ?? []);
  const { scenarios, line, hasPassColumn } = readScenarios(
    byId('10'),
    requirements.map((requirement) => requirement.number),
  );
  return {
    text,
    root,
    frontMatter: root.children[0]?.type === 'yaml' ? readFrontMatter(text).fields : {},
    title: title ? plainText(title) : '',
    titleLine: lineOf(title),
    titleIssue: title ? issueOfTitle(plainText(title), lineOf(title)) : null,
    contextIssue: issueOfContext(byId('1')?.nodes ?? []),
    sections: found,
    repeatedSections: repeated,
    files: table.files,
    unreadFiles: table.unread,
    filesLine: table.line,
    requirements,
    scenarios,
    scenariosLine: line,
    hasPassColumn,
    openQuestions: readOpenQuestions(root),
    mermaid: codeIn(root)
      .filter(isMermaid)
      .map((code) => ({ text: code.value, line: lineOf(code) })),
  };
}

export function isMermaid(code: Code): boolean {
  return /^(?:mermaid|mmd)$/i.test(code.lang ?? '');
}

function titleOf(root: Root): Heading | undefined {
  const headings = root.children.filter((node) => node.type === 'heading');
  const first = headings.find((heading) => heading.depth === 1) ?? headings[0];
  if (!first) return undefined;
  // The one heading above all others is the title, even where issue 2 is about a change: `# 2 - Feature: Change …`.
  const isAlone = headings.length > 1 && headings.every((heading) => heading === first || heading.depth > first.depth);
  if (first === headings[0] && isAlone) return first;
  const { number, key } = readTitle(plainText(first));
  return sectionId(number, key) === null ? first : undefined;
}

function filesOf(sections: LldSection[], text: string): FilesTable {
  const files = sections.find((section) => section.id === '2.1');
  const changes = sections.find((section) => section.id === '2');
  const own = readFilesTable(files?.nodes ?? [], text);
  return own.line === null ? readFilesTable(changes?.nodes ?? [], text) : own;
}

/** Code blocks under a node, in document order. */
export function codeIn(node: Nodes): Code[] {
  if (node.type === 'code') return [node];
  return 'children' in node ? node.children.flatMap((child) => codeIn(child)) : [];
}
