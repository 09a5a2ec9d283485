import type { WritingPhase } from '../agent/port.ts';
import { oneLine } from '../core/lines.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import type { LldFile } from '../documents/lld/files.ts';
import { isGuard } from '../documents/lld/scenarios.ts';
import type { Merge } from '../git/merge.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { tagged, taggedList } from '../prompts/tags.ts';
import type { TestSuite } from '../testing/port.ts';
import type { LandContext } from './land.ts';
import type { Conflicting } from './land-resolve.ts';
import type { ReactContext } from './react.ts';
import { scenarioLine } from './red.ts';
import type { DesignedContext } from './worktree-item.ts';

/*
 * The tasks of the implementer. Each is one whole text with the LLD in it: a command gets nothing else, and knows only from
 * the last line which call it is.
 */

/** What the writer is shown of the repository, and the existing tests of the files of its design. */
export interface ShownRepository {
  text: string;
  tests: readonly string[];
}

/** What the engine or the reviewer found in the last call. */
export interface WritingAgain {
  failures: readonly string[];
  /** The review that asks for it, in full. */
  review?: string;
  /** Existing files that the review allows to change. */
  mayChange?: readonly string[];
}

type TaskContext = Pick<DesignedContext, 'id' | 'title' | 'prompts'> & {
  lld: Pick<LldDocument, 'text' | 'scenarios' | 'files'>;
  suite: Pick<TestSuite, 'isTestFile' | 'runner' | 'command'>;
};

export function writingTask(
  context: TaskContext,
  repository: ShownRepository,
  phase: WritingPhase,
  { failures, review, mayChange }: WritingAgain,
  call: number,
): string {
  const tests = taggedList('existing-tests', repository.tests);
  return taskText(phase, call, [
    tagged('lld', context.lld.text),
    ...(repository.text === '' ? [] : [tagged('repository', repository.text)]),
    ...(tests === null ? [] : [`Existing tests that touch the files of this design, and must still pass:\n\n${tests}`]),
    phase === 'tests' ? testsRules(context) : codeRules(context),
    ...(review === undefined ? [] : [tagged('review', review)]),
    ...(mayChange === undefined ? [] : [`${ONLY_THESE}\n\n${taggedList('may-change', mayChange) ?? ''}`]),
    ...againParts(context.prompts, failures),
  ]);
}

const ONLY_THESE =
  'Of the files that are there, change only those that the review names. New files may be added; any other change is undone:';

function taskText(phase: string, call: number, parts: readonly string[]): string {
  return [...parts, `Phase: ${phase}, call ${call}.`].join('\n\n');
}

function testsRules({ id, title, prompts, lld, suite }: TaskContext): string {
  const tests = lld.files.filter(({ path }) => suite.isTestFile(path));
  const added = lld.files.filter(({ path, change }) => change === 'Add' && !suite.isTestFile(path));
  const scenarios = lld.scenarios.map((one) => `${scenarioLine(one)}${isGuard(one) ? ' (Guard)' : ''}`);
  return prompts.fill('write-tests', {
    id,
    title,
    runner: suite.runner,
    command: oneLine(suite.command),
    scenarios: taggedList('scenarios', scenarios) ?? 'The LLD names no scenario: test each of its requirements.',
    'test-files':
      taggedList('test-files', tests.map(fileLine)) ??
      'The LLD names none: put them where this repository keeps its tests, so that they are found.',
    added: taggedList('added-files', added.map(fileLine)) ?? 'None: the change is in files that are there.',
  });
}

function codeRules({ id, title, prompts, lld, suite }: TaskContext): string {
  const code = lld.files.filter(({ path }) => !suite.isTestFile(path));
  return prompts.fill('write-code', {
    id,
    title,
    runner: suite.runner,
    command: oneLine(suite.command),
    files: taggedList('files', code.map(fileLine)) ?? 'The LLD names none.',
  });
}

function fileLine({ path, change, description }: LldFile): string {
  return `\`${path}\` (${change})${description === '' ? '' : `: ${description}`}`;
}

const MOST_FAILURES = 50;
const MOST_FAILURE_CHARS = 3_000;

/** What was wrong in the call before; empty in the first one. */
function againParts(prompts: Prompts, failures: readonly string[]): string[] {
  if (failures.length === 0) return [];
  const shown = failures.slice(0, MOST_FAILURES).map((failure) => {
    const text = failure.trim();
    const bounded = text.length > MOST_FAILURE_CHARS ? `${text.slice(0, MOST_FAILURE_CHARS - 1)}…` : text;
    return `- ${bounded.replace(/\n/g, '\n  ')}`;
  });
  if (failures.length > MOST_FAILURES) shown.push(`- … and ${failures.length - MOST_FAILURES} more`);
  return [prompts.fill('write-again', { failures: tagged('failures', shown.join('\n')) })];
}

export function reactTask(context: ReactContext, failures: readonly string[], call: number): string {
  const { id, title, prompts, lld, suite, reaction, conflict, openTests } = context;
  const { runner, command } = suite;
  const base = reaction.base.branch;
  const tests = openTests.length === 0 ? '  (none is)' : openTests.map((path) => `  - \`${path}\``).join('\n');
  const asked = askedText(reaction, conflict);
  return taskText('react', call, [
    tagged('lld', lld.text),
    prompts.fill('react', { id, title, base, asked, tests, runner, command }),
    ...againParts(prompts, failures),
  ]);
}

/** What is asked, with every text from outside in tags. */
export function askedText(
  { base, isBaseMoved, checks, reviews }: Pick<ReactContext['reaction'], 'base' | 'isBaseMoved' | 'checks' | 'reviews'>,
  conflict: Merge | null,
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

function movedText(branch: string, conflict: Merge | null): string {
  const moved = `\`${branch}\` has commits that this change did not have. They are merged into it.`;
  if (conflict === null) return moved;
  return `${moved} These files are in conflict: between \`<<<<<<<\` and \`=======\` stands what this change has, between
\`=======\` and \`>>>>>>>\` what \`${branch}\` has. Keep what both are for.

${conflictList(conflict)}`;
}

function conflictList({ conflicts, said }: Merge): string {
  return [...conflicts.map(({ path }) => `- \`${path}\``), '', ...said].join('\n').trim();
}

/** The answers in a final message, by the number of the remark. */
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

interface ResolveTask extends Conflicting {
  /** The name of the base. */
  onto: string;
  /** The LLDs of all branches, its own first. */
  designs: readonly string[];
  /** What each side changed in the files in conflict. */
  sides: { ours: string; theirs: string };
}

export function resolveTask(
  { prompts, suite }: Pick<LandContext, 'prompts' | 'suite'>,
  { branch, others, onto, designs, merge, sides }: ResolveTask,
  failures: readonly string[],
  call: number,
): string {
  const { id, title } = branch;
  const rules = prompts.fill('resolve', {
    id,
    title,
    others: others.length === 0 ? `changes on ${onto}` : others.map((other) => `issue ${other.id}`).join(' and '),
    runner: suite.runner,
    command: suite.command,
    files: conflictList(merge),
  });
  return taskText('resolve', call, [
    ...designs.filter((text) => text !== '').map((text) => tagged('lld', text)),
    tagged('there-already', sides.ours),
    tagged('brought-by-the-branch', sides.theirs),
    rules,
    ...againParts(prompts, failures),
  ]);
}
