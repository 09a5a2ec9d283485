import type { WriteRequest, WritingPhase } from '../agent/port.ts';
import { isRead, type TestRun } from '../testing/port.ts';
import { isRunnableTest } from '../testing/test-files.ts';
import type { Baseline } from '../verification/baseline.ts';
import { countOf, countsOfRun, testKey, testTitle, whyNothingRan } from '../verification/test-key.ts';
import { ignoredNote, type Tests } from './test-runs.ts';
import type { WorktreeContext } from './worktree-item.ts';

type TrialsContext = Pick<WorktreeContext, 'worktree' | 'setUp' | 'journal' | 'config' | 'mask' | 'portable'>;

interface Trial {
  text: string;
  summary: string;
  durationMs: number;
}

/** In one call of the writer. No run starts after all of them took as long as one run of the tests may take. */
const MOST_RUNS = 10;

/**
 * Test runs for a writer while it works, in a call that began with the tree `start`. They prove nothing: the gates run the
 * tests again. Each is a durable step (`code-1-run-2`) with the text for the writer, because the same files may fail with
 * another message the next time. After it the worktree holds only the writer's files, also if the step was replayed.
 */
export function createTrials(
  { worktree, setUp, journal, config, mask, portable }: TrialsContext,
  { suite, runs, baseline }: Tests,
  { step, phase, start }: { step: string; phase: WritingPhase; start: string },
): NonNullable<WriteRequest['runTests']> {
  let count = 0;
  let spentMs = 0;
  const tryOut = async (name: string, tree: string, files: readonly string[] | null): Promise<Trial> => {
    // In the tests phase nothing is installed, as for the gates.
    const isCode = phase === 'code';
    const installed = isCode ? await setUp.afterWriting(start, tree, name) : { tree, problem: null };
    if (installed.problem !== null) return { text: installed.problem, summary: 'the set-up failed', durationMs: 0 };
    const asked = { step: name, tree: installed.tree, installs: isCode, ...(files === null ? {} : { files }) };
    const run = await runs.once(asked);
    const text = [describeTrial(run, baseline), ...ignoredNote(run.dropped)].join('\n\n');
    return { text: mask(portable(text)), summary: run.outcome, durationMs: run.durationMs };
  };

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
    const { value } = await journal.step({ name, inputs }, () => tryOut(name, tree, files));
    await worktree.restore(tree);
    await worktree.dropIgnored();
    spentMs += value.durationMs;
    return { text: value.text, summary: value.summary };
  };
}

const MOST_FAILURES = 20;
const MOST_MESSAGE = 1_500;
const MOST_CHARS = 16_000;
const MOST_TAIL = 4_000;

/** A run for a writer: the counts, and what failed and why; without a report, the end of the output. */
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
