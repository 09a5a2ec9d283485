import type { WriteRequest, WritingPhase } from '../agent/port.ts';
import { isRead, type TestRun } from '../testing/port.ts';
import { isRunnableTest } from '../testing/test-files.ts';
import type { Baseline } from '../verification/baseline.ts';
import { countOf, countsOfRun, testKey, testTitle, whyNothingRan } from '../verification/test-key.ts';
import { ignoredNote } from './gates.ts';
import type { ImplementContext } from './implement-item.ts';
import type { TestRuns } from './test-runs.ts';

/** For one call of the writer that began with the state `start`. */
export type Trials = (call: {
  step: string;
  phase: WritingPhase;
  start: string;
}) => NonNullable<WriteRequest['runTests']>;

type TrialsContext = Pick<
  ImplementContext,
  'suite' | 'worktree' | 'setUp' | 'journal' | 'config' | 'mask' | 'portable'
>;

interface Trial {
  text: string;
  summary: string;
  durationMs: number;
}

/** In one call of the writer; all of them together begin within the time that one run of the tests may take. */
const MOST_RUNS = 10;

/**
 * Test runs that a writer asks for while it works. They prove nothing: the gates run the tests again. Each is a durable step
 * (`code-1-run-2`) of what the writer is told, because the same files may fail in other words the next time. Around it the
 * worktree is the tree of the writer's files, stored run or not: what a run leaves there is no change of the writer's.
 */
export function createTrials(context: TrialsContext, runs: TestRuns, baseline: Baseline): Trials {
  const { suite, worktree, setUp, journal, config, mask, portable } = context;

  const tryOut = async (
    name: string,
    tree: string,
    phase: WritingPhase,
    start: string,
    files: readonly string[] | null,
  ) => {
    // In the tests phase what is installed stays, as for the gates.
    const isCode = phase === 'code';
    const installed = isCode ? await setUp.afterWriting(start, tree, name) : { tree, problem: null };
    if (installed.problem !== null) return { text: installed.problem, summary: 'the set-up failed', durationMs: 0 };
    const asked = { step: name, tree: installed.tree, installs: isCode, ...(files === null ? {} : { files }) };
    const run = await runs.once(asked);
    const text = [describeTrial(run, baseline), ...ignoredNote(run.dropped)].join('\n\n');
    return { text: mask(portable(text)), summary: run.outcome, durationMs: run.durationMs };
  };

  return ({ step, phase, start }) => {
    let count = 0;
    let spentMs = 0;
    return async (files) => {
      if (count >= MOST_RUNS) return { refused: `the tests ran ${MOST_RUNS} times already, and no more` };
      if (spentMs >= config.tests.timeoutMs) return { refused: 'the runs of the tests took too long already' };
      const tree = await worktree.snapshot();
      for (const file of files ?? []) {
        const isTest = suite.isTestFile(file) && isRunnableTest(file) && !file.startsWith('-');
        if (!isTest) return { refused: `${file} is not the name of a test file` };
        if ((await worktree.read(tree, file)) === null) return { refused: `there is no ${file}` };
      }
      count += 1;
      const name = `${step}-run-${count}`;
      const inputs = { tree, command: suite.command, files };
      const { value } = await journal.step<Trial>({ name, inputs }, () => tryOut(name, tree, phase, start, files));
      await worktree.restore(tree);
      await worktree.dropIgnored();
      spentMs += value.durationMs;
      return { text: value.text, summary: value.summary };
    };
  };
}

const MOST_FAILURES = 20;
const MOST_MESSAGE = 1_500;
const MOST_CHARS = 16_000;
const MOST_TAIL = 4_000;

/** What a writer needs of a run: the counts, and what failed and why; of a run without a report, its last words. */
export function describeTrial(run: TestRun, baseline: Pick<Baseline, 'others' | 'notLoaded'>): string {
  const why = whyNothingRan(run);
  if (why !== null) return [`${why}.`, ...(isRead(run) ? [] : [run.tail.slice(-MOST_TAIL)])].join('\n\n');
  const { passed, failed, skipped, notLoaded } = countsOfRun(run);
  const more = [
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(notLoaded > 0 ? [`${countOf(notLoaded, 'file')} could not be loaded`] : []),
  ];
  const knownTests = new Set(baseline.others);
  const knownFiles = new Set(baseline.notLoaded);
  const before = (isKnown: boolean): string => (isKnown ? ' (before your change too)' : '');
  const failures = [
    ...run.loadFailures.map(({ file, message }) => ({
      title: `Not loaded: ${file ?? 'a test file'}${before(knownFiles.has(file ?? ''))}`,
      message,
    })),
    ...run.cases
      .filter(({ outcome }) => outcome === 'failed')
      .map((test) => ({
        title: `Failed: ${testTitle(test)}${before(knownTests.has(testKey(test)))}`,
        message: test.message ?? '',
      })),
  ];
  const blocks: string[] = [];
  let room = MOST_CHARS;
  for (const { title, message } of failures.slice(0, MOST_FAILURES)) {
    const text = message.trim();
    const cut = text.length > MOST_MESSAGE ? `${text.slice(0, MOST_MESSAGE)} …` : text;
    const block = [title, ...cut.split('\n').filter((line) => line !== '')].join('\n  ');
    if (block.length > room) break;
    room -= block.length;
    blocks.push(block);
  }
  const left = failures.length - blocks.length;
  return [
    `${run.command}: ${[`${passed} passed`, `${failed} failed`, ...more].join(', ')}.`,
    ...blocks,
    ...(left > 0 ? [`… and ${left} more failures`] : []),
  ].join('\n\n');
}
