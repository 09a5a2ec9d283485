import { toErrorRecord } from '../core/errors.ts';
import type { GateEvidence } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import type { LandedBranch } from '../core/landing.ts';
import { listed } from '../core/lines.ts';
import { oneLine } from '../documents/implementation/markdown-text.ts';
import { readLld } from '../documents/lld/document.ts';
import { namesFile } from '../documents/review/named-files.ts';
import { commitMerge, type Merge } from '../git/merge.ts';
import { resolveTask } from '../prompts/writing-tasks.ts';
import type { TestCase } from '../testing/port.ts';
import { brokenIn } from '../verification/combination.ts';
import { type CoverageTarget, coverageGate } from '../verification/coverage.ts';
import { reverseGate } from '../verification/green.ts';
import { evidenceOf } from '../verification/test-key.ts';
import { designOn } from './finished-branches.ts';
import type { Combined, LandContext, ReportedBranch } from './land-item.ts';
import { inConflictWith, mergeMessage } from './land-merge.ts';
import { type LandTests, passedIn } from './land-tests.ts';
import type { TestRuns } from './test-runs.ts';
import { createTrials } from './trials.ts';
import { DESIGNS, LINKS, type Rule, STATE, undoForbidden } from './undo.ts';
import { createWriterCalls, type Judgement } from './writing.ts';

/** A branch that conflicts with what is combined so far. */
export interface Conflicting {
  ours: Combined;
  branch: ReportedBranch;
  merge: Merge;
}

/** A conflict that was settled before, by what is in conflict: it is not paid for again, also on another base. */
interface Settled {
  conflict: string;
  tree: string;
  /** Who did it. */
  by: string[];
}

/** What the implementer left, after all its calls. */
export interface Unsettled {
  out: LandedBranch;
  ours: Combined;
  tree: string;
}

/**
 * The implementer settles a conflict, within the bounds of an implementation: its calls are durable steps, it may change only
 * what is in conflict, and the engine holds the gates of both sides against the result. Returns the state with the branch in
 * it, or why it stays out.
 */
export async function settleConflict(
  context: LandContext,
  tests: LandTests | null,
  conflicting: Conflicting,
): Promise<{ state: Combined } | Unsettled> {
  const { git, journal, worktree, emit, config } = context;
  const { ours, branch, merge } = conflicting;
  const { id } = branch;
  const others = inConflictWith(ours, merge, branch);
  const designs = await Promise.all([branch, ...others].map((one) => designOf(context, one)));
  const gates = gatesOf(context, tests, {
    ...conflicting,
    others,
    target: targetOf(config.implement.coverage, designs),
  });
  const conflict = sha256(JSON.stringify([branch.commit, merge.conflicts]));

  const commit = async (tree: string, by: readonly string[]): Promise<{ state: Combined }> => {
    const who = `Conflicts in ${listed(merge.conflicts.map(({ path }) => path))} settled by ${listed(by)}.`;
    const message = mergeMessage(branch, [who]);
    const made = await commitMerge(git, { tree, ours: ours.commit, theirs: branch.commit, message });
    return { state: { commit: made, tree, branches: [...ours.branches, branch] } };
  };

  const earlier = journal.last(`settled-${id}`) as Settled | undefined;
  if (earlier?.conflict === conflict) {
    const paths = merge.conflicts.map(({ path }) => path);
    // Where its files are gone, it has to be done again.
    const tree = await worktree.withPathsFrom(merge.tree, earlier.tree, paths).catch(() => null);
    if (tree !== null && (await gates(tree, `settled-${id}`, 1)).problems.length === 0) return commit(tree, earlier.by);
  }

  const part = { ...context, emit: (event: Parameters<typeof emit>[0]) => emit(ofBranch(event, id)) };
  const writing = { ...part, writer: context.writer() };
  const suite = context.suite;
  const trials = suite === null || tests === null ? null : createTrials({ ...part, suite }, tests.runs, tests.baseline);
  const { write, authors } = createWriterCalls(writing, trials);
  const asked = { id, title: branch.title, others: others.map((one) => one.id), onto: context.landing.onto };
  const sides = await sidesOf(context, conflicting);
  let last = merge.tree;
  try {
    const tree = await write({
      phase: 'code',
      name: `resolve-${id}`,
      start: merge.tree,
      task: (failures, round) => {
        const text = resolveTask(context.prompts, { ...asked, designs, merge, sides, failures, suite });
        // A command has only this text to know which call it is.
        return `${text}\n\nPhase: resolve, call ${round}.`;
      },
      judge: (judged, step, round) => {
        last = judged;
        return gates(judged, step, round);
      },
      limit: (left, step, failures) =>
        undoForbidden(part, { tree: left, source: merge.tree, step }, rulesFor(merge, failures)),
    });
    const by = [...authors.code];
    await journal.step<Settled>({ name: `settled-${id}`, inputs: { conflict, tree } }, async () => ({
      conflict,
      tree,
      by,
    }));
    return commit(tree, by);
  } catch (error) {
    const record = toErrorRecord(error);
    if (record.problem.code !== 'gate-failed') throw error;
    return { out: { id, status: 'failed', reason: null, error: record, outputs: [] }, ours, tree: last };
  }
}

type Emitted = Parameters<LandContext['emit']>[0];

/** Says which branch a call was paid for. */
function ofBranch(event: Emitted, part: string): Emitted {
  return event.type === 'model-answered' ? { ...event, part } : event;
}

/** Only what is in conflict, and from the second call on what the engine found wrong. */
function rulesFor({ conflicts }: Merge, failures: readonly string[]): Rule[] {
  const paths = new Set(conflicts.map(({ path }) => path));
  const unasked: Rule = {
    name: '-unasked',
    why: 'these files are not in conflict',
    advice: 'it is not in conflict',
    forbids: ({ path }) => !paths.has(path) && !failures.some((text) => namesFile(text, path)),
  };
  return [DESIGNS, STATE, LINKS, unasked];
}

function designOf({ git, paths }: LandContext, { id, commit }: ReportedBranch): Promise<string> {
  return designOn(git, paths, parseItemId(id), commit);
}

/** The most that one of the designs asks for, unless the configuration says. */
function targetOf(configured: number | null, designs: readonly string[]): CoverageTarget | null {
  if (configured !== null) return { percent: configured, from: 'configuration' };
  const percents = designs.flatMap((text) => readLld(text).fields.coverageTarget ?? []);
  return percents.length === 0 ? null : { percent: Math.max(...percents), from: 'LLD' };
}

interface Sides extends Conflicting {
  others: readonly ReportedBranch[];
  target: CoverageTarget | null;
}

/** The gates of both sides, held against a state in which a conflict is settled. */
function gatesOf(context: LandContext, tests: LandTests | null, { ours, branch, merge, others, target }: Sides) {
  const { worktree, emit, config, suite, portable } = context;
  const paths = merge.conflicts.map(({ path }) => path);
  const isTest = (path: string): boolean => suite?.isTestFile(path) ?? false;
  const all = [...ours.branches, branch];
  const facts = {
    proven: all.flatMap(({ proven }) => proven.map(({ name }) => name)),
    changed: new Set(all.flatMap(({ files }) => files)),
  };
  const show = (evidence: GateEvidence, round: number): GateEvidence => {
    emit({ type: 'gate-checked', round, ...evidence });
    return evidence;
  };
  const judgement = (tree: string, found: readonly GateEvidence[]): Judgement => {
    const isBinding = ({ gate }: GateEvidence): boolean => config.implement.policy === 'strict' || gate === 'green';
    const failing = found.filter((evidence) => !evidence.passed && isBinding(evidence));
    const names = failing.map(({ gate }) => gate).join(' and ');
    return { tree, problems: failing.flatMap(({ problems }) => problems), gate: `gate ${names}` };
  };
  /** With the code of one side taken out, its tests fail. Only where test files had to be written together. */
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

  return async (tree: string, step: string, round: number): Promise<Judgement> => {
    const marked = await Promise.all(paths.map(async (path) => MARKER.test((await worktree.read(tree, path)) ?? '')));
    const left = paths.filter((_, at) => marked[at]).map((path) => `${path} still has conflict markers`);
    if (left.length > 0) return { tree, problems: left, gate: 'conflict' };
    if (tests === null) return { tree, problems: [], gate: '' };
    const { runs, baseline } = tests;
    const run = await runs.after({ step: `green-${step}`, tree, coverage: true, installs: true, isFollowed: true });
    const problems = brokenIn(run, { ...facts, baseline }).map(({ text }) => portable(text));
    const green = show(evidenceOf('green', run, { summary: passedIn(run), problems }), round);
    if (!green.passed) return judgement(tree, [green]);
    const code = new Set(paths.filter((path) => !isTest(path)));
    const covered = show(coverageGate(run, code, target), round);
    const reversed = (await reverse(runs, tree, step, run.cases)).map((evidence) => show(evidence, round));
    return judgement(tree, [green, covered, ...reversed]);
  };
}

const MARKER = /^(?:<{7}|>{7}) /m;

const MOST_DIFF_BYTES = 60_000;

/** What each side did to the files in conflict, as diffs from where they parted. */
async function sidesOf(
  { git }: LandContext,
  { ours, branch, merge }: Conflicting,
): Promise<{ ours: string; theirs: string }> {
  const parted = await git.text(['merge-base', ours.commit, branch.commit]);
  const files = merge.conflicts.map(({ path }) => `:(literal,top)${path}`);
  const diff = async (to: string): Promise<string> => {
    const args = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', parted, to, '--', ...files];
    const bytes = await git.run(args, { atMostBytes: MOST_DIFF_BYTES });
    return bytes.toString('utf8').slice(0, MOST_DIFF_BYTES);
  };
  return { ours: await diff(ours.commit), theirs: await diff(branch.commit) };
}
