import { AgentosError } from '../core/errors.ts';
import { cutMiddle } from '../core/reason.ts';
import { openCommit } from '../git/repository.ts';
import { isRead, type TestRun, type TestRunOptions, type TestSuite } from '../testing/port.ts';
import { mayHoldTests } from '../testing/test-files.ts';
import { type Baseline, baselineOf, loadWarning, whyNoBaseline } from '../verification/baseline.ts';
import { countsOfRun, whyNothingRan } from '../verification/test-key.ts';
import type { WorktreeContext } from './worktree-item.ts';

/** The tests of an item: what runs them, and how they were before anything was written. */
export interface Tests {
  suite: TestSuite;
  runs: TestRuns;
  baseline: Baseline;
}

/** Null if the policy is `off`: then no test runs. */
export async function openTests(context: WorktreeContext, suite: TestSuite): Promise<Tests | null> {
  if (context.config.implement.policy === 'off') return null;
  const runs = createTestRuns(context, suite);
  return { suite, runs, baseline: await readBaseline(context, suite, runs) };
}

interface RunTests extends Pick<TestRunOptions, 'files' | 'coverage' | 'lacksCode'> {
  /** The step's name: `red-1`. */
  step: string;
  /** The state of the worktree in which they run. */
  tree: string;
  /** Run the set-up for this state if it has not run. Otherwise the tests use what is installed. */
  installs?: boolean;
}

interface TestsRun extends TestRun {
  /** Files that git ignores, and that were removed before the tests ran. */
  dropped: string[];
  /** Where they ran, which their messages name; absent in a checkpoint of an older version. */
  directory?: string;
}

export type TestRuns = ReturnType<typeof createTestRuns>;

/** Keeps stored runs short. */
const MOST_MESSAGE = 4_000;

/**
 * Runs tests on one state of the worktree, as a durable step that ends only with a report that was read:
 *
 *   could not be started, killed – fails the attempt, which may work later; the writer is not to blame
 *   timed out                    – run once more; again: the written code hangs, which is reported to the writer
 *   no report                    – the same if the base still gives a report; otherwise as if it could not be started
 *
 * A failure without a report is stored as a step of its own, so that the writer's next call has the same prompt and is not
 * paid for again. It is used only if a new run has no report either.
 */
export function createTestRuns(
  context: Pick<WorktreeContext, 'worktree' | 'setUp' | 'baseTree' | 'step' | 'emit' | 'signal' | 'checkout'>,
  suite: TestSuite,
) {
  const { worktree, setUp, baseTree, step: durable, emit, signal, checkout } = context;
  const run = async (step: string, options: Omit<TestRunOptions, 'signal'>): Promise<TestRun> => {
    const found = await suite.run({ ...options, signal });
    const { command, outcome, exitCode, durationMs } = found;
    emit({ type: 'tests-ran', step, command, outcome, exitCode, counts: countsOfRun(found), durationMs });
    return found;
  };
  const inputsOf = ({ tree, files }: Pick<RunTests, 'tree' | 'files'>): unknown => ({
    tree,
    command: suite.command,
    files: files ?? null,
  });

  const runIn = async ({ step, tree, installs, ...options }: RunTests): Promise<TestsRun> => {
    await worktree.restore(tree);
    const dropped = await worktree.dropIgnored();
    if (installs) await setUp.ensure(tree);
    const { removed } = await setUp.same(tree);
    const found = await checkout.before(() => run(step, options));
    return { ...stored(found), dropped: [...dropped, ...removed], directory: worktree.directory };
  };

  return {
    /** The tests before anything is written. Fails if `refuse` gives a reason. */
    async baseline(refuse: (run: TestRun) => Promise<string | null>): Promise<TestRun> {
      const step = 'baseline';
      // Nothing is written yet: no agent has to be guarded against, and no file removed.
      const { value } = await durable({ name: step, inputs: inputsOf({ tree: baseTree }) }, async () => {
        await worktree.restore(baseTree);
        suite.buildFirst?.(false);
        if (suite.fetchesFirst) {
          await suite.run({ signal, fetches: true });
          await worktree.restore(baseTree);
        }
        const first = await run(step, {});
        const plain = first.outcome === 'timed-out' ? await run(step, {}) : first;
        const { found, builds } = await builtIfNeeded(plain);
        if (!isRead(found)) throw cannotRun(found);
        const why = await refuse(found);
        if (why !== null) throw new AgentosError({ code: 'tests-cannot-run', command: found.command, detail: why });
        await setUp.afterBaseline();
        return { run: { ...stored(found), dropped: [] }, builds };
      });
      suite.buildFirst?.(value.builds);
      return value.run;

      /** Files that can't be loaded may need a build. */
      async function builtIfNeeded(plain: TestRun): Promise<{ found: TestRun; builds: boolean }> {
        const isRefused = isRead(plain) ? (await refuse(plain)) !== null : plain.outcome === 'no-report';
        if (suite.buildFirst === undefined || (!isRefused && plain.loadFailures.length === 0))
          return { found: plain, builds: false };
        suite.buildFirst(true);
        const built = await run(step, {});
        const builds = isRead(built) && countsOfRun(built).passed > countsOfRun(plain).passed;
        if (builds) emit({ type: 'notice', text: `the tests need a build before them: ${built.command}` });
        return { found: builds || (isRefused && isRead(built)) ? built : plain, builds };
      }
    },

    /** `isFollowed`: another check of the checkout follows soon, and covers this run. */
    async after({ isFollowed = false, ...asked }: RunTests & { isFollowed?: boolean }): Promise<TestsRun> {
      const { step } = asked;
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

    /** A single run, with or without a report, that is not a step. */
    once: runIn,
  };
}

function cannotRun(run: TestRun): AgentosError {
  return new AgentosError(
    { code: 'tests-cannot-run', command: run.command, detail: whyNothingRan(run) ?? 'no report was read' },
    // Another attempt would time out as well.
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

/** For the writer. */
export function ignoredNote(dropped: readonly string[]): string[] {
  return dropped.length === 0
    ? []
    : [
        `git ignores these files, so they are not part of the branch and were removed: ${dropped.slice(0, 20).join(', ')}`,
      ];
}

/** The tests of the base: a test that failed before is not blamed on a change. */
async function readBaseline(context: WorktreeContext, suite: TestSuite, runs: TestRuns): Promise<Baseline> {
  const { git, base, emit } = context;
  const run = await runs.baseline(async (found) => {
    const paths = found.outcome === 'no-tests' ? (await openCommit(git, base)).paths : [];
    const testFiles = paths.filter((path) => suite.isTestFile(path) && mayHoldTests(path));
    return whyNoBaseline(found, suite.runner, testFiles);
  });
  const warning = loadWarning(run);
  if (warning !== null) emit({ type: 'notice', text: warning });
  return baselineOf(run);
}
