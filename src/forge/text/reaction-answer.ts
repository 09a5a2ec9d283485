import { unlinked } from '../../core/lines.ts';
import { asCode, asText } from '../../markdown/writer.ts';

interface MadeChange {
  /** Null if nothing was changed. */
  commit: string | null;
  files: readonly string[];
}

const MOST_CHARS = 2_000;
const MOST_FILES = 10;

/** The answer in a thread: what the implementer says, and the commit. */
export function reactionAnswer(marker: string, said: readonly string[], change: MadeChange): string {
  return `${[marker, ...said.map(words), changeText(change)].join('\n\n')}\n`;
}

interface Summed extends MadeChange {
  /** What it reacts to; may contain words from outside. */
  what: string;
  cycle: number;
  remarks: readonly { by: string; said: string | null }[];
  /** The table of the gates. */
  evidence: string | null;
}

/** The comment on the pull request: what was reacted to, and the evidence. */
export function reactionSummary(marker: string, { what, cycle, remarks, evidence, ...change }: Summed): string {
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

/** Text from outside, on one line, without markup and mentions. */
function words(text: string): string {
  return unlinked(asText(text, MOST_CHARS));
}
