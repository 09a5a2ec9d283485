import type { GateEvidence } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import { namesScenario } from '../documents/lld/scenarios.ts';
import type { TreeChange } from '../git/worktree/worktree.ts';
import { isRead, type TestRun } from '../testing/port.ts';
import { newTests } from '../verification/baseline.ts';
import { coverageGate } from '../verification/coverage.ts';
import { type GreenFacts, greenGate, reverseGate, unsteadyTests, withOutcomesOf } from '../verification/green.ts';
import type { CoverageFacts, FrozenFile, ScenarioTests } from '../verification/report.ts';
import { isForGuards } from '../verification/scenario-tests.ts';
import { evidenceOf, testKey, testTitle } from '../verification/test-key.ts';
import { ALWAYS, type Rule, type Undone, unaskedRule } from './forbidden.ts';
import { coverageTarget, createGateLog, type GateLog } from './judging.ts';
import { checkRed, type Guards, selection } from './red.ts';
import { ignoredNote, type Tests } from './test-runs.ts';
import type { ImplementContext } from './worktree-item.ts';
import type { Writing } from './writing.ts';

export interface Gates extends Pick<GateLog, 'evidence' | 'undone'> {
  judgeTests: Writing['judge'];
  judgeCode(testsTree: string): Writing['judge'];
  /** Undoes changes of a revision to other files than these, new ones, and those that failures name. */
  limitRevision(start: string, mayChange: readonly string[]): NonNullable<Writing['limit']>;
  /** What the last green tree proved. */
  proven(): Proven;
}

interface Proven {
  scenarios: ScenarioTests[];
  frozen: FrozenFile[];
  coverage: CoverageFacts;
}

const FROZEN = 'the tests are frozen while the code is written';

/** Judges an implementation by its files alone, never by what the writer says. Without tests, nothing is checked. */
export function createGates(context: ImplementContext, tests: Tests | null, guards: Guards): Gates {
  const { lld, suite, worktree, baseTree } = context;
  const gateLog = createGateLog(context);
  const { show, judge, allowed, undone } = gateLog;
  let redKeys: ReadonlySet<string> = new Set();
  let proven: Proven = { scenarios: [], frozen: [], coverage: { target: null, files: null } };

  const deleted = new Set(lld.files.filter(({ change }) => change === 'Delete').map(({ path }) => path));
  const isPlanned = (path: string, kind: TreeChange['kind']): boolean =>
    lld.files.some(
      (file) =>
        (file.path === path || path.startsWith(`${file.path}/`)) && (kind !== 'deleted' || file.change === 'Delete'),
    );

  const testChanges = async (tree: string): Promise<TreeChange[]> =>
    (await worktree.changes(baseTree, tree)).filter(({ path }) => suite.isTestFile(path));
  const written = (changes: readonly TreeChange[]): Set<string> =>
    new Set(changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path));

  const isTest = ({ path }: TreeChange): boolean => suite.isTestFile(path);
  const testRules: readonly Rule[] = [
    ...ALWAYS,
    { name: '', why: 'only tests are written in this step', forbids: (change) => !isTest(change) },
    {
      name: '-old',
      why: 'the LLD does not change these tests',
      advice: 'the LLD does not change it; write new tests in files of their own',
      // A writer that could change any old test could make it pass with broken code.
      forbids: ({ path, kind }) => kind !== 'added' && !isPlanned(path, kind),
    },
  ];
  const codeRules: readonly Rule[] = [...ALWAYS, { name: '', why: FROZEN, forbids: isTest }];

  return {
    async judgeTests(left, step, round) {
      const { tree, notes } = await allowed(left, baseTree, step, testRules);
      if (tests === null) return { tree, problems: [], gate: 'gate tests' };
      const changes = await testChanges(tree);
      if (written(changes).size === 0) {
        const none = evidenceOf('tests', null, { problems: ['no test was written'] });
        return judge(tree, [show(none, round)], notes);
      }
      const red = await checkRed(context, tests, guards, { tree, files: [...written(changes)], round });
      redKeys = new Set(red.tests.map(testKey));
      const gates = red.gates.map((evidence) => show(evidence, round));
      const judged = judge(tree, gates, [...notes, ...red.notes]);
      return red.isGreen ? { ...judged, passing: red.tests.map(testTitle) } : judged;
    },

    judgeCode: (testsTree) => async (left, step, round) => {
      const { tree, notes } = await allowed(left, testsTree, step, codeRules);
      if (tests === null) return { tree, problems: [], gate: 'gate green' };
      const { runs, baseline } = tests;
      const frozen = await testChanges(testsTree);
      const frozenFiles = await hashesOf(context, testsTree, frozen);
      show(frozenEvidence(frozenFiles, undone()), round);
      const changes = await worktree.changes(testsTree, tree);
      if (changes.length === 0) {
        const none = evidenceOf('green', null, { problems: ['no file was changed'] });
        return judge(tree, [show({ ...none, command: suite.command }, round)]);
      }
      const name = step.replace(/^code-/, '');
      const asked = { tree, installs: true, isFollowed: true };
      const first = await runs.after({ step: `green-${name}`, coverage: true, ...asked });
      const factsOf = (found: TestRun): GreenFacts => {
        const fresh = newTests(found, baseline, written(frozen));
        const cases = found.cases.filter((test) => fresh.includes(test) || redKeys.has(testKey(test)));
        const files = [...written(frozen)];
        return { run: found, tests: cases, files, baseline, scenarios: lld.scenarios, deleted };
      };
      const ranAgain = unsteadyTests(factsOf(first));
      const second = ranAgain.length === 0 ? null : await runs.after({ step: `green-${name}-again`, ...asked });
      const run = second === null || !isRead(second) ? first : { ...first, ...withOutcomesOf(first, second, ranAgain) };
      const facts = factsOf(run);
      const green = show(greenGate({ ...facts, ranAgain }), round);
      if (!green.passed) return judge(tree, [green], [...ignoredNote(run.dropped), ...notes]);
      const target = coverageTarget(context, [lld]);
      proven = {
        scenarios: lld.scenarios.map(({ id, scenario }) => ({
          id,
          scenario,
          isGuard: guards.ids.has(id),
          tests: facts.tests.filter((test) => namesScenario(test.name, id)).map(({ name: test }) => test),
        })),
        frozen: frozenFiles,
        coverage: { target, files: run.coverage?.filter(({ file }) => written(changes).has(file)) ?? null },
      };
      const covered = show(coverageGate(run, written(changes), target), round);
      // With the code taken out, the worktree is what it was when the tests were frozen. A guard passes in it too.
      const mustFail = facts.tests.filter((test) => !isForGuards(test, lld.scenarios, guards.ids));
      const withoutCode = {
        step: `reverse-${name}`,
        tree: testsTree,
        lacksCode: true,
        ...selection([...written(frozen)]),
      };
      const reverse =
        mustFail.length === 0
          ? evidenceOf('reverse', null, { skipped: 'every scenario is a guard' })
          : reverseGate(await runs.after(withoutCode), mustFail);
      return judge(tree, [green, covered, show(reverse, round)]);
    },

    limitRevision: (start, mayChange) => async (left, step, failures) => {
      const reason = { why: 'no finding names these files', advice: 'no finding of the review names it' };
      const isAsked = ({ path, kind }: TreeChange): boolean => kind === 'added' || mayChange.includes(path);
      return allowed(left, start, step, [...codeRules, unaskedRule(reason, failures, isAsked)]);
    },

    evidence: gateLog.evidence,
    undone,
    proven: () => proven,
  };
}

async function hashesOf(
  { worktree }: ImplementContext,
  tree: string,
  frozen: readonly TreeChange[],
): Promise<FrozenFile[]> {
  const there = frozen.filter(({ kind }) => kind !== 'deleted');
  return Promise.all(
    there.map(async ({ path }) => ({ path, sha256: sha256((await worktree.read(tree, path)) ?? '') })),
  );
}

function frozenEvidence(files: readonly FrozenFile[], undone: readonly Undone[]): GateEvidence {
  const lines = files.map(({ path, sha256: hash }) => `${path}: ${hash}`);
  const touched = undone.filter(({ why }) => why === FROZEN);
  const evidence = evidenceOf('frozen', null, {
    summary: `${files.length} test ${files.length === 1 ? 'file is as it was' : 'files are as they were'}${touched.length === 0 ? '' : ', changes undone'}`,
    details: [...lines, ...touched.map(({ step, paths }) => `undone in ${step}: ${paths.join(', ')}`)],
  });
  return { ...evidence, hash: sha256(lines.join('\n')) };
}
