import type { Nodes } from 'mdast';
import { oneLine, unlinked } from '../../core/lines.ts';
import { readFrontMatter } from '../../documents/header.ts';
import { readLld } from '../../documents/lld/document.ts';
import type { DocumentSection } from '../../documents/sections.ts';
import { fieldsIn, flatText } from '../../markdown/markdown.ts';
import { tablesIn } from '../../markdown/tables.ts';
import { asCode, asText } from '../../markdown/writer.ts';
import { reportSection } from '../../verification/report-reader.ts';

export interface PullRequestFacts {
  id: string;
  /** `Closes #12`; null if it closes nothing. */
  closing: string | null;
  /** The issue's page; null if it is a file. */
  issueUrl: string | null;
  /** Contents on the branch. */
  lld: string;
  report: string;
  lldUrl: string;
  reportUrl: string;
  /** Flags that a command to redo it must repeat. */
  place: readonly string[];
  /** The repository's own template; null without one. */
  template: string | null;
}

const MOST_LINES = 10;
const LONGEST_LINE = 300;
const MOST_RISKS = 5;
/** GitHub takes 65,536 characters. */
const LONGEST = 60_000;

/** The title of the design, without mentions and references. */
export function pullRequestTitle(id: string, title: string): string {
  return unlinked(oneLine(title)).slice(0, 200) || `Implement ${id}`;
}

/** What a reviewer needs to know, then the repository's own template. */
export function pullRequestBody(facts: PullRequestFacts): string {
  const { id, closing, issueUrl, lld, report, lldUrl, reportUrl, place, template } = facts;
  const design = readLld(readFrontMatter(lld).body);
  const section = (name: string): DocumentSection | undefined => design.sections.find((one) => one.id === name);
  const { fields } = readFrontMatter(report);
  const cost = typeof fields['costUsd'] === 'number' ? `$${fields['costUsd'].toFixed(4)}` : 'not known';
  const model = (role: string): string => {
    const name = fields[role];
    return asCode(typeof name === 'string' ? name : 'an unknown model');
  };
  const parts = [
    closing ?? (issueUrl === null ? `Implements ${asCode(id)}.` : `For ${issueUrl}`),
    `**Why.** ${said(objectiveOf(section('1')) || design.title)}`,
    `## Design\n\n${summaryOf(section('2.6'), section('2.5'), section('3'))}\n\nIn full: [the design](${lldUrl}), [the report](${reportUrl}).`,
    `## Evidence\n\n${reportSection(report, 'gates') || 'No gate was checked.'}`,
    `## Coverage\n\n${reportSection(report, 'coverage') || 'Not measured.'}`,
    `## Risk\n\n${risksOf(section('11'))}`,
    `## Cost\n\nOf the implementation: ${cost}. Written by ${model('implementer')}, reviewed by ${model('reviewer')}.`,
    `## To redo it\n\n${asCode(['agentos', 'implement', '--again', id, ...place].join(' '))}`,
  ];
  const own = cut(parts.join('\n\n'), LONGEST - Math.min(template?.length ?? 0, LONGEST / 2));
  return template === null || template.trim() === '' ? `${own}\n` : `${own}\n\n---\n\n${template.trim()}\n`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}\n\n… the rest is in the report.`;
}

/** Text of a design. It may contain words from outside. */
function said(text: string): string {
  const line = oneLine(text);
  const short = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
  // Code needs no escaping.
  const parts = short.split(/(`[^`]+`)/);
  return parts.map((part, index) => (index % 2 === 1 ? part : unlinked(escaped(part)))).join('');
}

/** Escapes the text and keeps the spaces around it. */
function escaped(text: string): string {
  const [, before = '', after = ''] = /^(\s*).*?(\s*)$/.exec(text) ?? [];
  return text.trim() === '' ? text : `${before}${asText(text)}${after}`;
}

function objectiveOf(section: DocumentSection | undefined): string {
  return fieldsIn(section?.nodes ?? []).find(({ name }) => name === 'objective')?.value ?? '';
}

/** The first ten lines of approach, flow and requirements. */
function summaryOf(...sections: (DocumentSection | undefined)[]): string {
  const lines = sections.flatMap((section) => section?.nodes.flatMap(linesOf) ?? []).filter((line) => line !== '');
  const shown = lines.slice(0, MOST_LINES).map((line) => `- ${said(line)}`);
  return shown.join('\n') || 'See the design.';
}

function risksOf(section: DocumentSection | undefined): string {
  const rows = tablesIn(section?.nodes ?? []).flatMap(({ rows: all }) => all);
  const lines = rows.map(({ cells }) => cells.filter((cell) => cell !== '').join(' – '));
  const text = lines.length > 0 ? lines : (section?.nodes.flatMap(linesOf) ?? []);
  return (
    text
      .slice(0, MOST_RISKS)
      .map((line) => `- ${said(line)}`)
      .join('\n') || 'None is named.'
  );
}

/** One line for each paragraph and list entry, without code, tables and headings. */
function linesOf(node: Nodes): string[] {
  if (node.type === 'list') return node.children.flatMap((item) => item.children.flatMap(linesOf));
  return node.type === 'paragraph' ? [flatText(node)] : [];
}
