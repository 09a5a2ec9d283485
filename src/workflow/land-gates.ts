import type { GateEvidence } from '../core/gate.ts';
import { oneLine } from '../documents/implementation/markdown-text.ts';
import type { TestCase } from '../testing/port.ts';
import { brokenIn } from '../verification/combination.ts';
import { type CoverageTarget, coverageGate } from '../verification/coverage.ts';
import { reverseGate } from '../verification/green.ts';
import { evidenceOf } from '../verification/test-key.ts';
import type { Conflicting, LandContext, ReportedBranch } from './land-item.ts';
import { type LandTests, passedIn, unlessSetUp } from './land-tests.ts';
import type { TestRuns } from './test-runs.ts';
import type { Judgement, Writing } from './writing.ts';

interface Sides extends Conflicting {
  /** What it is in conflict with. */
  others: readonly ReportedBranch[];
  target: CoverageTarget | null;
}

const MARKER = /^(?:<{7}|>{7}) /m;

/** The gates of both sides, for a state in which a conflict is settled. */
export function conflictGates(
  context: LandContext,
  tests: LandTests | null,
  { ours, branch, merge, others, target }: Sides,
): Writing['judge'] {
  const { worktree, emit, config, suite, portable } = context;
  const paths = merge.conflicts.map(({ path }) => path);
  const isTest = (path: string): boolean => suite?.isTestFile(path) ?? false;
  const all = [...ours.branches, branch];
  const facts = {
    proven: all.flatMap(({ proven }) => proven.map(({ name }) => name)),
    changed: new Set(all.flatMap(({ files }) => files)),
  };

  const judgement = (tree: string, found: readonly GateEvidence[], round: number): Judgement => {
    for (const evidence of found) emit({ type: 'gate-checked', round, ...evidence });
    const isBinding = ({ gate }: GateEvidence): boolean => config.implement.policy === 'strict' || gate === 'green';
    const failing = found.filter((evidence) => !evidence.passed && isBinding(evidence));
    const names = failing.map(({ gate }) => gate).join(' and ');
    return { tree, problems: failing.flatMap(({ problems }) => problems), gate: `gate ${names}` };
  };

  /** With the code of one side taken out, its tests fail. Asked only if a test file had to be written for both. */
  const reverse = async (runs: TestRuns, tree: string, step: string, cases: readonly TestCase[]) => {
    const found: GateEvidence[] = [];
    if (!paths.some(isTest)) return found;
    const sides = [
      { without: ours.tree, of: [branch] },
      { without: await worktree.treeOf(branch.commit), of: others },
    ];
    for (const [at, { without, of }] of sides.entries()) {
      const names = new Set(of.flatMap(({ proven }) => proven.filter((one) => !one.isGuard).map(({ name }) => name)));
      const asked = cases.filter(({ name }) => names.has(oneLine(name)));
      if (asked.length === 0) continue;
      const code = (await worktree.changes(without, tree)).map(({ path }) => path).filter((path) => !isTest(path));
      const taken = await worktree.withPathsFrom(tree, without, code);
      found.push(reverseGate(await runs.after({ step: `reverse-${step}-${at + 1}`, tree: taken }), asked));
    }
    return found;
  };

  return async (tree, step, round) => {
    const texts = await Promise.all(paths.map((path) => worktree.read(tree, path)));
    const marked = paths.filter((_, at) => MARKER.test(texts[at] ?? ''));
    if (marked.length > 0)
      return { tree, problems: marked.map((path) => `${path} still has conflict markers`), gate: 'conflict' };
    if (tests === null) return { tree, problems: [], gate: '' };
    const { runs, baseline } = tests;
    const asked = { step: `green-${step}`, tree, coverage: true, installs: true };
    const run = await runs.after(asked).catch(unlessSetUp);
    if (typeof run === 'string') return { tree, problems: [run], gate: 'set-up' };
    const problems = brokenIn(run, { ...facts, baseline }).map(({ text }) => portable(text));
    const green = evidenceOf('green', run, { summary: passedIn(run), problems });
    if (!green.passed) return judgement(tree, [green], round);
    const covered = coverageGate(run, new Set(paths.filter((path) => !isTest(path))), target);
    return judgement(tree, [green, covered, ...(await reverse(runs, tree, step, run.cases))], round);
  };
}
