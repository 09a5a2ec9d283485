import type { ItemEvent } from '../core/events.ts';
import type { TestRun, TestSuite } from '../testing/port.ts';
import { countsOfRun } from '../verification/test-key.ts';
import type { Worktree } from '../workspace/worktree.ts';
import type { Durable } from './durable.ts';
import type { OutsideWatch } from './outside-watch.ts';

export interface TestsOptions {
  suite: TestSuite;
  worktree: Worktree;
  durable: Durable;
  emit: (event: ItemEvent) => void;
  signal: AbortSignal;
  /** Tests run the code that was written, and that may do anything. */
  outside: OutsideWatch;
}

export interface RunTests {
  /** The step's name: `red-1`. */
  step: string;
  /** The state of the worktree in which they run. */
  tree: string;
  files?: readonly string[];
  coverage?: boolean;
  /** Nobody has written anything yet: there is nothing to watch and nothing to remove. */
  isUntouched?: boolean;
  /** Something is checked soon afterwards, and with it what was changed outside by this run. */
  isFollowed?: boolean;
}

export interface TestsRun extends TestRun {
  /** Files that git ignores, and that were removed before the tests ran. */
  dropped: string[];
}

/** A stored run is long: of those that passed, neither what they said nor what was printed is needed again. */
const MOST_MESSAGE = 4_000;

/** Runs tests on one state of the worktree, as a durable step. */
export function createTestRuns({ suite, worktree, durable, emit, signal, outside }: TestsOptions) {
  return async ({
    step,
    tree,
    files,
    coverage,
    isUntouched = false,
    isFollowed = false,
  }: RunTests): Promise<TestsRun> => {
    const { value } = await durable(
      { name: step, inputs: { tree, command: suite.command, files: files ?? null } },
      async () => {
        await worktree.restore(tree);
        const dropped = isUntouched ? [] : await worktree.dropIgnored();
        const runSuite = (): Promise<TestRun> =>
          suite.run({
            ...(files === undefined ? {} : { files }),
            ...(coverage === undefined ? {} : { coverage }),
            signal,
          });
        const run = isUntouched
          ? await runSuite()
          : await (isFollowed ? outside.before(runSuite) : outside.during(runSuite));
        emit({
          type: 'tests-ran',
          step,
          command: run.command,
          outcome: run.outcome,
          exitCode: run.exitCode,
          counts: countsOfRun(run),
          durationMs: run.durationMs,
        });
        return { run: { ...stored(run), dropped } };
      },
    );
    return value.run;
  };
}

function stored(run: TestRun): TestRun {
  const shortened = (text: string): string => (text.length > MOST_MESSAGE ? `${text.slice(0, MOST_MESSAGE)} …` : text);
  return {
    ...run,
    tail: run.tail.slice(-MOST_MESSAGE),
    cases: run.cases.map((test) => ({ ...test, message: test.message === null ? null : shortened(test.message) })),
    loadFailures: run.loadFailures.map(({ file, message }) => ({ file, message: shortened(message) })),
  };
}
