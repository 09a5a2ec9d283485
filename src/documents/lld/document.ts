import type { Code, Heading, Root } from 'mdast';
import { codeIn, fieldsIn, lineOf, plainText } from '../../markdown/markdown.ts';
import { readTitle } from '../../markdown/words.ts';
import type { NumberedEntry } from '../coverage.ts';
import { readHeader } from '../header.ts';
import { type DocumentSection, type ParsedDocument, parseDocument } from '../sections.ts';
import { type FilesTable, type LldFile, readFilesTable } from './files.ts';
import { type IssueMention, issueOfContext, issueOfTitle, sameIssue } from './issue-number.ts';
import { readNumbered } from './requirements.ts';
import { readScenarios, type Scenarios } from './scenarios.ts';
import { LLD_SECTIONS } from './sections.ts';

/** The fields of the template, such as `* **Depends on:** #12`. */
interface LldFields {
  /** Ids of the issues that have to be done first. */
  dependsOn: string[];
  /** The percentage of changed lines that the tests have to cover; null: no target. */
  coverageTarget: number | null;
}

export interface LldDocument extends ParsedDocument, Scenarios {
  /** The line of a second title, if another document was appended. */
  secondTitleLine: number | null;
  /** The issue that the title names. */
  titleIssue: IssueMention | null;
  /** The issue that section 1 names. */
  contextIssue: IssueMention | null;
  files: LldFile[];
  unreadFiles: FilesTable['unread'];
  /** The line of the table of files; null without one. */
  filesLine: number | null;
  requirements: NumberedEntry[];
  fields: LldFields;
  mermaid: Code[];
}

export function readLld(given: string): LldDocument {
  const { parsed, heading, nodesOf } = parseDocument(given, LLD_SECTIONS);
  const { text, root, title, titleLine, sections } = parsed;
  const [own, around] = [nodesOf('2.1'), nodesOf('2')].map((nodes) => readFilesTable(nodes, text));
  const table = own?.line === null ? around : own;
  const requirements = readNumbered(nodesOf('3'), text);
  const known = requirements.map((requirement) => requirement.id);
  return {
    ...parsed,
    secondTitleLine: secondTitleLine(root, heading, sections),
    titleIssue: heading ? issueOfTitle(title, titleLine) : null,
    contextIssue: issueOfContext(nodesOf('1')),
    files: table?.files ?? [],
    unreadFiles: table?.unread ?? [],
    filesLine: table?.line ?? null,
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

function secondTitleLine(root: Root, title: Heading | undefined, sections: DocumentSection[]): number | null {
  const logLine = sections.find(({ id }) => id === 'log')?.line ?? Number.POSITIVE_INFINITY;
  const headings = root.children.filter((node) => node.type === 'heading' && node !== title) as Heading[];
  const top = headings.filter(({ depth }) => depth === 1);
  // Sections on the level of the title are not a second title.
  const isAlone = title?.depth === 1 && top.every((node) => sections.every(({ line }) => line !== lineOf(node)));
  const second = isAlone ? top.find((node) => !/^appendix\b/i.test(plainText(node))) : undefined;
  const isAppended = (node: Heading): boolean =>
    lineOf(node) > logLine && OF_AN_ISSUE.includes(readTitle(plainText(node)).key);
  const found = second ?? headings.find(isAppended);
  return found ? lineOf(found) : null;
}

const REFERENCE = /(?:#|issues\/|LLD-|GH-)([A-Za-z0-9_-]{1,64})|(?<![\w.-])(\d+)(?![\w.-])/g;

function readFields(nodes: DocumentSection['nodes']): LldFields {
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
