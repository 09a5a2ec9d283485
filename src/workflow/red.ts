import type { GateEvidence } from '../core/gate.ts';
import { guardsIn } from '../documents/lld/guards.ts';
import { isGuard, type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import { readReview } from '../documents/review/reader.ts';
import { isGuardFinding } from '../documents/review/review.ts';
import { boundedDiff } from '../prompts/bounded-diff.ts';
import { tagged, taggedList } from '../prompts/tags.ts';
import { isRead, type TestCase, type TestRun } from '../testing/port.ts';
import { isRunnableTest } from '../testing/test-files.ts';
import { newTests } from '../verification/baseline.ts';
import { redGate } from '../verification/red.ts';
import { isForGuards, scenarioGate } from '../verification/scenario-tests.ts';
import { testTitle } from '../verification/test-key.ts';
import { askReviewer, MOST_DIFF_CHARS } from './code-review.ts';
import type { Tests } from './test-runs.ts';
import type { ImplementContext } from './worktree-item.ts';

export type Guards = ReturnType<typeof createGuards>;

/** The scenarios that hold before the code: by the LLD, or by the reviewer's answer. */
export function createGuards(context: ImplementContext) {
  const { id, title, lld, prompts, worktree, baseTree } = context;
  const ids = new Set(lld.scenarios.filter(isGuard).map((scenario) => scenario.id));
  const asked = new Set<string>();
  const found: string[] = [];

  return {
    ids,
    /** Asks the reviewer about each scenario whose tests all pass before the code, once. Returns notes for the writer. */
    async ask(round: number, tests: readonly TestCase[], tree: string): Promise<string[]> {
      const open = lld.scenarios.flatMap((scenario) => {
        const named = tests.filter(({ name, outcome }) => outcome !== 'skipped' && namesScenario(name, scenario.id));
        const isOpen = named.length > 0 && named.every(({ outcome }) => outcome === 'passed');
        return isOpen && !ids.has(scenario.id) && !asked.has(scenario.id) ? [{ ...scenario, tests: named }] : [];
      });
      if (open.length === 0) return [];
      for (const scenario of open) asked.add(scenario.id);
      const list = open.map((scenario) => {
        const titles = scenario.tests.map(testTitle);
        return `${scenarioLine(scenario)}. Passing: ${titles.join(', ')}`;
      });
      const reply = await askReviewer(context, `guards-${round}`, tree, [
        tagged('tests', boundedDiff(await worktree.diff(baseTree, tree), MOST_DIFF_CHARS)),
        prompts.fill('guards', { id, title, scenarios: taggedList('scenarios', list) ?? '' }),
      ]);
      const review = readReview(reply);
      const said = guardsIn(review, open);
      const isAll =
        said.length > 0 && lld.scenarios.every((one) => ids.has(one.id) || said.some((s) => s.id === one.id));
      if (isAll)
        return ['every scenario holds before the code, so no test can show that it is written: one has to fail'];
      for (const scenario of said) {
        ids.add(scenario.id);
        found.push(`scenario ${scenario.id} (${scenario.scenario}) is a guard, by the reviewer: it holds already`);
      }
      const others = review.findings.filter((finding) => finding.tier < 3 && !isGuardFinding(finding));
      return others.map(({ text }) => `the reviewer says of these tests: ${text}`);
    },
    /** Those that are guards by the reviewer's answer, for the report. */
    found: () => found,
  };
}

export function scenarioLine({ id, scenario, pass }: Pick<LldScenario, 'id' | 'scenario' | 'pass'>): string {
  return `${id} ${scenario}${pass === '' ? '' : `. Passes when: ${pass}`}`;
}

interface Red {
  gates: GateEvidence[];
  /** The new tests. */
  tests: TestCase[];
  /** For the writer, in addition to the gates' problems. */
  notes: string[];
  /** All new tests pass before the code. */
  isGreen: boolean;
}

/** Runs the new tests before the code is written: guards have to pass, all others have to fail because the code is missing. */
export async function checkRed(
  { lld, worktree, baseTree, config, suite }: ImplementContext,
  { runs, baseline }: Tests,
  guards: Guards,
  { tree, files, round }: { tree: string; files: readonly string[]; round: number },
): Promise<Red> {
  const { scenarios } = lld;
  const asked = { lacksCode: true, isFollowed: true };
  const run = await runs.after({ step: `red-${round}`, tree, ...asked, ...selection(files) });
  const tests = newTests(run, baseline, new Set(files));
  tests.push(...(await unseenGuards(tests)));
  // Under `verify` a test that passes too early is only reported, which is not worth a paid question.
  const notes = config.implement.policy === 'strict' ? await guards.ask(round, tests, tree) : [];
  const pathsOf = (change: string): string[] =>
    lld.files.filter((file) => file.change === change).map((file) => file.path);
  const red = redGate({
    run,
    tests,
    files,
    baseline,
    scenarios,
    guards: guards.ids,
    changes: { added: pathsOf('Add'), modified: pathsOf('Modify') },
    // A stored run may be from another machine.
    worktree: run.directory ?? worktree.directory,
    folders: suite.folders,
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

  /** A compiler builds no test of a package if one needs missing code: then the files that name guards run without the others. */
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

/** The files to run, if a runner takes all of them by name: a fixture or a helper is not a test. */
export function selection(files: readonly string[]): { files?: readonly string[] } {
  return files.every(isRunnableTest) ? { files } : {};
}

function isLoadedIn({ cases }: TestRun, file: string): boolean {
  return cases.some((test) => test.file === file);
}

/** The text with old lines left empty, so that only new lines count and line numbers stay the same. */
function newLines(before: string | null, text: string): string {
  const known = new Set(before?.split('\n') ?? []);
  return text
    .split('\n')
    .map((line) => (known.has(line) ? '' : line))
    .join('\n');
}
