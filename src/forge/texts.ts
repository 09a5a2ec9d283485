import type { Nodes } from 'mdast';
import type { ItemId } from '../core/ids.ts';
import { oneLine, unlinked } from '../core/lines.ts';
import { readFrontMatter } from '../documents/header.ts';
import { readLld } from '../documents/lld/document.ts';
import type { DocumentSection } from '../documents/sections.ts';
import { fieldsIn, flatText } from '../markdown/markdown.ts';
import { tablesIn } from '../markdown/tables.ts';
import { asCode, asText } from '../markdown/writer.ts';
import { reportSection } from '../verification/report.ts';
import { ANSWER } from './port.ts';

/* The texts that are posted. Words of models, people and issues are escaped: they notify, link and close nothing. */

const MOST_WORDS = 2_000;

/** Words from outside, on one line, without markup and mentions. */
function words(text: string, most = MOST_WORDS): string {
  return unlinked(asText(oneLine(text), most));
}

/** The first line of the comment on an issue, which identifies it. It contains nothing from outside. */
export function commentMarker(id: string): string {
  return `<!-- agentos:item ${id} -->`;
}

/** The sticky comment on an issue: the state of its item, and the open question. */
interface IssueComment {
  id: string;
  state: string;
  reason: string | null;
  /** The path of the design. */
  design: string | null;
  pullRequest: { url: string; branch: string; lldUrl: string } | null;
  /** Null if unknown. */
  costUsd: number | null;
  runId: string;
  question: AskedInComment | null;
}

interface AskedInComment {
  reason: string;
  openQuestions: readonly string[];
  /** Why it can't be approved; null: it can. */
  obstacle: string | null;
  /** Absent: it can. */
  canRevise?: boolean;
}

const MOST_QUESTIONS = 10;

export function writeIssueComment(comment: IssueComment): string {
  const { id, state, reason, design, pullRequest, costUsd, runId, question } = comment;
  const rows = [
    ...(design === null
      ? []
      : [`Design: ${pullRequest === null ? asCode(design) : `[${design}](${pullRequest.lldUrl})`}`]),
    ...(pullRequest === null ? [] : [`Branch: ${asCode(pullRequest.branch)}`, `Pull request: ${pullRequest.url}`]),
    `Cost of this run: ${costUsd === null ? 'not known' : `$${costUsd.toFixed(4)}`}`,
    `Run: ${asCode(runId)}`,
  ];
  const parts = [
    commentMarker(id),
    `**agentos**: ${state}`,
    ...(reason === null || question !== null ? [] : [words(reason)]),
    rows.map((row) => `- ${row}`).join('\n'),
    ...(question === null ? [] : asked(question)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function asked({ reason, openQuestions, obstacle, canRevise = true }: AskedInComment): string[] {
  const answers = [
    ...(obstacle === null ? ['`/agentos approve` with a reason'] : []),
    ...(canRevise ? ['`/agentos revise` and what to change'] : []),
    '`/agentos drop` with a reason',
  ];
  const questions = openQuestions.slice(0, MOST_QUESTIONS).map((one) => `- ${words(one)}`);
  const either = new Intl.ListFormat('en', { type: 'disjunction' }).format(answers);
  return [
    `### Waiting for a person\n\n${words(reason)}`,
    ...(questions.length === 0 ? [] : [questions.join('\n')]),
    `Answer in a comment that begins with ${either}. Only answers of members and collaborators count.`,
  ];
}

/** Lists the answered remarks, so that every program that reads the answer knows them. */
export function answerMarker(key: string, thread: string | null, remarks: readonly string[]): string {
  return `${ANSWER} ${[key, thread ?? 'all', 'remarks', ...remarks].join(' ')} -->`;
}

/** The remarks that an answer of ours lists. */
export function answeredIn(text: string): string[] {
  const [, ids = ''] = /^<!-- agentos:reaction \S+ \S+ remarks([\w -]*) -->/.exec(text) ?? [];
  return ids.split(' ').filter(Boolean);
}

interface MadeChange {
  /** Null if nothing was changed. */
  commit: string | null;
  files: readonly string[];
}

const MOST_FILES = 10;

/** The answer in a thread: what the implementer says, and the commit. */
export function reactionAnswer(marker: string, said: readonly string[], change: MadeChange): string {
  return `${[marker, ...said.map((one) => words(one)), changeText(change)].join('\n\n')}\n`;
}

interface ReactionSummary extends MadeChange {
  /** What it reacts to. */
  what: string;
  cycle: number;
  remarks: readonly { by: string; said: string | null }[];
  /** The table of the gates. */
  evidence: string | null;
}

/** The comment on the pull request: what was reacted to, and the evidence. */
export function reactionSummary(
  marker: string,
  { what, cycle, remarks, evidence, ...change }: ReactionSummary,
): string {
  const answers = remarks.flatMap(({ by, said }) => (said === null ? [] : [`- ${words(by)}: ${words(said)}`]));
  const parts = [
    marker,
    `**agentos**, reaction ${cycle}: ${words(what)}`,
    changeText(change),
    ...(answers.length === 0 ? [] : [answers.join('\n')]),
    ...(evidence === null || evidence === '' ? [] : [unlinked(evidence)]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function changeText({ commit, files }: MadeChange): string {
  if (commit === null) return 'Nothing was changed.';
  const more = files.length - MOST_FILES;
  const named = files.slice(0, MOST_FILES).map((path) => asCode(path));
  const which = files.length === 0 ? '' : `: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `Changed in ${commit}${which}.`;
}

/** The words by which a pull request of `own` closes an issue; null: the issue is not on this service. Both as `github:owner/name`. */
export function closingWords(own: string, location: string, issue: ItemId): string | null {
  const [host, path = ''] = location.split(':');
  if (host !== own.split(':')[0]) return null;
  return location.toLowerCase() === own.toLowerCase() ? `Closes #${issue}` : `Closes ${path}#${issue}`;
}

/** Of the pull request for an item. */
export function pullRequestTitle(id: string, title: string): string {
  return unlinked(oneLine(title)).slice(0, 200) || `Implement ${id}`;
}

interface PullRequestFacts {
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

/** What a reviewer needs to know, then the repository's own template. */
export function pullRequestBody(facts: PullRequestFacts): string {
  const { id, closing, issueUrl, lld, report, lldUrl, reportUrl, place, template } = facts;
  const design = readLld(readFrontMatter(lld).body);
  const section = (name: string): DocumentSection | undefined => design.sections.find((one) => one.id === name);
  const objective = fieldsIn(section('1')?.nodes ?? []).find(({ name }) => name === 'objective')?.value;
  const { fields } = readFrontMatter(report);
  const cost = typeof fields['costUsd'] === 'number' ? `$${fields['costUsd'].toFixed(4)}` : 'not known';
  const model = (role: string): string => {
    const name = fields[role];
    return asCode(typeof name === 'string' ? name : 'an unknown model');
  };
  const parts = [
    closing ?? (issueUrl === null ? `Implements ${asCode(id)}.` : `For ${issueUrl}`),
    `**Why.** ${designWords(objective || design.title)}`,
    `## Design\n\n${summaryOf(section('2.6'), section('2.5'), section('3'))}\n\nIn full: [the design](${lldUrl}), [the report](${reportUrl}).`,
    `## Evidence\n\n${reportSection(report, 'gates') || 'No gate was checked.'}`,
    `## Coverage\n\n${reportSection(report, 'coverage') || 'Not measured.'}`,
    `## Risk\n\n${risksOf(section('11'))}`,
    `## Cost\n\nOf the implementation: ${cost}. Written by ${model('implementer')}, reviewed by ${model('reviewer')}.`,
    `## To redo it\n\n${asCode(['agentos', 'implement', '--again', id, ...place].join(' '))}`,
  ];
  const text = parts.join('\n\n');
  const most = LONGEST - Math.min(template?.length ?? 0, LONGEST / 2);
  const own = text.length <= most ? text : `${text.slice(0, most)}\n\n… the rest is in the report.`;
  return template === null || template.trim() === '' ? `${own}\n` : `${own}\n\n---\n\n${template.trim()}\n`;
}

/** Words of a design, in which code stays code. */
function designWords(text: string): string {
  const line = oneLine(text);
  const short = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
  const parts = short.split(/(`[^`]+`)/);
  return parts.map((part, index) => (index % 2 === 1 ? part : unlinked(escaped(part)))).join('');
}

/** Escapes the text and keeps the spaces around it. */
function escaped(text: string): string {
  const [, before = '', after = ''] = /^(\s*).*?(\s*)$/.exec(text) ?? [];
  return text.trim() === '' ? text : `${before}${asText(text)}${after}`;
}

/** The first ten lines of approach, flow and requirements. */
function summaryOf(...sections: (DocumentSection | undefined)[]): string {
  const lines = sections.flatMap((section) => section?.nodes.flatMap(linesOf) ?? []).filter((line) => line !== '');
  return listOf(lines, MOST_LINES) || 'See the design.';
}

function risksOf(section: DocumentSection | undefined): string {
  const rows = tablesIn(section?.nodes ?? []).flatMap(({ rows: all }) => all);
  const lines = rows.map(({ cells }) => cells.filter((cell) => cell !== '').join(' – '));
  return listOf(lines.length > 0 ? lines : (section?.nodes.flatMap(linesOf) ?? []), MOST_RISKS) || 'None is named.';
}

function listOf(lines: readonly string[], most: number): string {
  return lines
    .slice(0, most)
    .map((line) => `- ${designWords(line)}`)
    .join('\n');
}

/** One line for each paragraph and list entry, without code, tables and headings. */
function linesOf(node: Nodes): string[] {
  if (node.type === 'list') return node.children.flatMap((item) => item.children.flatMap(linesOf));
  return node.type === 'paragraph' ? [flatText(node)] : [];
}

interface LandedPart {
  id: string;
  title: string;
  /** Why it was left out; null if it is in. */
  reason: string | null;
  closing: string | null;
  /** Its own pull request. */
  request: string | null;
}

const LONGEST_REASON = 300;

/** For the reviewer of a landing: what it closes, what is in, and what is out. */
export function landingBody(parts: readonly LandedPart[]): string {
  const inside = parts.filter(({ reason }) => reason === null);
  const outside = parts.filter(({ reason }) => reason !== null);
  const closings = inside.flatMap(({ closing }) => closing ?? []);
  const lines = (some: readonly LandedPart[]): string =>
    some
      .map(({ id, title, request, reason }) => {
        const own = request === null ? '' : ` (${request})`;
        const why = reason === null ? '' : `: ${words(reason, LONGEST_REASON)}`;
        return `- ${asCode(id)} ${words(title, LONGEST_REASON)}${own}${why}`;
      })
      .join('\n');
  const sections = [
    ...(closings.length === 0 ? [] : [closings.join('\n')]),
    `The suite was run on all of these together. Merging this merges each of them.\n\n## In\n\n${lines(inside)}`,
    ...(outside.length === 0 ? [] : [`## Out\n\n${lines(outside)}`]),
  ];
  return `${sections.join('\n\n')}\n`;
}
