import type { GateEvidence, GateName } from '../core/gate.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import type { Merge } from '../git/merge.ts';
import { oneLine } from '../markdown/writer.ts';
import type { TestRun } from '../testing/port.ts';
import { brokenIn, type CombinationFacts } from '../verification/combination.ts';
import { type CoverageTarget, coverageGate } from '../verification/coverage.ts';
import { reverseGate } from '../verification/green.ts';
import type { ProvenTest } from '../verification/report-reader.ts';
import { evidenceOf } from '../verification/test-key.ts';
import { isProtected, OWN_FILES, type Rule, type Undone, undoForbidden } from './forbidden.ts';
import { setUpProblem } from './set-up.ts';
import type { Tests } from './test-runs.ts';
import type { WorktreeContext } from './worktree-item.ts';
import type { Judgement, Limited } from './writing.ts';

const ORDER: readonly GateName[] = ['tests', 'red', 'frozen', 'green', 'coverage', 'reverse'];

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
    judge: (tree: string, gates: readonly GateEvidence[], notes: readonly string[] = []): Judgement => {
      const failing = gates.filter(({ gate, passed }) => !passed && (policy === 'strict' || gate === 'green'));
      const problems = failing.flatMap((evidence) => evidence.problems);
      const gate = `gate ${failing.map((evidence) => evidence.gate).join(' and ')}`;
      return { tree, problems: failing.length === 0 ? [] : [...problems, ...notes], gate };
    },
    /** The tree without what `rules` forbid. */
    allowed: async (tree: string, source: string, step: string, rules: readonly Rule[]): Promise<Limited> => {
      const found = await undoForbidden(context, { tree, source, step }, policy === 'off' ? OWN_FILES : rules);
      undone.push(...found.undone);
      return found;
    },
    /** The last evidence of each gate, in the order of the gates. */
    evidence: (): GateEvidence[] => ORDER.flatMap((gate) => seen.get(gate) ?? []),
    undone: (): readonly Undone[] => undone,
  };
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
  /** Files whose coverage counts. */
  covered: ReadonlySet<string>;
  target: CoverageTarget | null;
  reverse: (run: TestRun) => Promise<GateEvidence[]>;
}

/** The gates of a change to finished branches: nothing that passed is broken, and the tests that prove the branches still do. */
export async function judgeFinished(
  { show, judge }: GateLog,
  { runs, baseline }: Tests,
  { tree, step, round, covered, target, reverse, ...facts }: FinishedChange,
): Promise<Judgement> {
  const asked = { step: `green-${step}`, tree, coverage: true, installs: true };
  const run = await runs.after(asked).catch(setUpProblem);
  if (typeof run === 'string') return { tree, problems: [run], gate: 'set-up' };
  const problems = brokenIn(run, { ...facts, baseline }).map(({ text }) => text);
  const passed = run.cases.filter(({ outcome }) => outcome === 'passed').length;
  const summary = `${passed} ${passed === 1 ? 'test passes' : 'tests pass'}`;
  const green = show(evidenceOf('green', run, { summary, problems }), round);
  if (!green.passed) return judge(tree, [green]);
  const coverage = show(coverageGate(run, covered, target), round);
  const reversed = (await reverse(run)).map((evidence) => show(evidence, round));
  return judge(tree, [green, coverage, ...reversed]);
}

interface Reversed {
  run: TestRun;
  proven: readonly ProvenTest[];
  tree: string;
  /** The tree without the code. */
  without: string;
  step: string;
}

/** Whether proven tests of a run fail again without the code that was changed since `without`. Null: none of them ran. */
export async function reverseWithout(
  { worktree }: WorktreeContext,
  { suite, runs }: Tests,
  { run, proven, tree, without, step }: Reversed,
): Promise<GateEvidence | null> {
  const names = new Set(proven.filter(({ isGuard }) => !isGuard).map(({ name }) => name));
  const cases = run.cases.filter(({ name }) => names.has(oneLine(name)));
  if (cases.length === 0) return null;
  const changed = (await worktree.changes(without, tree)).map(({ path }) => path);
  const code = changed.filter((path) => !suite.isTestFile(path));
  return reverseGate(await runs.after({ step, tree: await worktree.withPathsFrom(tree, without, code) }), cases);
}

const MARKER = /^(?:<{7}|>{7}) /m;

/** The judgement of a tree that still has conflict markers in these files; null: none has. */
export async function conflictLeft(
  { worktree }: WorktreeContext,
  tree: string,
  paths: readonly string[],
): Promise<Judgement | null> {
  const texts = await Promise.all(paths.map((path) => worktree.read(tree, path)));
  const marked = paths.filter((_, at) => MARKER.test(texts[at] ?? ''));
  const problems = marked.map((path) => `${path} still has conflict markers`);
  return problems.length === 0 ? null : { tree, problems, gate: 'conflict' };
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
