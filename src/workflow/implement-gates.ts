import type { GatePolicy } from '../core/config.ts';
import type { ItemEvent } from '../core/events.ts';
import type { GateEvidence, GateName } from '../core/gate.ts';
import type { CoverageFacts, FrozenFile, ScenarioTests } from '../documents/implementation/report.ts';
import { coverageTargetOf } from '../documents/lld/coverage-target.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import { namesScenario } from '../documents/lld/scenarios.ts';
import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';
import type { TestCase, TestSuite } from '../testing/port.ts';
import type { Baseline } from '../verification/baseline.ts';
import { type CoverageTarget, coverageGate } from '../verification/coverage.ts';
import { greenGate } from '../verification/green.ts';
import { newTests } from '../verification/new-tests.ts';
import { reverseGate } from '../verification/reverse.ts';
import { isForGuards } from '../verification/scenario-tests.ts';
import { testKey } from '../verification/test-key.ts';
import { FROZEN, frozenEvidence, hashesOf, type Undone } from './frozen-tests.ts';
import type { Guards } from './implement-guards.ts';
import { seeRed, selection } from './implement-red.ts';
import type { TestRuns } from './implement-tests.ts';
import { type Judgement, undo } from './implement-writing.ts';
import { strayLinks } from './stray-links.ts';

export interface GateOptions {
  lld: LldDocument;
  suite: TestSuite;
  runs: TestRuns;
  worktree: Worktree;
  baseTree: string;
  baseline: Baseline;
  guards: Guards;
  policy: GatePolicy;
  coverage: number | null;
  undoneFolder: string;
  emit: (event: ItemEvent) => void;
  mask: (text: string) => string;
}

export interface GateKeeper {
  judgeTests(tree: string, step: string, round: number): Promise<Judgement>;
  judgeCode(testsTree: string): (tree: string, step: string, round: number) => Promise<Judgement>;
  /** What each gate saw last, in their order. */
  evidence(): GateEvidence[];
  undone(): readonly Undone[];
  /** What the last accepted state was seen to have. */
  proven(): Proven;
}

export interface Proven {
  scenarios: ScenarioTests[];
  frozen: FrozenFile[];
  coverage: CoverageFacts;
}

const STRAY = 'a link that points out of the repository';
/** In the checkout these may be untracked: a branch that touches them could not be merged there. */
const DESIGNS = /^docs\/(?:lld\/LLD-|lineage\/)/;
const ORDER: readonly GateName[] = ['tests', 'red', 'frozen', 'green', 'coverage', 'reverse'];

/**
 * Looks at what was written, and at nothing that anybody says of it. Under `strict` every gate holds or the writer is
 * told what is wrong; under `verify` only green decides, and the others are reported; `off` looks at nothing.
 */
export function createGateKeeper(options: GateOptions): GateKeeper {
  const { lld, suite, runs, worktree, baseTree, baseline, guards, policy, emit } = options;
  const seen = new Map<GateName, GateEvidence>();
  const undone: Undone[] = [];
  let redKeys: ReadonlySet<string> = new Set();
  let proven: Proven = { scenarios: [], frozen: [], coverage: { target: null, files: null } };

  const show = (evidence: GateEvidence, round: number): GateEvidence => {
    seen.set(evidence.gate, evidence);
    emit({ type: 'gate-checked', round, ...evidence });
    return evidence;
  };
  const putBack = async (tree: string, source: string, paths: string[], step: string, why: string): Promise<string> => {
    if (paths.length > 0) undone.push({ step, paths, why });
    return undo(options, { tree, source, paths, step, why });
  };
  const binding = (evidence: GateEvidence): string[] =>
    policy === 'strict' || evidence.gate === 'green' ? evidence.problems : [];
  const judgement = (tree: string, gates: readonly GateEvidence[], told: readonly string[] = []): Judgement => {
    const failing = gates.filter((evidence) => binding(evidence).length > 0);
    return {
      tree,
      problems: failing.length === 0 ? [] : [...failing.flatMap((evidence) => evidence.problems), ...told],
      gate: `gate ${failing.map(({ gate }) => gate).join(' and ')}`,
    };
  };
  const filesOf = (change: 'Add' | 'Modify' | 'Delete'): string[] =>
    lld.files.filter((file) => file.change === change).map(({ path }) => path);
  const deleted = new Set(filesOf('Delete'));
  const isPlanned = (path: string, kind: TreeChange['kind']): boolean =>
    lld.files.some(
      (file) =>
        (file.path === path || path.startsWith(`${file.path}/`)) && (kind !== 'deleted' || file.change === 'Delete'),
    );

  const testChanges = async (tree: string): Promise<TreeChange[]> =>
    (await worktree.changes(baseTree, tree)).filter(({ path }) => suite.isTestFile(path));
  const written = (changes: readonly TreeChange[]): Set<string> =>
    new Set(changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path));

  const withoutDesigns = async (given: string, step: string): Promise<string> => {
    const paths = (await worktree.changes(baseTree, given))
      .map(({ path }) => path)
      .filter((path) => DESIGNS.test(path));
    return putBack(given, baseTree, paths, `${step}-designs`, 'designs are no part of an implementation');
  };

  return {
    async judgeTests(left, step, round) {
      const given = await withoutDesigns(left, step);
      if (policy === 'off') return { tree: given, problems: [], gate: 'gate tests' };
      const all = await worktree.changes(baseTree, given);
      const code = all.filter(({ path }) => !suite.isTestFile(path)).map(({ path }) => path);
      // Whoever may change an old test at will can make it pass over broken code.
      const old = all
        .filter(({ path, kind }) => suite.isTestFile(path) && kind !== 'added' && !isPlanned(path, kind))
        .map(({ path }) => path);
      const links = await strayLinks(worktree, given, all);
      const inside = await putBack(given, baseTree, links, `${step}-links`, STRAY);
      const onlyTests = await putBack(inside, baseTree, code, step, 'only tests are written in this step');
      const tree = await putBack(onlyTests, baseTree, old, `${step}-old`, 'the LLD does not change these tests');
      const told = [
        ...links.map((path) => `${path} was undone: ${STRAY}`),
        ...code.map((path) => `${path} was undone: only tests are written in this step`),
        ...old.map((path) => `${path} was undone: the LLD does not change it; write new tests in files of their own`),
      ];
      const changes = await testChanges(tree);
      if (written(changes).size === 0) {
        const none = show({ ...NO_TESTS, problems: ['no test was written'] }, round);
        return judgement(tree, [none], told);
      }
      const {
        gates,
        tests,
        told: more,
      } = await seeRed({ ...options, asks: policy === 'strict' }, { tree, files: [...written(changes)], round });
      redKeys = new Set(tests.map(testKey));
      return judgement(
        tree,
        gates.map((evidence) => show(evidence, round)),
        [...told, ...more],
      );
    },

    judgeCode: (testsTree) => async (left, step, round) => {
      const given = await withoutDesigns(left, step);
      if (policy === 'off') return { tree: given, problems: [], gate: 'gate green' };
      const all = await worktree.changes(testsTree, given);
      const links = await strayLinks(worktree, given, all);
      const inside = await putBack(given, testsTree, links, `${step}-links`, STRAY);
      const touched = all.filter(({ path }) => suite.isTestFile(path) && !links.includes(path));
      const tree = await putBack(
        inside,
        testsTree,
        touched.map(({ path }) => path),
        step,
        FROZEN,
      );
      const frozen = await testChanges(testsTree);
      const frozenFiles = await hashesOf(worktree, testsTree, frozen);
      show(frozenEvidence(frozenFiles, undone), round);
      const changes = await worktree.changes(testsTree, tree);
      if (changes.length === 0) {
        const none = show({ ...NO_CODE, command: suite.command, problems: ['no file was changed'] }, round);
        return judgement(tree, [none]);
      }
      const name = step.replace(/^code-/, '');
      const run = await runs.after({ step: `green-${name}`, tree, coverage: true, isFollowed: true });
      const fresh = newTests(run, baseline, written(frozen));
      const tests = run.cases.filter((test) => fresh.includes(test) || redKeys.has(testKey(test)));
      const green = show(greenGate({ run, tests, baseline, scenarios: lld.scenarios, deleted }), round);
      if (!green.passed)
        return judgement(
          tree,
          [green],
          [...ignoredNote(run.dropped), ...links.map((path) => `${path} was undone: ${STRAY}`)],
        );
      const target = targetOf(options);
      proven = {
        scenarios: lld.scenarios.map(({ id, scenario }) => ({
          id,
          scenario,
          isGuard: guards.ids.has(id),
          tests: tests.filter((test) => namesScenario(test.name, id)).map(({ name: test }) => test),
        })),
        frozen: frozenFiles,
        coverage: { target, files: run.coverage?.filter(({ file }) => written(changes).has(file)) ?? null },
      };
      const covered = show(coverageGate(run, written(changes), target), round);
      const reverse = show(await reverseOf(options, testsTree, `reverse-${name}`, frozen, tests), round);
      return judgement(tree, [green, covered, reverse]);
    },

    evidence: () => ORDER.flatMap((gate) => seen.get(gate) ?? []),
    undone: () => undone,
    proven: () => proven,
  };
}

const NO_TESTS: GateEvidence = {
  gate: 'tests',
  passed: false,
  skipped: null,
  command: null,
  counts: null,
  hash: null,
  summary: '',
  details: [],
  problems: [],
};
const NO_CODE: GateEvidence = { ...NO_TESTS, gate: 'green' };

function ignoredNote(dropped: readonly string[]): string[] {
  return dropped.length === 0
    ? []
    : [
        `git ignores these files, so they are no part of the branch and were removed: ${dropped.slice(0, 20).join(', ')}`,
      ];
}

function targetOf({ coverage, lld }: GateOptions): CoverageTarget | null {
  if (coverage !== null) return { percent: coverage, from: 'configuration' };
  const percent = coverageTargetOf(lld);
  return percent === null ? null : { percent, from: 'LLD' };
}

/** With the code taken out, the worktree is what it was when the tests were frozen. A guard passes in it too. */
async function reverseOf(
  { runs, lld, guards }: GateOptions,
  testsTree: string,
  step: string,
  frozen: readonly TreeChange[],
  tests: readonly TestCase[],
): Promise<GateEvidence> {
  const asked = tests.filter((test) => !isForGuards(test, lld.scenarios, guards.ids));
  if (asked.length === 0) return { ...NO_TESTS, gate: 'reverse', passed: true, skipped: 'every scenario is a guard' };
  const files = frozen.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);
  return reverseGate(await runs.after({ step, tree: testsTree, ...selection(files) }), asked);
}
