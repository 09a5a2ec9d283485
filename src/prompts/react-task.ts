import type { Reaction } from '../core/reaction.ts';
import type { Prompts } from './prompts.ts';
import { tagged } from './tags.ts';
import { failureList } from './writing-tasks.ts';

/** What the implementer has to know to react to what happened to a pull request. */
export interface ReactTask {
  id: string;
  title: string;
  /** The body of the LLD. */
  lld: string;
  reaction: Pick<Reaction, 'base' | 'isBaseMoved' | 'checks' | 'reviews'>;
  /** Files that are in conflict with the base, and what git says of them. */
  conflict: { files: readonly string[]; said: readonly string[] } | null;
  /** Test files that may be changed. */
  openTests: readonly string[];
  runner: string;
  command: string;
  /** Of the call before, or of the merge with the base. */
  failures: readonly string[];
}

export function reactTask(prompts: Prompts, task: ReactTask): string {
  const { id, title, lld, reaction, conflict, openTests, runner, command, failures } = task;
  const base = reaction.base.branch;
  const tests = openTests.length === 0 ? '  (none is)' : openTests.map((path) => `  - \`${path}\``).join('\n');
  const asked = askedText(reaction, conflict);
  return [
    tagged('lld', lld),
    prompts.fill('react', { id, title, base, asked, tests, runner, command }),
    ...(failures.length === 0
      ? []
      : [prompts.fill('write-again', { failures: tagged('failures', failureList(failures)) })]),
  ].join('\n\n');
}

/** What is asked, with every word from outside in tags. */
export function askedText(
  { base, isBaseMoved, checks, reviews }: ReactTask['reaction'],
  conflict: ReactTask['conflict'],
): string {
  const parts = [
    ...checks.map(({ name, log }) => tagged('failed-check', `Check: ${name}\n\n${log || '(it says nothing)'}`)),
    ...reviews.map(({ by, body, path, line, earlier }, at) => {
      const place = path === null ? 'the change as a whole' : `${path}${line === null ? '' : `, line ${line}`}`;
      const before = earlier.map((text) => `> ${text.replace(/\n/g, '\n> ')}`);
      return tagged('remark', [`R${at + 1}, by ${by}, on ${place}:`, ...before, body].join('\n\n'));
    }),
    ...(isBaseMoved ? [movedText(base.branch, conflict)] : []),
  ];
  return parts.join('\n\n');
}

function movedText(branch: string, conflict: ReactTask['conflict']): string {
  const moved = `\`${branch}\` has commits that this change did not have. They are merged into it.`;
  if (conflict === null) return moved;
  const files = conflict.files.map((path) => `- \`${path}\``).join('\n');
  return `${moved} These files are in conflict: between \`<<<<<<<\` and \`=======\` stands what this change has, between
\`=======\` and \`>>>>>>>\` what \`${branch}\` has. Keep what both are for.

${files}

${conflict.said.join('\n')}`.trim();
}

/** The answers in a last message, by the number of the remark. */
export function answersIn(text: string, count: number): Map<number, string> {
  const found = new Map<number, string>();
  let current = 0;
  for (const line of text.split('\n')) {
    const [, number, words] = /^\W*R(\d+)\W*:\W*(.*)$/.exec(line) ?? [];
    if (number !== undefined) current = Number(number);
    else if (line.trim() === '') current = 0;
    if (current < 1 || current > count) continue;
    const said = (words ?? line).trim();
    if (said !== '') found.set(current, `${found.get(current) ?? ''} ${said}`.trim());
  }
  return found;
}
