import type { GateEvidence, GateName } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import { namesScenario } from '../documents/lld/scenarios.ts';
import type { Merge } from '../git/merge.ts';
import type { TreeChange } from '../git/worktree/trees.ts';
import { oneLine } from '../markdown/writer.ts';
import { isRead, type TestRun } from '../testing/port.ts';
import {
  brokenIn,
  type CombinationFacts,
  type CoverageTarget,
  coverageGate,
  type GreenFacts,
  greenGate,
  reverseGate,
  unsteadyTests,
  withOutcomesOf,
} from '../verification/green.ts';
import { isForGuards } from '../verification/red.ts';
import type { ProvenTest, ReportFacts } from '../verification/report.ts';
import { evidenceOf, newTests, testKey, testTitle } from '../verification/test-results.ts';
import { ALWAYS, isProtected, OWN_FILES, type Rule, type Undone, unaskedRule, undoForbidden } from './forbidden.ts';
import { checkRed, createGuards } from './red.ts';
import { setUpProblem } from './set-up.ts';
import { ignoredNote, selection, type Tests } from './tests.ts';
import type { DesignedContext, WorktreeContext } from './worktree-item.ts';
import type { Judgement, WritingGates } from './writing.ts';

const ORDER: readonly GateName[] = ['tests', 'red', 'frozen', 'green', 'coverage', 'reverse'];

export const ACCEPTED: Judgement = { problems: [], gate: '' };

export type GateLog = ReturnType<typeof createGateLog>;

/** The evidence of an item's gates, and what was undone in it. */
export function createGateLog(context: WorktreeContext) {
  const { emit, portable } = context;
  const { policy } = context.config.implement;
  const seen = new Map<GateName, GateEvidence>();
  const undone: Undone[] = [];
  return {
    /** Records and emits the evidence of a gate. */
    show: (found: GateEvidence, round: number): GateEvidence => {
      const evidence = { ...found, details: found.details.map(portable), problems: found.problems.map(portable) };
      seen.set(evidence.gate, evidence);
      emit({ type: 'gate-checked', round, ...evidence });
      return evidence;
    },
    /**
     * Under `strict` every gate has to pass, or its problems and these notes go to the writer; under `verify` only green has
     * to pass, and the others are reported.
     */
    judge: (gates: readonly GateEvidence[], notes: readonly string[] = []): Judgement => {
      const failing = gates.filter(({ gate, passed }) => !passed && (policy === 'strict' || gate === 'green'));
      const problems = failing.flatMap((evidence) => evidence.problems);
      const gate = `gate ${failing.map((evidence) => evidence.gate).join(' and ')}`;
      return { problems: failing.length === 0 ? [] : [...problems, ...notes], gate };
    },
    /** Undoes what `rules` forbid in the change from `source`. */
    limit: async (
      tree: string,
      source: string,
      step: string,
      rules: readonly Rule[],
    ): Promise<{ tree: string; notes: string[] }> => {
      const found = await undoForbidden(context, { tree, source, step }, policy === 'off' ? OWN_FILES : rules);
      undone.push(...found.undone);
      return found;
    },
    /** The last evidence of each gate, in the order of the gates. */
    evidence: (): GateEvidence[] => ORDER.flatMap((gate) => seen.get(gate) ?? []),
    undone: (): readonly Undone[] => undone,
  };
}

const FROZEN = 'the tests are frozen while the code is written';

export type Gates = ReturnType<typeof createGates>;

/** Judges an implementation by its files alone, never by what the writer says. Without tests, nothing is checked. */
export function createGates(context: DesignedContext, tests: Tests | null) {
  const { lld, suite, worktree, baseTree } = context;
  const { show, judge, limit, evidence, undone } = createGateLog(context);
  const guards = createGuards(context);
  let redKeys: ReadonlySet<string> = new Set();
  let proven: Pick<ReportFacts, 'scenarios' | 'frozen' | 'coverage'> = {
    scenarios: [],
    frozen: [],
    coverage: { target: null, files: null },
  };

  const isTest = ({ path }: TreeChange): boolean => suite.isTestFile(path);
  const deleted = new Set(lld.files.filter(({ change }) => change === 'Delete').map(({ path }) => path));
  const isPlanned = ({ path, kind }: TreeChange): boolean =>
    lld.files.some(
      (file) =>
        (file.path === path || path.startsWith(`${file.path}/`)) && (kind !== 'deleted' || file.change === 'Delete'),
    );
  /** The test files of a tree that are not as in the base; deleted ones left out. */
  const testsIn = async (tree: string): Promise<string[]> =>
    written((await worktree.changes(baseTree, tree)).filter(isTest));

  const testRules: readonly Rule[] = [
    ...ALWAYS,
    { name: '', why: 'only tests are written in this step', forbids: (change) => !isTest(change) },
    {
      name: '-old',
      why: 'the LLD does not change these tests',
      advice: 'the LLD does not change it; write new tests in files of their own',
      // A writer that could change any old test could make it pass with broken code.
      forbids: (change) => change.kind !== 'added' && !isPlanned(change),
    },
  ];
  const codeRules: readonly Rule[] = [...ALWAYS, { name: '', why: FROZEN, forbids: isTest }];

  const judgeTests: WritingGates['judge'] = async ({ tree, round }) => {
    if (tests === null) return ACCEPTED;
    const files = await testsIn(tree);
    if (files.length === 0)
      return judge([show(evidenceOf('tests', null, { problems: ['no test was written'] }), round)]);
    const red = await checkRed(context, tests, guards, { tree, files, round });
    redKeys = new Set(red.tests.map(testKey));
    const judged = judge(
      red.gates.map((one) => show(one, round)),
      red.notes,
    );
    return red.isGreen ? { ...judged, passing: red.tests.map(testTitle) } : judged;
  };

  const judgeCode =
    (testsTree: string): WritingGates['judge'] =>
    async ({ tree, step, round }) => {
      if (tests === null) return ACCEPTED;
      const { run: runTests, baseline } = tests;
      const files = await testsIn(testsTree);
      const frozen = await Promise.all(
        files.map(async (path) => ({ path, sha256: sha256((await worktree.read(testsTree, path)) ?? '') })),
      );
      show(frozenEvidence(frozen, undone()), round);
      const changes = await worktree.changes(testsTree, tree);
      if (changes.length === 0) {
        const none = evidenceOf('green', null, { problems: ['no file was changed'] });
        return judge([show({ ...none, command: suite.command }, round)]);
      }
      const name = step.replace(/^code-/, '');
      const asked = { tree, installs: true, isFollowed: true };
      const first = await runTests({ step: `green-${name}`, coverage: true, ...asked });
      const factsOf = (run: TestRun): GreenFacts => {
        const fresh = newTests(run, baseline, new Set(files));
        const ours = run.cases.filter((test) => fresh.includes(test) || redKeys.has(testKey(test)));
        return { run, tests: ours, files, baseline, scenarios: lld.scenarios, deleted };
      };
      const ranAgain = unsteadyTests(factsOf(first));
      const second = ranAgain.length === 0 ? null : await runTests({ step: `green-${name}-again`, ...asked });
      const run = second === null || !isRead(second) ? first : { ...first, ...withOutcomesOf(first, second, ranAgain) };
      const facts = factsOf(run);
      const green = show(greenGate({ ...facts, ranAgain }), round);
      if (!green.passed) return judge([green], ignoredNote(run.dropped));
      const code = new Set(written(changes));
      const target = coverageTarget(context, [lld]);
      proven = {
        scenarios: lld.scenarios.map(({ id, scenario }) => ({
          id,
          scenario,
          isGuard: guards.ids.has(id),
          tests: facts.tests.filter((test) => namesScenario(test.name, id)).map(({ name: test }) => test),
        })),
        frozen,
        coverage: { target, files: run.coverage?.filter(({ file }) => code.has(file)) ?? null },
      };
      const covered = show(coverageGate(run, code, target), round);
      // With the code taken out, the worktree is what it was when the tests were frozen. A guard passes in it too.
      const mustFail = facts.tests.filter((test) => !isForGuards(test, lld.scenarios, guards.ids));
      const withoutCode = { step: `reverse-${name}`, tree: testsTree, lacksCode: true, ...selection(files) };
      const reverse =
        mustFail.length === 0
          ? evidenceOf('reverse', null, { skipped: 'every scenario is a guard' })
          : reverseGate(await runTests(withoutCode), mustFail);
      return judge([green, covered, show(reverse, round)]);
    };

  return {
    guards,
    evidence,
    undone,
    /** What the last green tree proved. */
    proven: () => proven,
    tests: { limit: (tree, step) => limit(tree, baseTree, step, testRules), judge: judgeTests } as WritingGates,
    code: (testsTree: string): WritingGates => ({
      limit: (tree, step) => limit(tree, testsTree, step, codeRules),
      judge: judgeCode(testsTree),
    }),
    /** In a revision that began with `start`, only these files, new ones, and those with which a gate failed may be changed. */
    revision: (testsTree: string, start: string, mayChange: readonly string[]): WritingGates => ({
      limit(tree, step, named) {
        const reason = { why: 'no finding names these files', advice: 'no finding of the review names it' };
        const isAsked = ({ path, kind }: TreeChange): boolean => kind === 'added' || mayChange.includes(path);
        return limit(tree, start, step, [...codeRules, unaskedRule(reason, named, isAsked)]);
      },
      judge: judgeCode(testsTree),
    }),
  };
}

function written(changes: readonly TreeChange[]): string[] {
  return changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);
}

function frozenEvidence(files: ReportFacts['frozen'], undone: readonly Undone[]): GateEvidence {
  const lines = files.map(({ path, sha256: hash }) => `${path}: ${hash}`);
  const touched = undone.filter(({ why }) => why === FROZEN);
  const evidence = evidenceOf('frozen', null, {
    summary: `${files.length} test ${files.length === 1 ? 'file is as it was' : 'files are as they were'}${touched.length === 0 ? '' : ', changes undone'}`,
    details: [...lines, ...touched.map(({ step, paths }) => `undone in ${step}: ${paths.join(', ')}`)],
  });
  return { ...evidence, hash: sha256(lines.join('\n')) };
}

/** The configured coverage, else the highest that one of the designs asks for. */
export function coverageTarget({ config }: WorktreeContext, designs: readonly LldDocument[]): CoverageTarget | null {
  const { coverage } = config.implement;
  if (coverage !== null) return { percent: coverage, from: 'configuration' };
  const percents = designs.flatMap(({ fields }) => fields.coverageTarget ?? []);
  return percents.length === 0 ? null : { percent: Math.max(...percents), from: 'LLD' };
}

interface FinishedChange extends Omit<CombinationFacts, 'baseline'> {
  tree: string;
  step: string;
  round: number;
  /** Files in conflict, which may still have conflict markers. */
  inConflict: readonly string[];
  /** Files whose coverage counts. */
  covered: ReadonlySet<string>;
  target: CoverageTarget | null;
  /** Called with a green run. */
  reverse: (run: TestRun, tests: Tests) => Promise<GateEvidence[]>;
}

const MARKER = /^(?:<{7}|>{7}) /m;

/** The gates of a change to finished branches: nothing that passed is broken, and the tests that prove the branches still do. */
export async function judgeFinished(
  { worktree }: WorktreeContext,
  { show, judge }: GateLog,
  tests: Tests | null,
  { tree, step, round, inConflict, covered, target, reverse, ...facts }: FinishedChange,
): Promise<Judgement> {
  const texts = await Promise.all(inConflict.map((path) => worktree.read(tree, path)));
  const marked = inConflict.filter((_, at) => MARKER.test(texts[at] ?? ''));
  if (marked.length > 0)
    return { problems: marked.map((path) => `${path} still has conflict markers`), gate: 'conflict' };
  if (tests === null) return ACCEPTED;
  const asked = { step: `green-${step}`, tree, coverage: true, installs: true };
  const run = await tests.run(asked).catch(setUpProblem);
  if (typeof run === 'string') return { problems: [run], gate: 'set-up' };
  const problems = [...brokenIn(run, { ...facts, baseline: tests.baseline }).values()];
  const passed = run.cases.filter(({ outcome }) => outcome === 'passed').length;
  const summary = `${passed} ${passed === 1 ? 'test passes' : 'tests pass'}`;
  const green = show(evidenceOf('green', run, { summary, problems }), round);
  if (!green.passed) return judge([green]);
  const coverage = show(coverageGate(run, covered, target), round);
  const reversed = (await reverse(run, tests)).map((evidence) => show(evidence, round));
  return judge([green, coverage, ...reversed]);
}

interface Reversed {
  run: TestRun;
  tests: Tests;
  proven: readonly ProvenTest[];
  tree: string;
  /** The tree without the code. */
  without: string;
  step: string;
}

/** Whether proven tests of a run fail again without the code that was changed since `without`. Null: none of them ran. */
export async function reverseWithout(
  { worktree, suite }: WorktreeContext,
  { run, tests, proven, tree, without, step }: Reversed,
): Promise<GateEvidence | null> {
  const names = new Set(proven.filter(({ isGuard }) => !isGuard).map(({ name }) => name));
  const cases = run.cases.filter(({ name }) => names.has(oneLine(name)));
  if (cases.length === 0) return null;
  const changed = (await worktree.changes(without, tree)).map(({ path }) => path);
  const code = changed.filter((path) => !suite.isTestFile(path));
  return reverseGate(await tests.run({ step, tree: await worktree.withPathsFrom(tree, without, code) }), cases);
}

/** Files in conflict that no implementer may settle: protected ones, our own, and binary ones. */
export async function filesForPeople(
  { worktree }: WorktreeContext,
  { tree, conflicts }: Pick<Merge, 'tree' | 'conflicts'>,
): Promise<string[]> {
  const paths = conflicts.map(({ path }) => path);
  const texts = await Promise.all(paths.map((path) => worktree.read(tree, path)));
  const isOurs = (path: string): boolean =>
    OWN_FILES.some(({ forbids }) => forbids({ path, kind: 'modified' }, new Set()));
  return paths.filter((path, at) => isProtected(path) || isOurs(path) || (texts[at] ?? '').includes('\0'));
}
