import type { GateEvidence } from '../core/gate.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import { namesScenario } from '../documents/lld/scenarios.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import { isRead, type TestCase, type TestRun } from '../testing/port.ts';
import type { Baseline } from '../verification/baseline.ts';
import { newTests } from '../verification/new-tests.ts';
import { redGate } from '../verification/red.ts';
import { isForGuards, scenarioGate } from '../verification/scenario-tests.ts';
import type { Guards } from './implement-guards.ts';
import type { TestRuns } from './implement-tests.ts';

export interface RedOptions {
  lld: LldDocument;
  runs: TestRuns;
  worktree: Worktree;
  baseTree: string;
  baseline: Baseline;
  guards: Guards;
  /** Whether it is worth asking the reviewer about tests that pass. */
  asks: boolean;
}

export interface Red {
  gates: GateEvidence[];
  /** Those written for this design. */
  tests: TestCase[];
  /** What the writer is told besides. */
  told: string[];
}

/** Runs the new tests before there is any code, and says of each whether it is as it has to be. */
export async function seeRed(
  { lld, runs, worktree, baseTree, baseline, guards, asks }: RedOptions,
  { tree, files, round }: { tree: string; files: readonly string[]; round: number },
): Promise<Red> {
  const { scenarios } = lld;
  const run = await runs.after({ step: `red-${round}`, tree, isFollowed: true, ...selection(files) });
  const tests = newTests(run, baseline, new Set(files));
  tests.push(...(await unseenGuards(tests)));
  const told = asks ? await guards.ask(round, tests, () => worktree.diff(baseTree, tree)) : [];
  const pathsOf = (change: string): string[] =>
    lld.files.filter((file) => file.change === change).map((file) => file.path);
  const red = redGate({
    run,
    tests,
    baseline,
    scenarios,
    guards: guards.ids,
    changes: { added: pathsOf('Add'), modified: pathsOf('Modify') },
    worktree: worktree.directory,
  });
  red.details.unshift(...guards.found());
  if (!isRead(run)) return { gates: [red], tests, told };
  const notLoaded = new Map<string, string>();
  for (const file of run.loadFailures.length > 0 ? files : []) {
    if (isLoadedIn(run, file)) continue;
    notLoaded.set(file, newLines(await worktree.read(baseTree, file), (await worktree.read(tree, file)) ?? ''));
  }
  return { gates: [scenarioGate({ scenarios, tests, notLoaded }), red], tests, told };

  /**
   * A compiler gives up all tests of a package for one that needs what is missing: the files that name guards are then run
   * without the others.
   */
  async function unseenGuards(seen: readonly TestCase[]): Promise<TestCase[]> {
    const unseen = scenarios.filter(
      ({ id }) => guards.ids.has(id) && !seen.some(({ name }) => namesScenario(name, id)),
    );
    if (unseen.length === 0 || run.loadFailures.length === 0) return [];
    const texts = await Promise.all(files.map(async (file) => (await worktree.read(tree, file)) ?? ''));
    const own = files.filter((_, at) => unseen.some(({ id }) => namesScenario(texts[at] ?? '', id)));
    const others = files.filter((file) => !own.includes(file));
    if (own.length === 0 || others.length === 0) return [];
    const alone = await worktree.withPathsFrom(tree, baseTree, others);
    const found = await runs.after({ step: `red-${round}-guards`, tree: alone, isFollowed: true, ...selection(own) });
    return newTests(found, baseline, new Set(own)).filter((test) => isForGuards(test, scenarios, guards.ids));
  }
}

/** The files to run, where each of them can be given to a runner by name: a fixture or a helper can't. */
export function selection(files: readonly string[]): { files?: readonly string[] } {
  return files.every(isPlainTest) ? { files } : {};
}

function isPlainTest(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return (
    /[.](test|spec)[.][cm]?[jt]sx?$|^test_.*[.]py$|_test[.](py|go)$/.test(name) || /^tests\/[^/]+[.]rs$/.test(path)
  );
}

function isLoadedIn({ cases }: TestRun, file: string): boolean {
  return cases.some((test) => test.file === file);
}

/** The lines that were there before are left empty: what they say is not about this design, and numbers keep their meaning. */
function newLines(before: string | null, text: string): string {
  const known = new Set(before?.split('\n') ?? []);
  return text
    .split('\n')
    .map((line) => (known.has(line) ? '' : line))
    .join('\n');
}
