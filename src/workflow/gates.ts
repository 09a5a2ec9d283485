import type { GateEvidence, GateName } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import type { CoverageFacts, FrozenFile, ScenarioTests } from '../documents/implementation/report.ts';
import { namesScenario } from '../documents/lld/scenarios.ts';
import { namesFile } from '../documents/review/named-files.ts';
import type { TreeChange } from '../git/worktree/worktree.ts';
import { isRead, type TestCase, type TestRun } from '../testing/port.ts';
import { newTests } from '../verification/baseline.ts';
import { type CoverageTarget, coverageGate } from '../verification/coverage.ts';
import { type GreenFacts, greenGate, reverseGate, unsteadyTests, withOutcomesOf } from '../verification/green.ts';
import { isForGuards } from '../verification/scenario-tests.ts';
import { evidenceOf, testKey, testTitle } from '../verification/test-key.ts';
import type { ImplementContext } from './implement-item.ts';
import { type Proofs, seeRed, selection } from './red.ts';
import { DESIGNS, LINKS, type Rule, STATE, type Undone, undoForbidden } from './undo.ts';
import type { Judgement, Writing } from './writing.ts';

export interface Gates {
  judgeTests(tree: string, step: string, round: number): Promise<Judgement>;
  judgeCode(testsTree: string): (tree: string, step: string, round: number) => Promise<Judgement>;
  /** Undoes what a revision that began at `start` changed beyond these files, new ones, and those that `failures` name. */
  limitRevision(start: string, mayChange: readonly string[]): NonNullable<Writing['limit']>;
  /** What each gate saw last, in the order of the gates. */
  evidence(): GateEvidence[];
  undone(): readonly Undone[];
  /** What was proven of the last state that was green. */
  proven(): Proven;
}

export interface Proven {
  scenarios: ScenarioTests[];
  frozen: FrozenFile[];
  coverage: CoverageFacts;
}

const FROZEN = 'the tests are frozen while the code is written';
const ORDER: readonly GateName[] = ['tests', 'red', 'frozen', 'green', 'coverage', 'reverse'];

/**
 * Judges what was written by the files alone, never by what a writer says. Under `strict` every gate has to hold, or its
 * problems go to the writer; under `verify` only green decides, and the others are reported; `off` checks nothing.
 */
export function createGates(context: ImplementContext, proofs: Proofs): Gates {
  const { lld, suite, worktree, baseTree, emit, portable } = context;
  const { policy } = context.config.implement;
  const { runs, baseline, guards } = proofs;
  const seen = new Map<GateName, GateEvidence>();
  const undone: Undone[] = [];
  let redKeys: ReadonlySet<string> = new Set();
  let proven: Proven = { scenarios: [], frozen: [], coverage: { target: null, files: null } };

  const show = (found: GateEvidence, round: number): GateEvidence => {
    const details = found.details.map(portable);
    const evidence = { ...found, details, problems: found.problems.map(portable) };
    seen.set(evidence.gate, evidence);
    emit({ type: 'gate-checked', round, ...evidence });
    return evidence;
  };
  /** The state without what `rules` forbid, and notes on that for the writer. */
  const allowed = async (tree: string, source: string, step: string, rules: readonly Rule[]) => {
    const found = await undoForbidden(context, { tree, source, step }, policy === 'off' ? [DESIGNS, STATE] : rules);
    undone.push(...found.undone);
    return found;
  };
  const binding = (evidence: GateEvidence): string[] =>
    policy === 'strict' || evidence.gate === 'green' ? evidence.problems : [];
  const judgement = (tree: string, gates: readonly GateEvidence[], notes: readonly string[] = []): Judgement => {
    const failing = gates.filter((evidence) => binding(evidence).length > 0);
    return {
      tree,
      problems: failing.length === 0 ? [] : [...failing.flatMap((evidence) => evidence.problems), ...notes],
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

  const isTest = ({ path }: TreeChange): boolean => suite.isTestFile(path);
  const testRules: readonly Rule[] = [
    DESIGNS,
    STATE,
    LINKS,
    { name: '', why: 'only tests are written in this step', forbids: (change) => !isTest(change) },
    {
      name: '-old',
      why: 'the LLD does not change these tests',
      advice: 'the LLD does not change it; write new tests in files of their own',
      // A writer that may change an old test at will can make it pass over broken code.
      forbids: ({ path, kind }) => kind !== 'added' && !isPlanned(path, kind),
    },
  ];
  const codeRules: readonly Rule[] = [DESIGNS, STATE, LINKS, { name: '', why: FROZEN, forbids: isTest }];

  return {
    async judgeTests(left, step, round) {
      const { tree, notes } = await allowed(left, baseTree, step, testRules);
      if (policy === 'off') return { tree, problems: [], gate: 'gate tests' };
      const changes = await testChanges(tree);
      if (written(changes).size === 0) {
        const none = evidenceOf('tests', null, { problems: ['no test was written'] });
        return judgement(tree, [show(none, round)], notes);
      }
      const red = await seeRed(context, proofs, { tree, files: [...written(changes)], round });
      const { gates, tests } = red;
      redKeys = new Set(tests.map(testKey));
      const judged = judgement(
        tree,
        gates.map((evidence) => show(evidence, round)),
        [...notes, ...red.notes],
      );
      return red.isGreen ? { ...judged, passing: tests.map(testTitle) } : judged;
    },

    judgeCode: (testsTree) => async (left, step, round) => {
      const { tree, notes } = await allowed(left, testsTree, step, codeRules);
      if (policy === 'off') return { tree, problems: [], gate: 'gate green' };
      const frozen = await testChanges(testsTree);
      const frozenFiles = await hashesOf(context, testsTree, frozen);
      show(frozenEvidence(frozenFiles, undone), round);
      const changes = await worktree.changes(testsTree, tree);
      if (changes.length === 0) {
        const none = evidenceOf('green', null, { problems: ['no file was changed'] });
        return judgement(tree, [show({ ...none, command: suite.command }, round)]);
      }
      const name = step.replace(/^code-/, '');
      const asked = { tree, installs: true, isFollowed: true };
      const first = await runs.after({ step: `green-${name}`, coverage: true, ...asked });
      const factsOf = (found: TestRun): GreenFacts => {
        const fresh = newTests(found, baseline, written(frozen));
        const tests = found.cases.filter((test) => fresh.includes(test) || redKeys.has(testKey(test)));
        return { run: found, tests, baseline, scenarios: lld.scenarios, deleted };
      };
      const ranAgain = unsteadyTests(factsOf(first));
      const second = ranAgain.length === 0 ? null : await runs.after({ step: `green-${name}-again`, ...asked });
      const run = second === null || !isRead(second) ? first : { ...first, ...withOutcomesOf(first, second, ranAgain) };
      const facts = factsOf(run);
      const { tests } = facts;
      const green = show(greenGate({ ...facts, ranAgain }), round);
      if (!green.passed) return judgement(tree, [green], [...ignoredNote(run.dropped), ...notes]);
      const target = targetOf(context);
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
      const reverse = show(await reverseOf(context, proofs, testsTree, `reverse-${name}`, frozen, tests), round);
      return judgement(tree, [green, covered, reverse]);
    },

    limitRevision: (start, mayChange) => async (left, step, failures) => {
      const named = new Set(mayChange);
      const isAsked = ({ path, kind }: TreeChange): boolean =>
        kind === 'added' || named.has(path) || failures.some((text) => namesFile(text, path));
      const unasked: Rule = {
        name: '-unasked',
        why: 'no finding names these files',
        advice: 'no finding of the review names it',
        forbids: (change) => !isAsked(change),
      };
      return allowed(left, start, step, [...codeRules, unasked]);
    },

    evidence: () => ORDER.flatMap((gate) => seen.get(gate) ?? []),
    undone: () => undone,
    proven: () => proven,
  };
}

/** For the writer. */
export function ignoredNote(dropped: readonly string[]): string[] {
  return dropped.length === 0
    ? []
    : [
        `git ignores these files, so they are no part of the branch and were removed: ${dropped.slice(0, 20).join(', ')}`,
      ];
}

function targetOf({ config, lld }: ImplementContext): CoverageTarget | null {
  const { coverage } = config.implement;
  if (coverage !== null) return { percent: coverage, from: 'configuration' };
  const percent = lld.fields.coverageTarget;
  return percent === null ? null : { percent, from: 'LLD' };
}

/** With the code taken out, the worktree is what it was when the tests were frozen. A guard passes in it too. */
async function reverseOf(
  { lld }: ImplementContext,
  { runs, guards }: Proofs,
  testsTree: string,
  step: string,
  frozen: readonly TreeChange[],
  tests: readonly TestCase[],
): Promise<GateEvidence> {
  const asked = tests.filter((test) => !isForGuards(test, lld.scenarios, guards.ids));
  if (asked.length === 0) return evidenceOf('reverse', null, { skipped: 'every scenario is a guard' });
  const files = frozen.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);
  return reverseGate(await runs.after({ step, tree: testsTree, lacksCode: true, ...selection(files) }), asked);
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
