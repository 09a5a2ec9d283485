import { codeOf, toErrorRecord } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import type { LandedBranch } from '../core/landing.ts';
import { listed } from '../core/lines.ts';
import { readLld } from '../documents/lld/document.ts';
import { namesFile } from '../documents/review/named-files.ts';
import { commitMerge, type Merge } from '../git/merge.ts';
import { resolveTask } from '../prompts/resolve-task.ts';
import type { CoverageTarget } from '../verification/coverage.ts';
import { designOn } from './finished-branches.ts';
import { conflictGates } from './land-gates.ts';
import type { Combined, Conflicting, LandContext, ReportedBranch } from './land-item.ts';
import { inConflictWith, mergeMessage } from './land-merge.ts';
import type { LandTests } from './land-tests.ts';
import { createTrials } from './trials.ts';
import { DESIGNS, LINKS, type Rule, STATE, undoForbidden } from './undo.ts';
import { createWriterCalls } from './writing.ts';

/** A conflict that was settled before, by what is in conflict: it is not paid for again, also on another base. */
interface Settled {
  conflict: string;
  /** As git left it, and as it was settled. */
  marked: string;
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
  const { git, journal, emit, config } = context;
  const { ours, branch, merge } = conflicting;
  const { id } = branch;
  const others = inConflictWith(ours, merge, branch);
  const designs = await Promise.all([branch, ...others].map((one) => designOf(context, one)));
  const gates = conflictGates(context, tests, {
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
  const again = earlier?.conflict === conflict ? await sameAgain(context, merge, earlier) : null;
  if (earlier !== undefined && again !== null && (await gates(again, `settled-${id}`, 1)).problems.length === 0)
    return commit(again, earlier.by);

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
    const settled: Settled = { conflict, marked: merge.tree, tree, by };
    await journal.step({ name: `settled-${id}`, inputs: { conflict, tree } }, async () => settled);
    return commit(tree, by);
  } catch (error) {
    const record = toErrorRecord(error);
    if (record.problem.code !== 'gate-failed') throw error;
    return { out: { id, status: 'failed', reason: null, error: record, outputs: [] }, ours, tree: last };
  }
}

/** The same changes to another merge with the same conflict; null: they don't fit, or their files are gone. */
async function sameAgain({ worktree }: LandContext, merge: Merge, { marked, tree }: Settled): Promise<string | null> {
  const inConflict = new Set(merge.conflicts.map(({ path }) => path));
  try {
    const changed = (await worktree.changes(marked, tree)).map(({ path }) => path);
    const moved = new Set((await worktree.changes(marked, merge.tree)).map(({ path }) => path));
    if (changed.some((path) => !inConflict.has(path) && moved.has(path))) return null;
    return await worktree.withPathsFrom(merge.tree, tree, changed);
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    return null;
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
