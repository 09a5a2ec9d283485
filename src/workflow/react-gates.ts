import type { GateEvidence, GateName } from '../core/gate.ts';
import { oneLine } from '../documents/implementation/markdown-text.ts';
import { namesFile } from '../documents/review/named-files.ts';
import type { TreeChange } from '../git/worktree/worktree.ts';
import type { TestRun } from '../testing/port.ts';
import type { Baseline } from '../verification/baseline.ts';
import { brokenIn } from '../verification/combination.ts';
import { coverageGate } from '../verification/coverage.ts';
import { reverseGate } from '../verification/green.ts';
import { evidenceOf } from '../verification/test-key.ts';
import { targetOf } from './gates.ts';
import { passedIn, unlessSetUp } from './land-tests.ts';
import type { ReactContext } from './react-item.ts';
import type { TestRuns } from './test-runs.ts';
import { DESIGNS, LINKS, type Rule, STATE, type Undone, undoForbidden } from './undo.ts';
import type { Judgement, Writing } from './writing.ts';

export interface ReactGates {
  judge: Writing['judge'];
  /** Undoes what a call changed beyond what was asked. */
  limit: NonNullable<Writing['limit']>;
  /** What each gate saw last, in the order of the gates. */
  evidence(): GateEvidence[];
  undone(): readonly Undone[];
}

const ORDER: readonly GateName[] = ['frozen', 'green', 'coverage', 'reverse'];
const MARKER = /^(?:<{7}|>{7}) /m;

/**
 * The gates of an implementation for a change that is there already: nothing that passed on the base is broken, the tests
 * that prove the design run and pass, and fail without the code. They stay as they were, but for what a reviewer named.
 */
export function reactGates(context: ReactContext, runs: TestRuns | null, baseline: Baseline): ReactGates {
  const { worktree, suite, emit, portable, config, baseTree, headTree, startTree, own, conflict, proven } = context;
  const { reaction, openTests } = context;
  const seen = new Map<GateName, GateEvidence>();
  const undone: Undone[] = [];
  const inConflict = conflict?.conflicts.map(({ path }) => path) ?? [];
  const open = new Set(openTests);
  const texts = [...reaction.checks.map(({ log }) => log), ...reaction.reviews.map(({ body }) => body)];

  const show = (found: GateEvidence, round: number): GateEvidence => {
    const evidence = { ...found, details: found.details.map(portable), problems: found.problems.map(portable) };
    seen.set(evidence.gate, evidence);
    emit({ type: 'gate-checked', round, ...evidence });
    return evidence;
  };
  const judgement = (tree: string, found: readonly GateEvidence[]): Judgement => {
    const isBinding = ({ gate }: GateEvidence): boolean => config.implement.policy === 'strict' || gate === 'green';
    const failing = found.filter((evidence) => !evidence.passed && isBinding(evidence));
    const names = failing.map(({ gate }) => gate).join(' and ');
    return { tree, problems: failing.flatMap(({ problems }) => problems), gate: `gate ${names}` };
  };
  const frozen: Rule = {
    name: '',
    why: 'no reviewer asked for a change to these tests',
    advice: 'the tests are frozen, and no remark is about this file',
    forbids: ({ path, kind }) => suite.isTestFile(path) && kind !== 'added' && !open.has(path),
  };
  const isAsked = ({ path, kind }: TreeChange, failures: readonly string[]): boolean =>
    kind === 'added' ||
    own.has(path) ||
    inConflict.includes(path) ||
    [...texts, ...failures].some((text) => namesFile(text, path));

  const reverse = async (runOf: TestRuns, tree: string, step: string, run: TestRun): Promise<GateEvidence> => {
    const names = new Set(proven.filter(({ isGuard }) => !isGuard).map(({ name }) => name));
    const cases = run.cases.filter(({ name }) => names.has(oneLine(name)));
    if (cases.length === 0) return evidenceOf('reverse', null, { skipped: 'the report names no test of this change' });
    const code = (await worktree.changes(baseTree, tree))
      .map(({ path }) => path)
      .filter((path) => !suite.isTestFile(path));
    const taken = await worktree.withPathsFrom(tree, baseTree, code);
    return reverseGate(await runOf.after({ step: `reverse-${step}`, tree: taken }), cases);
  };

  return {
    async judge(tree, step, round) {
      const left = await Promise.all(inConflict.map((path) => worktree.read(tree, path)));
      const marked = inConflict.filter((_, at) => MARKER.test(left[at] ?? ''));
      if (marked.length > 0)
        return { tree, problems: marked.map((path) => `${path} still has conflict markers`), gate: 'conflict' };
      if (runs === null) return { tree, problems: [], gate: '' };
      const tests = (await worktree.changes(baseTree, headTree)).filter(({ path }) => suite.isTestFile(path));
      const summary = `${tests.length} test ${tests.length === 1 ? 'file' : 'files'} of this change, ${open.size} open to changes`;
      show(evidenceOf('frozen', null, { summary, details: undone.flatMap(({ paths }) => paths) }), round);
      const run = await runs.after({ step: `green-${step}`, tree, coverage: true, installs: true }).catch(unlessSetUp);
      if (typeof run === 'string') return { tree, problems: [run], gate: 'set-up' };
      const names = proven.map(({ name }) => name);
      const broken = brokenIn(run, {
        baseline,
        proven: open.size === 0 ? names : [],
        changed: new Set([...own, ...open]),
      });
      const problems = broken.map(({ text }) => text);
      const green = show(evidenceOf('green', run, { summary: passedIn(run), problems }), round);
      if (!green.passed) return judgement(tree, [green]);
      const changed = (await worktree.changes(baseTree, tree))
        .filter(({ path, kind }) => kind !== 'deleted' && !suite.isTestFile(path))
        .map(({ path }) => path);
      const covered = show(coverageGate(run, new Set(changed), targetOf(context)), round);
      return judgement(tree, [green, covered, show(await reverse(runs, tree, step, run), round)]);
    },

    async limit(left, step, failures) {
      const unasked: Rule = {
        name: '-unasked',
        why: 'neither part of this change nor named by what happened to it',
        advice: 'it is neither part of this change nor named by a check or remark',
        forbids: (change) => !isAsked(change, failures),
      };
      const rules = config.implement.policy === 'off' ? [DESIGNS, STATE] : [DESIGNS, STATE, LINKS, frozen, unasked];
      const found = await undoForbidden(context, { tree: left, source: startTree, step }, rules);
      undone.push(...found.undone);
      return found;
    },

    evidence: () => ORDER.flatMap((gate) => seen.get(gate) ?? []),
    undone: () => undone,
  };
}
