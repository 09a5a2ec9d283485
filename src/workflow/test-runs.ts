import { AgentosError } from '../core/errors.ts';
import { cutMiddle } from '../core/reason.ts';
import { isRead, type TestRun } from '../testing/port.ts';
import { countsOfRun, whyNothingRan } from '../verification/test-key.ts';
import type { ImplementContext } from './implement-item.ts';

export type TestRunsContext = Pick<
  ImplementContext,
  'suite' | 'worktree' | 'setUp' | 'baseTree' | 'step' | 'emit' | 'signal' | 'checkout'
>;

export interface RunTests {
  /** The step's name: `red-1`. */
  step: string;
  /** The state of the worktree in which they run. */
  tree: string;
  files?: readonly string[];
  coverage?: boolean;
  /** The code is not there yet, or was taken out again. */
  lacksCode?: boolean;
  /** Install what the state needs, where that is not installed. Without it the tests run with what is. */
  installs?: boolean;
  /** Another check of the checkout follows soon, and covers this run. */
  isFollowed?: boolean;
}

export interface TestsRun extends TestRun {
  /** Files that git ignores, and that were removed before the tests ran. */
  dropped: string[];
  /** Where they ran, which their messages name; absent in a checkpoint of an older version. */
  directory?: string;
}

export interface TestRuns {
  /** The tests before anything is written. Fails where `refuse` says why nothing can be built on them. */
  baseline(refuse: (run: TestRun) => Promise<string | null>): Promise<TestRun>;
  after(run: RunTests): Promise<TestsRun>;
  /** One run, whatever comes of it: no step, and made only once. */
  once(run: RunTests): Promise<TestsRun>;
}

/** Keeps stored runs short. */
const MOST_MESSAGE = 4_000;

/**
 * Runs tests on one state of the worktree, as a durable step that ends only with a report that was read:
 *
 *   could not be started, killed – fails the attempt, which may work later; the writer is not to blame
 *   timed out                    – run once more; again: the written code hangs, which is reported to the writer
 *   no report                    – the same if the base still gives a report; otherwise as if it could not be started
 *
 * A failure without a report is stored under a step of its own, so that the same call is not paid for again. It counts
 * only as long as a new run has no report either.
 */
export function createTestRuns(context: TestRunsContext): TestRuns {
  const { suite, worktree, setUp, baseTree, step: durable, emit, signal, checkout } = context;

  const runOnce = async (step: string, run: () => Promise<TestRun>): Promise<TestRun> => {
    const found = await run();
    const { command, outcome, exitCode, durationMs } = found;
    emit({ type: 'tests-ran', step, command, outcome, exitCode, counts: countsOfRun(found), durationMs });
    return found;
  };
  const inputsOf = ({ tree, files }: Pick<RunTests, 'tree' | 'files'>): unknown => ({
    tree,
    command: suite.command,
    files: files ?? null,
  });

  const runIn = async ({
    step,
    tree,
    files,
    coverage,
    lacksCode = false,
    installs = false,
  }: RunTests): Promise<TestsRun> => {
    await worktree.restore(tree);
    const dropped = await worktree.dropIgnored();
    if (installs) await setUp.ensure(tree);
    const { removed } = await setUp.same(tree);
    const wish = {
      lacksCode,
      ...(files === undefined ? {} : { files }),
      ...(coverage === undefined ? {} : { coverage }),
    };
    const found = await runOnce(step, () => checkout.before(() => suite.run({ ...wish, signal })));
    return { ...stored(found), dropped: [...dropped, ...removed], directory: worktree.directory };
  };

  return {
    async baseline(refuse) {
      const step = 'baseline';
      // Nothing is written yet, so that there is nothing to guard against and nothing to remove.
      const run = (): Promise<TestRun> => runOnce(step, () => suite.run({ signal }));
      const { value } = await durable({ name: step, inputs: inputsOf({ tree: baseTree }) }, async () => {
        await worktree.restore(baseTree);
        if (suite.fetchesFirst) {
          await suite.run({ signal, fetches: true });
          await worktree.restore(baseTree);
        }
        const first = await run();
        const found = first.outcome === 'timed-out' ? await run() : first;
        if (!isRead(found)) throw cannotRun(found);
        const why = await refuse(found);
        if (why !== null) throw new AgentosError({ code: 'tests-cannot-run', command: found.command, detail: why });
        await setUp.afterBaseline();
        return { run: { ...stored(found), dropped: [] } };
      });
      return value.run;
    },

    async after(asked) {
      const { step, isFollowed = false } = asked;
      const inputs = inputsOf(asked);
      let unread: TestsRun | null = null;
      const read = async (): Promise<TestsRun> => {
        const first = await runIn(asked);
        if (isRead(first)) return first;
        if (first.outcome === 'could-not-run' || first.outcome === 'killed') throw cannotRun(first);
        if (first.outcome === 'no-report') {
          const before = await runIn({ step: `${step}-base`, tree: baseTree });
          if (!isRead(before)) throw cannotRun(before);
        }
        const second = await runIn(asked);
        if (isRead(second)) return second;
        if (second.outcome === first.outcome || second.outcome === 'timed-out') unread = second;
        throw cannotRun(second);
      };
      const runStep = async (): Promise<TestsRun> => {
        try {
          return (await durable({ name: step, inputs }, async () => ({ run: await read() }))).value.run;
        } catch (error) {
          const run: TestsRun | null = unread;
          if (run === null) throw error;
          return (await durable({ name: `${step}-unread`, inputs }, async () => ({ run }))).value.run;
        }
      };
      return isFollowed ? runStep() : checkout.checked(runStep);
    },

    once: runIn,
  };
}

function cannotRun(run: TestRun): AgentosError {
  return new AgentosError(
    { code: 'tests-cannot-run', command: run.command, detail: whyNothingRan(run) ?? 'no report was read' },
    // Waiting as long once more would end the same way.
    { retry: run.outcome === 'timed-out' ? 'ceiling' : 'transient' },
  );
}

function stored(run: TestRun): TestRun {
  const shortened = (text: string): string => cutMiddle(text, MOST_MESSAGE);
  return {
    ...run,
    tail: shortened(run.tail),
    cases: run.cases.map((test) => ({ ...test, message: test.message === null ? null : shortened(test.message) })),
    loadFailures: run.loadFailures.map(({ file, message }) => ({ file, message: shortened(message) })),
  };
}
