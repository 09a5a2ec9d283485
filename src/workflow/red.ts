import type { GateEvidence } from '../core/gate.ts';
import { guardsIn } from '../documents/lld/guards.ts';
import { isGuard, namesScenario } from '../documents/lld/scenarios.ts';
import { readReview, unusableReview } from '../documents/review/reader.ts';
import { isGuardFinding } from '../documents/review/review.ts';
import { guardsParts } from '../prompts/writing-tasks.ts';
import { isRead, type TestCase, type TestRun } from '../testing/port.ts';
import { isRunnableTest } from '../testing/test-files.ts';
import { type Baseline, newTests } from '../verification/baseline.ts';
import { redGate } from '../verification/red.ts';
import { isForGuards, scenarioGate } from '../verification/scenario-tests.ts';
import { testTitle } from '../verification/test-key.ts';
import type { ImplementContext } from './implement-item.ts';
import type { TestRuns } from './test-runs.ts';

/** What the gates prove things with. */
export interface Proofs {
  runs: TestRuns;
  baseline: Baseline;
  guards: Guards;
}

/** The scenarios that hold before the code: by the LLD, or by the reviewer's answer. */
export interface Guards {
  readonly ids: ReadonlySet<string>;
  /**
   * Asks the reviewer about the scenarios whose tests all pass before the code, at most once about each. Returns notes for
   * the writer. `tree`: the tests as they were written.
   */
  ask(round: number, tests: readonly TestCase[], tree: string): Promise<string[]>;
  /** Those that are guards by the reviewer's answer, for the report. */
  found(): string[];
}

export function createGuards(context: ImplementContext): Guards {
  const { id, title, lld, prompts, ask, worktree, base, baseTree } = context;
  const ids = new Set(lld.scenarios.filter(isGuard).map((scenario) => scenario.id));
  const asked = new Set<string>();
  const found: string[] = [];

  return {
    ids,
    async ask(round, tests, tree) {
      const open = lld.scenarios.flatMap((scenario) => {
        const named = tests.filter(({ name, outcome }) => outcome !== 'skipped' && namesScenario(name, scenario.id));
        const isOpen = named.length > 0 && named.every(({ outcome }) => outcome === 'passed');
        return isOpen && !ids.has(scenario.id) && !asked.has(scenario.id) ? [{ ...scenario, tests: named }] : [];
      });
      if (open.length === 0) return [];
      for (const scenario of open) asked.add(scenario.id);
      const reply = await ask({
        step: `guards-${round}`,
        role: 'reviewer',
        system: prompts.fill('code-reviewer'),
        parts: guardsParts(prompts, {
          id,
          title,
          lld: lld.text,
          diff: await worktree.diff(baseTree, tree),
          scenarios: open.map((scenario) => ({ ...scenario, tests: scenario.tests.map(testTitle) })),
        }),
        at: { commit: base, tree },
        unusable: unusableReview,
      });
      const review = readReview(reply);
      const said = guardsIn(review, open);
      const isAll =
        said.length > 0 && lld.scenarios.every((one) => ids.has(one.id) || said.some((s) => s.id === one.id));
      if (isAll)
        return ['every scenario holds before the code, so that no test shows that it is written: one has to fail'];
      for (const scenario of said) {
        ids.add(scenario.id);
        found.push(`scenario ${scenario.id} (${scenario.scenario}) is a guard, by the reviewer: it holds already`);
      }
      const others = review.findings.filter((finding) => finding.tier < 3 && !isGuardFinding(finding));
      return others.map(({ text }) => `the reviewer says of these tests: ${text}`);
    },
    found: () => found,
  };
}

export interface Red {
  gates: GateEvidence[];
  /** Those written for this design. */
  tests: TestCase[];
  /** For the writer, besides the gates' problems. */
  notes: string[];
  /** Each of them was seen to pass before the code. */
  isGreen: boolean;
}

/** Runs the new tests before there is any code: guards have to pass, all others have to fail for the lack of it. */
export async function seeRed(
  { lld, worktree, baseTree, config, suite }: ImplementContext,
  { runs, baseline, guards }: Proofs,
  { tree, files, round }: { tree: string; files: readonly string[]; round: number },
): Promise<Red> {
  const { scenarios } = lld;
  const asked = { lacksCode: true, isFollowed: true };
  const run = await runs.after({ step: `red-${round}`, tree, ...asked, ...selection(files) });
  const tests = newTests(run, baseline, new Set(files));
  tests.push(...(await unseenGuards(tests)));
  // Under another policy a test that passes too early holds nothing back, and is not worth a paid question.
  const asks = config.implement.policy === 'strict';
  const notes = asks ? await guards.ask(round, tests, tree) : [];
  const pathsOf = (change: string): string[] =>
    lld.files.filter((file) => file.change === change).map((file) => file.path);
  const red = redGate({
    run,
    tests,
    baseline,
    scenarios,
    guards: guards.ids,
    changes: { added: pathsOf('Add'), modified: pathsOf('Modify') },
    // A stored run may be another machine's.
    worktree: run.directory ?? worktree.directory,
    folder: suite.folder,
  });
  red.details.unshift(...guards.found());
  if (!isRead(run)) return { gates: [red], tests, notes, isGreen: false };
  const notLoaded = new Map<string, string>();
  for (const file of run.loadFailures.length > 0 ? files : []) {
    if (isLoadedIn(run, file)) continue;
    notLoaded.set(file, newLines(await worktree.read(baseTree, file), (await worktree.read(tree, file)) ?? ''));
  }
  const named = scenarioGate({ scenarios, tests, notLoaded });
  const isLoaded = run.loadFailures.every(({ file }) => baseline.notLoaded.includes(file ?? ''));
  const isGreen = named.passed && isLoaded && tests.length > 0 && tests.every(({ outcome }) => outcome === 'passed');
  return { gates: [named, red], tests, notes, isGreen };

  /**
   * One test that needs missing code keeps a compiler from building any test of its package: the files that name guards
   * are then run without the others.
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
    const found = await runs.after({ step: `red-${round}-guards`, tree: alone, ...asked, ...selection(own) });
    return newTests(found, baseline, new Set(own)).filter((test) => isForGuards(test, scenarios, guards.ids));
  }
}

/** The files to run, if each can be given to a runner by name: a fixture or a helper can't. */
export function selection(files: readonly string[]): { files?: readonly string[] } {
  return files.every(isRunnableTest) ? { files } : {};
}

function isLoadedIn({ cases }: TestRun, file: string): boolean {
  return cases.some((test) => test.file === file);
}

/** The text with lines that were there before left empty, so that only new lines count and line numbers stay right. */
function newLines(before: string | null, text: string): string {
  const known = new Set(before?.split('\n') ?? []);
  return text
    .split('\n')
    .map((line) => (known.has(line) ? '' : line))
    .join('\n');
}
