import { join, relative, sep } from 'node:path';
import type { Writer } from '../agent/port.ts';
import type { Clock } from '../core/clock.ts';
import type { GatePolicy } from '../core/config.ts';
import type { ItemEvent } from '../core/events.ts';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { listed } from '../core/wording.ts';
import { commitMessage } from '../documents/implementation/commit-message.ts';
import type { LldFinding } from '../documents/lld/checks.ts';
import { readLld } from '../documents/lld/document.ts';
import type { OutsideView } from '../git/checkout-watch.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { Journal } from '../journal/port.ts';
import type { Provider } from '../models/port.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { againTask, codeTask, testsTask, type WritingTask } from '../prompts/writing-tasks.ts';
import type { TestSuite } from '../testing/port.ts';
import { mayHoldTests } from '../testing/test-files.ts';
import { baselineOf, NO_BASELINE, whyNoBaseline } from '../verification/baseline.ts';
import { createDecider } from './deciding.ts';
import { createDurable } from './durable.ts';
import { beginImplementation } from './implement-begin.ts';
import { finishImplementation } from './implement-finish.ts';
import { createGateKeeper } from './implement-gates.ts';
import { createGuards } from './implement-guards.ts';
import { reviewCode } from './implement-review.ts';
import { createSpending } from './implement-spending.ts';
import { createTestRuns } from './implement-tests.ts';
import { createWriting } from './implement-writing.ts';
import { type Budget, createModelCaller } from './model-caller.ts';
import { createOutsideWatch } from './outside-watch.ts';
import { rememberingWorktree } from './remembering-worktree.ts';

export interface ImplementDependencies {
  id: ItemId;
  /** The approved LLD, as the file has it. */
  lldText: string;
  /** The hash of its body, as approved. */
  lldHash: string;
  title: string;
  paths: Paths;
  journal: Journal;
  writer: Writer;
  reviewer: Provider;
  prompts: Prompts;
  budget: Budget;
  policy: GatePolicy;
  /** Percent; null: what the LLD says. */
  coverage: number | null;
  /** Named in the commits of tests and code, `Name <address>`. */
  coAuthor: string | null;
  maxRounds: number;
  clock: Clock;
  signal: AbortSignal;
  emit: (event: ItemEvent) => void;
  onProgress: () => void;
  /** The commit to begin at, with what it builds on in it. */
  baseCommit: () => Promise<string>;
  /** Rejects where it can be told by the files of the base commit that nobody knows how to run its tests. */
  requireTests: (base: string) => Promise<void>;
  /** Errors of the mechanical checks, if files of the LLD have changed since it was approved. */
  outdated: (base: string) => Promise<LldFinding[]>;
  /** Makes the worktree, or takes over what is there, and prepares it. */
  openWorktree: (base: string) => Promise<PreparedWorktree>;
  openTests: () => Promise<TestSuite>;
  /** Every tracked file of a commit. */
  pathsAt: (commit: string) => Promise<readonly string[]>;
  lookOutside: () => Promise<OutsideView>;
  mask: (text: string) => string;
}

export interface PreparedWorktree {
  worktree: Worktree;
  /** It was checked out just now, and nothing has run in it. */
  isFresh: boolean;
}

export interface ImplementResult {
  status: 'succeeded' | 'discuss' | 'skipped';
  reason: string | null;
  outputs: string[];
}

/** An approved LLD becomes a branch: tests, seen to fail; code, seen to make them pass; a review; a report. */
export async function runImplement(deps: ImplementDependencies): Promise<ImplementResult> {
  const { id, lldText, lldHash, title, journal, emit, clock, signal, policy, maxRounds, prompts, mask } = deps;
  const durable = createDurable({ journal, emit, clock, signal });
  const lld = readLld(lldText);

  const base = await beginImplementation(deps, durable);
  const opened = await deps.openWorktree(base);
  const baseTree = await opened.worktree.treeOf(base);
  const worktree = rememberingWorktree(opened.worktree, opened.isFresh ? baseTree : null);
  // The checkout may hold the LLD as an untracked file: a branch that brought it could not be merged there.
  const lldPath = relative(deps.paths.repository, deps.paths.lld(id)).split(sep).join('/');
  const design = (await worktree.read(baseTree, lldPath)) === lldText ? lldPath : deps.paths.reportedLld(id);
  const suite = await deps.openTests();
  const outside = createOutsideWatch({
    look: deps.lookOutside,
    worktree: worktree.directory,
    onChanged: (files) =>
      emit({ type: 'notice', text: `changed in the checkout meanwhile, and left so: ${listed(files)}` }),
  });
  const runs = createTestRuns({ suite, worktree, baseTree, durable, emit, signal, outside });
  const spending = createSpending();
  /** Who wrote the tests, and who the code. */
  const models = { tests: new Set<string>(), code: new Set<string>() };
  const undoneFolder = deps.paths.undone('implement', id);
  const write = createWriting({
    writer: deps.writer,
    worktree,
    journal,
    durable,
    emit,
    onProgress: deps.onProgress,
    signal,
    clock,
    maxRounds,
    outside,
    undoneFolder,
    item: id,
    system: prompts.fill('implementer'),
    mask,
    onWritten: (used, phase) => {
      spending.add('implementer', deps.writer.spec, used);
      models[phase].add(mask(used.answered ?? deps.writer.spec));
    },
  });

  const baseline =
    policy === 'off'
      ? NO_BASELINE
      : baselineOf(
          await runs.baseline(async (run) => {
            const paths = run.outcome === 'no-tests' ? await deps.pathsAt(base) : [];
            const testFiles = paths.filter((path) => suite.isTestFile(path) && mayHoldTests(path));
            return whyNoBaseline(run, suite.runner, testFiles);
          }),
        );
  const { reviewer, budget, onProgress } = deps;
  const call = createModelCaller({
    journal,
    providers: { reviewer },
    budget,
    emit,
    onProgress,
    signal,
    clock,
    onAnswer: (used) => spending.add('reviewer', reviewer.spec, used),
  });
  const guards = createGuards({ deps, lld, call });
  const gates = createGateKeeper({
    lld,
    suite,
    runs,
    worktree,
    baseTree,
    baseline,
    guards,
    policy,
    coverage: deps.coverage,
    undoneFolder,
    emit,
    mask,
  });
  const task: WritingTask = {
    id,
    title,
    lld: lld.text,
    scenarios: lld.scenarios,
    files: lld.files,
    isTestFile: (path) => suite.isTestFile(path),
    runner: suite.runner,
    command: suite.command,
  };
  const taskOf =
    (phase: 'tests' | 'code', asked: { review?: string; failures: readonly string[] } = { failures: [] }) =>
    (found: readonly string[], round: number): string => {
      const failures = round === 1 ? asked.failures : found;
      const first = phase === 'tests' ? testsTask : codeTask;
      const text =
        failures.length === 0 ? first(prompts, task) : againTask(prompts, task, { ...asked, phase, failures });
      // A command has nothing but this text to tell what is wanted of it.
      return `${text}\n\nPhase: ${phase}, call ${round}.`;
    };

  const testsTree = await write({
    phase: 'tests',
    name: 'tests',
    start: baseTree,
    task: taskOf('tests'),
    judge: (tree, step, round) => gates.judgeTests(tree, step, round),
  });
  const { value: tests } = await durable({ name: 'commit-tests', inputs: { tree: testsTree, base } }, async () => {
    const message = commitMessage({
      subject: `Tests for ${id}: ${title}`,
      body: `Seen to fail before the code. Design: ${design}`,
      models: models.tests,
      coAuthor: deps.coAuthor,
    });
    return { commit: await worktree.commit({ tree: testsTree, parents: [base], message }) };
  });
  await worktree.setBranch(tests.commit);
  emit({ type: 'committed', branch: worktree.branch, commit: tests.commit, what: 'tests' });

  const codeTree = await write({
    phase: 'code',
    name: 'code',
    start: testsTree,
    task: taskOf('code'),
    judge: gates.judgeCode(testsTree),
  });
  const decider = createDecider({
    workflow: 'implement',
    item: { id, title, hash: lldHash },
    journal,
    paths: deps.paths,
    folder: deps.paths.lineage(id),
    canRevise: deps.writer.isModel,
    emit,
  });
  const reviews = join(deps.paths.home('implement', id), 'reviews');
  const review = await reviewCode(codeTree, {
    deps,
    lld,
    worktree,
    baseTree,
    gates,
    decide: (point) => decider.ask(point),
    onReview: (text, round) => writeFileAtomic(join(reviews, `review-${round}.md`), mask(text)),
    call,
    revise: ({ start, name, ...asked }) =>
      write({ phase: 'code', name, start, task: taskOf('code', asked), judge: gates.judgeCode(testsTree) }),
  });
  if (review.verdict === 'DISCUSS') {
    await worktree.restore(review.tree);
    return { status: 'discuss', reason: review.reason, outputs: [reviews, worktree.directory, worktree.branch] };
  }
  if (review.verdict === 'DROPPED') return decider.drop(review.decision);
  return finishImplementation({
    deps,
    durable,
    worktree,
    gates,
    base,
    testsCommit: tests.commit,
    baseTree,
    lld,
    design,
    models: models.code,
    isTestFile: (path) => suite.isTestFile(path),
    guards,
    review,
    spending: spending.all(),
  });
}
