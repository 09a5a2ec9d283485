import type { Prompts } from './prompts.ts';
import { tagged } from './tags.ts';
import { failureList } from './writing-tasks.ts';

/** What the implementer has to know to settle a conflict of two finished changes. */
export interface ResolveTask {
  id: string;
  title: string;
  /** Ids of the changes that it is in conflict with; none: it is the base itself. */
  others: readonly string[];
  /** The name of the base. */
  onto: string;
  /** The LLDs of all of them, its own first. */
  designs: readonly string[];
  merge: { conflicts: readonly { path: string }[]; said: readonly string[] };
  /** Diffs of the files in conflict. */
  sides: { ours: string; theirs: string };
  suite: { runner: string; command: string } | null;
  /** Of the call before. */
  failures: readonly string[];
}

export function resolveTask(prompts: Prompts, task: ResolveTask): string {
  const { id, title, others, onto, designs, merge, sides, suite, failures } = task;
  const rules = prompts.fill('resolve', {
    id,
    title,
    others: others.length === 0 ? `changes on ${onto}` : others.map((other) => `issue ${other}`).join(' and '),
    runner: suite?.runner ?? 'the tests',
    command: suite?.command ?? 'the tests',
    files: [...merge.conflicts.map(({ path }) => `- \`${path}\``), '', ...merge.said].join('\n').trim(),
  });
  return [
    ...designs.filter((text) => text !== '').map((text) => tagged('lld', text)),
    tagged('there-already', sides.ours),
    tagged('brought-by-the-branch', sides.theirs),
    rules,
    ...(failures.length === 0
      ? []
      : [prompts.fill('write-again', { failures: tagged('failures', failureList(failures)) })]),
  ].join('\n\n');
}
