import { unlinked } from '../../core/lines.ts';
import { asCode, asText } from '../../markdown/writer.ts';

/** The sticky comment on an issue: the state of its item, and the open question. */
export interface IssueComment {
  id: string;
  state: string;
  /** May contain words of models and people. */
  reason: string | null;
  design: { path: string; url: string | null } | null;
  pullRequest: string | null;
  branch: string | null;
  /** Null if unknown. */
  costUsd: number | null;
  runId: string;
  question: AskedInComment | null;
}

interface AskedInComment {
  reason: string;
  openQuestions: readonly string[];
  canApprove: boolean;
  canRevise: boolean;
}

const MOST_CHARS = 2_000;
const MOST_QUESTIONS = 10;

/** The first line of the comment, which identifies it. It contains nothing from outside. */
export function commentMarker(id: string): string {
  return `<!-- agentos:item ${id} -->`;
}

export function writeIssueComment(comment: IssueComment): string {
  const { id, state, reason, design, pullRequest, branch, costUsd, runId, question } = comment;
  const link = design !== null && design.url !== null ? `[${design.path}](${design.url})` : null;
  const rows = [
    ...(design === null ? [] : [`Design: ${link ?? asCode(design.path)}`]),
    ...(branch === null ? [] : [`Branch: ${asCode(branch)}`]),
    ...(pullRequest === null ? [] : [`Pull request: ${pullRequest}`]),
    `Cost of this run: ${costUsd === null ? 'not known' : `$${costUsd.toFixed(4)}`}`,
    `Run: ${asCode(runId)}`,
  ];
  const parts = [
    commentMarker(id),
    `**agentos**: ${state}`,
    ...(reason === null || question !== null ? [] : [said(reason)]),
    rows.map((row) => `- ${row}`).join('\n'),
    ...(question === null ? [] : asked(question)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function asked({ reason, openQuestions, canApprove, canRevise }: AskedInComment): string[] {
  const answers = [
    ...(canApprove ? ['`/agentos approve` with a reason'] : []),
    ...(canRevise ? ['`/agentos revise` and what to change'] : []),
    '`/agentos drop` with a reason',
  ];
  const questions = openQuestions.slice(0, MOST_QUESTIONS).map((one) => `- ${said(one)}`);
  return [
    `### Waiting for a person\n\n${said(reason)}`,
    ...(questions.length === 0 ? [] : [questions.join('\n')]),
    `Answer in a comment that begins with ${listOf(answers)}. Only answers of members and collaborators count.`,
  ];
}

/** Text from outside, on one line, without markup and mentions. */
function said(text: string): string {
  return unlinked(asText(text, MOST_CHARS));
}

function listOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
