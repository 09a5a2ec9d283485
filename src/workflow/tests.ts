import type { WriteRequest, WritingPhase } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { cutMiddle } from '../core/reason.ts';
import { openCommit } from '../git/repository.ts';
import { isRead, type LoadFailure, type TestCase, type TestRun, type TestRunOptions } from '../testing/port.ts';
import { isRunnableTest, mayHoldTests } from '../testing/test-files.ts';
import {
  type Baseline,
  baselineOf,
  countOf,
  countsOfRun,
  loadWarning,
  testKey,
  testTitle,
  whyNoBaseline,
  whyNothingRan,
} from '../verification/test-results.ts';
import type { WorktreeContext } from './worktree-item.ts';

/** The tests of an item: what runs them, and how they were before anything was written. */
export type Tests = Pick<ReturnType<typeof createTestRuns>, 'run' | 'once'> & { baseline: Baseline };

/** Null if the policy is `off`: then no test runs. */
export async function openTests(context: WorktreeContext): Promise<Tests | null> {
  if (context.config.implement.policy === 'off') return null;
  const { git, base, suite, emit } = context;
  const { runBase, ...runs } = createTestRuns(context);
  const found = await runBase(async (run) => {
    const paths = run.outcome === 'no-tests' ? (await openCommit(git, base)).paths : [];
    const testFiles = paths.filter((path) => suite.isTestFile(path) && mayHoldTests(path));
    return whyNoBaseline(run, suite.runner, testFiles);
  });
  const warning = loadWarning(found);
  if (warning !== null) emit({ type: 'notice', text: warning });
  return { ...runs, baseline: baselineOf(found) };
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
  /** Where they ran, which their messages name: a stored run may be from another machine. */
  directory: string;
}

/** Keeps stored runs short. */
const MOST_STORED = 4_000;

/**
 * Runs tests on one state of the worktree, as a durable step:
 *
 *   could not be started, killed – fails the attempt, which may work later; the writer is not to blame
 *   timed out                    – run once more; again: the written code hangs, which is reported to the writer
 *   no report                    – the same if the base still gives a report; otherwise as if it could not be started
 *
 * A failure without a report is stored too, so that the writer's next call has the same prompt and is not paid for again.
 * Because its cause may be gone, the tests run once more when it is replayed, and a report counts.
 */
export function createTestRuns(
  context: Pick<WorktreeContext, 'suite' | 'worktree' | 'setUp' | 'baseTree' | 'step' | 'emit' | 'signal' | 'checkout'>,
) {
  const { suite, worktree, setUp, baseTree, step: durable, emit, signal, checkout } = context;
  const runSuite = async (step: string, options: Omit<TestRunOptions, 'signal'>): Promise<TestRun> => {
    const found = await suite.run({ ...options, signal });
    const { command, outcome, exitCode, durationMs } = found;
    emit({ type: 'tests-ran', step, command, outcome, exitCode, counts: countsOfRun(found), durationMs });
    return found;
  };
  const inputsOf = ({ tree, files = null }: { tree: string; files?: readonly string[] | null }): unknown => ({
    tree,
    command: suite.command,
    files,
  });

  const once = async ({ step, tree, installs = false, ...options }: RunTests): Promise<TestsRun> => {
    await worktree.restore(tree);
    const dropped = await worktree.dropIgnored();
    const removed = await setUp.prepare(tree, installs);
    const found = await checkout.before(() => runSuite(step, options));
    return { ...stored(found), dropped: [...dropped, ...removed], directory: worktree.directory };
  };

  return {
    /** A single run, with or without a report, that is not a step. */
    once,

    /** The tests before anything is written. Fails if `refuse` gives a reason. */
    runBase: async (refuse: (run: TestRun) => Promise<string | null>): Promise<TestRun> => {
      const step = 'baseline';
      // Nothing is written yet: no agent has to be guarded against, and no file removed.
      const { value } = await durable({ name: step, inputs: inputsOf({ tree: baseTree }) }, async () => {
        await worktree.restore(baseTree);
        suite.buildFirst?.(false);
        if (suite.fetchesFirst) {
          await suite.run({ signal, fetches: true });
          await worktree.restore(baseTree);
        }
        const first = await runSuite(step, {});
        const plain = first.outcome === 'timed-out' ? await runSuite(step, {}) : first;
        const { found, builds } = await builtIfNeeded(plain);
        if (!isRead(found)) throw cannotRun(found);
        const why = await refuse(found);
        if (why !== null) throw new AgentosError({ code: 'tests-cannot-run', command: found.command, detail: why });
        await setUp.afterBaseline();
        return { run: stored(found), builds };
      });
      suite.buildFirst?.(value.builds);
      return value.run;

      /** Files that can't be loaded may need a build. */
      async function builtIfNeeded(plain: TestRun): Promise<{ found: TestRun; builds: boolean }> {
        const isRefused = isRead(plain) ? (await refuse(plain)) !== null : plain.outcome === 'no-report';
        if (suite.buildFirst === undefined || (!isRefused && plain.loadFailures.length === 0))
          return { found: plain, builds: false };
        suite.buildFirst(true);
        const built = await runSuite(step, {});
        const builds = isRead(built) && countsOfRun(built).passed > countsOfRun(plain).passed;
        if (builds) emit({ type: 'notice', text: `the tests need a build before them: ${built.command}` });
        return { found: builds || (isRefused && isRead(built)) ? built : plain, builds };
      }
    },

    /** `isFollowed`: another check of the checkout follows soon, and covers this run. */
    run: async ({ isFollowed = false, ...asked }: RunTests & { isFollowed?: boolean }): Promise<TestsRun> => {
      const { step } = asked;
      const runTwice = async (): Promise<TestsRun> => {
        const first = await once(asked);
        if (isRead(first)) return first;
        if (first.outcome === 'could-not-run' || first.outcome === 'killed') throw cannotRun(first);
        if (first.outcome === 'no-report') {
          const before = await once({ step: `${step}-base`, tree: baseTree });
          if (!isRead(before)) throw cannotRun(before);
        }
        const second = await once(asked);
        if (isRead(second) || second.outcome === first.outcome || second.outcome === 'timed-out') return second;
        throw cannotRun(second);
      };
      const runStep = async (): Promise<TestsRun> => {
        const { value, replayed } = await durable({ name: step, inputs: inputsOf(asked) }, async () => ({
          run: await runTwice(),
        }));
        const again = replayed && !isRead(value.run) ? await once(asked) : value.run;
        return isRead(again) ? again : value.run;
      };
      return isFollowed ? runStep() : checkout.checked(runStep);
    },
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
  const shortened = (text: string): string => cutMiddle(text, MOST_STORED);
  return {
    ...run,
    tail: shortened(run.tail),
    cases: run.cases.map((test) => ({ ...test, message: test.message === null ? null : shortened(test.message) })),
    loadFailures: run.loadFailures.map(({ file, message }) => ({ file, message: shortened(message) })),
  };
}

/** The files to run, if a runner takes all of them by name: a fixture or a helper is not a test. */
export function selection(files: readonly string[]): { files?: readonly string[] } {
  return files.every(isRunnableTest) ? { files } : {};
}

/** For the writer. */
export function ignoredNote(dropped: readonly string[]): string[] {
  const what = 'git ignores these files, so they are not part of the branch and were removed';
  return dropped.length === 0 ? [] : [`${what}: ${dropped.slice(0, 20).join(', ')}`];
}

/** In one call of the writer. No run starts after all of them took as long as one run of the tests may take. */
const MOST_TRIALS = 10;

/**
 * Test runs for a writer while it works, in a call that began with the tree `start`. They prove nothing: the gates run the
 * tests again. Each is a durable step (`code-1-run-2`) with the text for the writer, because the same files may fail with
 * another message the next time. After it the worktree holds only the writer's files, also if the step was replayed.
 */
export function createTrials(
  context: Pick<WorktreeContext, 'suite' | 'worktree' | 'setUp' | 'journal' | 'config' | 'mask' | 'portable'>,
  { once, baseline }: Pick<Tests, 'once' | 'baseline'>,
  { step, phase, start }: { step: string; phase: WritingPhase; start: string },
): NonNullable<WriteRequest['runTests']> {
  const { suite, worktree, setUp, journal, config, mask, portable } = context;
  let count = 0;
  let spentMs = 0;
  const tryOut = async (name: string, tree: string, files: readonly string[] | null) => {
    // In the tests phase nothing is installed, as for the gates.
    const installs = phase === 'code';
    const installed = installs ? await setUp.afterWriting(start, tree, name) : { tree, problem: null };
    if (installed.problem !== null) return { text: installed.problem, summary: 'the set-up failed', durationMs: 0 };
    const run = await once({ step: name, tree: installed.tree, installs, ...(files === null ? {} : { files }) });
    const text = [describeTrial(run, baseline), ...ignoredNote(run.dropped)].join('\n\n');
    return { text: mask(portable(text)), summary: run.outcome, durationMs: run.durationMs };
  };

  return async (files) => {
    if (count >= MOST_TRIALS) return { refused: `the tests ran ${MOST_TRIALS} times already, the most for one call` };
    if (spentMs >= config.tests.timeoutMs) return { refused: 'the test runs of this call took too long already' };
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

const MOST_FAILURES = 10;
const MOST_CHARS = 1_500;

/** A run for a writer: the counts, and what failed and why; without a report, the end of the output. */
export function describeTrial(run: TestRun, baseline: Pick<Baseline, 'others' | 'notLoaded'>): string {
  const why = whyNothingRan(run);
  if (why !== null) return [`${why}.`, ...(isRead(run) ? [] : [run.tail])].join('\n\n');
  const { passed, failed, skipped, notLoaded } = countsOfRun(run);
  const counts = [
    `${passed} passed`,
    `${failed} failed`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(notLoaded > 0 ? [`${countOf(notLoaded, 'file')} could not be loaded`] : []),
  ];
  const described = (failure: LoadFailure | TestCase): string => {
    const isTest = 'name' in failure;
    const title = isTest ? `Failed: ${testTitle(failure)}` : `Not loaded: ${failure.file ?? 'a test file'}`;
    const isKnown = isTest
      ? baseline.others.includes(testKey(failure))
      : baseline.notLoaded.includes(failure.file ?? '');
    const lines = (failure.message ?? '').split('\n').filter((line) => line.trim() !== '');
    const text = [`${title}${isKnown ? ' (before your change too)' : ''}`, ...lines].join('\n  ');
    return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)} …` : text;
  };
  const failures = [...run.loadFailures, ...run.cases.filter(({ outcome }) => outcome === 'failed')];
  const left = failures.length - MOST_FAILURES;
  return [
    `${run.command}: ${counts.join(', ')}.`,
    ...failures.slice(0, MOST_FAILURES).map(described),
    ...(left > 0 ? [`… and ${left} more failures`] : []),
  ].join('\n\n');
}
