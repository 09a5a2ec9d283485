import { toErrorRecord } from '../core/errors.ts';
import { wordingOf } from '../core/wording.ts';
import { openCommit } from '../git/repository.ts';
import { joinedSuites } from '../testing/joined-suites.ts';
import type { TestRun, TestSuite } from '../testing/port.ts';
import { folderFiles } from '../testing/project.ts';
import { mayHoldTests } from '../testing/test-files.ts';
import { type Baseline, baselineOf, whyNoBaseline } from '../verification/baseline.ts';
import { type Broken, briefly, brokenIn } from '../verification/combination.ts';
import { testsFor } from './implement-base.ts';
import type { Combined, LandContext, LandParts } from './land-item.ts';
import { createTestRuns, type TestRuns } from './test-runs.ts';

/** The suites that the implementations were tested with: in a monorepo there may be one for each package. */
export async function openSuites(
  { landing, config, openSuite }: LandParts,
  directory: string,
): Promise<TestSuite | null> {
  if (config.implement.policy === 'off') return null;
  const suites = new Map<string, TestSuite>();
  for (const { files } of landing.branches) {
    const suite = await openSuite(await testsFor(folderFiles(directory), config, files, directory), files);
    suites.set(suite.command, suite);
  }
  const [first, ...others] = suites.values();
  return first === undefined ? null : joinedSuites([first, ...others]);
}

export interface LandTests {
  baseline: Baseline;
  runs: TestRuns;
  /** What is broken in a state and was not in the base; `again`: of a second run. */
  broken(state: Combined, again?: boolean): Promise<Broken[]>;
  /** The same, but only what is broken in two runs: what fails once is noted, and not blamed on anything from then on. */
  confirmed(state: Combined): Promise<Broken[]>;
}

/** Tests of the base first: what was red before is not blamed on a branch. Null: nothing is tested. */
export async function openLandTests(context: LandContext): Promise<LandTests | null> {
  const { suite, git, landing, emit } = context;
  if (suite === null) {
    emit({ type: 'notice', text: 'nothing is tested: implement.policy is off' });
    return null;
  }
  const runs = createTestRuns({ ...context, suite });
  const base = await runs.baseline(async (found) => {
    const paths = found.outcome === 'no-tests' ? (await openCommit(git, landing.base)).paths : [];
    const testFiles = paths.filter((path) => suite.isTestFile(path) && mayHoldTests(path));
    return whyNoBaseline(found, suite.runner, testFiles);
  });
  const baseline = baselineOf(base);
  const unstable = new Set<string>();
  const seen = new Map<string, Promise<Broken[]>>();

  const look = async ({ tree, branches }: Combined, again: boolean): Promise<Broken[]> => {
    const step = `tests-${tree.slice(0, 12)}${again ? '-again' : ''}`;
    const run = await runs.after({ step, tree, installs: true }).catch(unlessSetUp);
    if (typeof run === 'string') return [{ key: 'set-up', text: run }];
    const proven = branches.flatMap((branch) => branch.proven.map(({ name }) => name));
    return brokenIn(run, { baseline, proven, changed: new Set(branches.flatMap(({ files }) => files)) });
  };
  const broken = async (state: Combined, again = false): Promise<Broken[]> => {
    const key = `${state.tree} ${again}`;
    const found = seen.get(key) ?? look(state, again);
    seen.set(key, found);
    return (await found).filter((one) => !unstable.has(one.key));
  };

  return {
    baseline,
    runs,
    broken,
    async confirmed(state) {
      const first = await broken(state);
      if (first.length === 0) return [];
      const second = await broken(state, true);
      const keys = [first, second].map((found) => new Set(found.map(({ key }) => key)));
      const isBoth = ({ key }: Broken): boolean => keys.every((all) => all.has(key));
      for (const one of [...first, ...second].filter((found) => !isBoth(found))) {
        unstable.add(one.key);
        emit({ type: 'notice', text: `not the same in two runs, and not blamed on a branch: ${briefly(one.text)}` });
      }
      return first.filter(isBoth);
    },
  };
}

/** A set-up that fails with the branches together is broken by them, like a test. */
export function unlessSetUp(error: unknown): string {
  const { problem, retry } = toErrorRecord(error);
  if (problem.code !== 'setup-failed' || retry !== 'permanent') throw error;
  return wordingOf(problem).message;
}

/** For people: `12 tests pass`. */
export function passedIn(run: TestRun): string {
  const count = run.cases.filter(({ outcome }) => outcome === 'passed').length;
  return `${count} ${count === 1 ? 'test passes' : 'tests pass'}`;
}
