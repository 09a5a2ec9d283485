import { join, relative, sep } from 'node:path';
import { commitMessage } from '../documents/implementation/commit-message.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import { branchNameOf } from '../git/branches.ts';
import { openCommit } from '../git/repository.ts';
import { setupWithBuild } from '../process/setup.ts';
import { againTask, codeTask, testsTask, type WritingAgain, type WritingTask } from '../prompts/writing-tasks.ts';
import { folderFiles } from '../testing/project.ts';
import { mayHoldTests } from '../testing/test-files.ts';
import { type Baseline, baselineOf, loadWarning, NO_BASELINE, whyNoBaseline } from '../verification/baseline.ts';
import { createAlreadyDoneQuestion, keepReview } from './already-done.ts';
import { reviewCode } from './code-review.ts';
import { createDecider } from './decide.ts';
import { createGates } from './gates.ts';
import { beginImplementation, testsFor } from './implement-base.ts';
import { createPortableText, finishImplementation } from './implement-finish.ts';
import type { ImplementContext, ImplementParts } from './implement-item.ts';
import { prepareWorktree } from './implement-worktree.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { createGuards } from './red.ts';
import { createTestRuns, type TestRuns } from './test-runs.ts';
import { createTrials } from './trials.ts';
import { createWriterCalls } from './writing.ts';

/** An approved LLD becomes a branch: tests, seen to fail; code, seen to make them pass; a review; a report. */
export async function runImplement(item: ItemContext, parts: ImplementParts): Promise<ItemResult> {
  const context = await openImplementation(item, parts);
  const { id, title, worktree, base, baseTree, emit, mask, paths, writer } = context;
  const runs = createTestRuns(context);
  const baseline = await baselineIn(context, runs);
  const guards = createGuards(context);
  const gates = createGates(context, { runs, baseline, guards });
  const trials = context.config.implement.policy === 'off' ? null : createTrials(context, runs, baseline);
  const { write, authors } = createWriterCalls(context, trials);
  const shown = await shownRepository(context);
  const taskOf = tasksOf(context, shown);
  const design = await designOnBranch(context);

  const decider = createDecider(context, { folder: paths.lineage(id), canRevise: writer.isModel });
  const reviews = join(paths.home('implement', id), 'reviews');
  const alreadyDone = createAlreadyDoneQuestion(context, { decider, repository: shown.text, reviews });
  const testsTree = await write({
    phase: 'tests',
    name: 'tests',
    start: baseTree,
    task: taskOf('tests'),
    judge: (tree, step, round) => gates.judgeTests(tree, step, round),
    instead: (judgement, round) => alreadyDone.ask(judgement, round),
  });
  const ended = alreadyDone.ended();
  if (ended !== null) return ended;
  const { value: tests } = await context.step({ name: 'commit-tests', inputs: { tree: testsTree, base } }, async () => {
    const message = commitMessage({
      subject: `Tests for ${id}: ${title}`,
      body: `Seen to fail before the code. Design: ${design}`,
      models: authors.tests,
      coAuthor: context.config.implement.coAuthor,
    });
    return { commit: await worktree.commit({ tree: testsTree, parents: [base], message }) };
  });
  await worktree.setBranch(tests.commit);
  emit({ type: 'committed', branch: worktree.branch, commit: tests.commit, what: 'tests' });

  const judge = gates.judgeCode(testsTree);
  const codeTree = await write({ phase: 'code', name: 'code', start: testsTree, task: taskOf('code'), judge });
  const review = await reviewCode(context, codeTree, {
    gates,
    decide: decider.ask,
    decidedBefore: decider.decidedBefore,
    onReview: (text, round) => keepReview(reviews, `review-${round}.md`, mask(text)),
    revise: ({ start, name, ...asked }) =>
      write({
        phase: 'code',
        name,
        start,
        task: taskOf('code', asked),
        judge,
        limit: gates.limitRevision(start, asked.mayChange),
      }),
  });
  if (review.verdict === 'DISCUSS') {
    await worktree.restore(review.tree);
    return { status: 'discuss', reason: review.reason, outputs: [reviews, worktree.directory, worktree.branch] };
  }
  if (review.verdict === 'DROPPED') return decider.drop(review.decision);
  const testsCommit = tests.commit;
  return finishImplementation(context, { testsCommit, design, authors: authors.code, gates, guards, review });
}

async function openImplementation(item: ItemContext, parts: ImplementParts): Promise<ImplementContext> {
  const { base, on = [], forecast = '' } = await beginImplementation(item, parts);
  const branch = branchNameOf(item.id, item.title);
  const prepared = await prepareWorktree(item, parts, { start: base, branch, isPersons: on.length === 0 });
  const { worktree } = prepared;
  const { directory } = worktree;
  const suite = await parts.openSuite(
    await testsFor(folderFiles(directory), parts.config, designFacts(parts.lldText).files, directory),
  );
  const baseTree = await worktree.treeOf(base);
  const portable = await createPortableText(item.paths.repository, directory);
  const lld = readLld(parts.lldText);
  return { ...item, ...parts, ...prepared, lld, base, on, forecast, baseTree, suite, portable };
}

async function baselineIn(context: ImplementContext, runs: TestRuns): Promise<Baseline> {
  const { config, git, base, suite, emit } = context;
  if (config.implement.policy === 'off') return NO_BASELINE;
  const run = await runs.baseline(async (found) => {
    const paths = found.outcome === 'no-tests' ? (await openCommit(git, base)).paths : [];
    const testFiles = paths.filter((path) => suite.isTestFile(path) && mayHoldTests(path));
    const why = whyNoBaseline(found, suite.runner, testFiles);
    return why === null || found.loadFailures.length === 0 ? why : `${why}${await buildHint(context)}`;
  });
  const warning = loadWarning(run);
  if (warning !== null) emit({ type: 'notice', text: `${warning}${await buildHint(context)}` });
  return baselineOf(run);
}

/** What to write where the tests need a build; nothing where the set-up is named already. */
async function buildHint({ config, worktree, itemEnv }: ImplementContext): Promise<string> {
  const setup = config.implement.setup === null ? await setupWithBuild(worktree.directory, itemEnv['PATH']) : null;
  return setup === null ? '' : `. If they need a build, write in agentos.yaml: implement: { setup: '${setup}' }`;
}

/** The checkout may hold the LLD as an untracked file: a branch that brought it could not be merged there. */
async function designOnBranch({ id, paths, worktree, baseTree, lldText }: ImplementContext): Promise<string> {
  const path = relative(paths.repository, paths.lld(id)).split(sep).join('/');
  return (await worktree.read(baseTree, path)) === lldText ? path : paths.reportedLld(id);
}

/** Stored: a resumed item asks the same questions, also after an upgrade that chooses other code to show. */
async function shownRepository({ journal, contextFor, base, hash, title, lld }: ImplementContext) {
  const { value } = await journal.step({ name: 'context', inputs: { base, lld: hash } }, async () => {
    const { text, tests } = await contextFor(base, { title, body: lld.text, files: lld.files.map(({ path }) => path) });
    return { text, tests };
  });
  return value;
}

/** The tasks for the writer; the first one of a revision holds what its review asks for. */
function tasksOf(
  { id, title, lld, suite, prompts }: ImplementContext,
  repository: { text: string; tests: readonly string[] },
) {
  const task: WritingTask = {
    id,
    title,
    lld: lld.text,
    scenarios: lld.scenarios,
    files: lld.files,
    repository: repository.text,
    existingTests: repository.tests,
    isTestFile: (path) => suite.isTestFile(path),
    runner: suite.runner,
    command: suite.command,
  };
  return (phase: 'tests' | 'code', asked: Omit<WritingAgain, 'phase'> = { failures: [] }) =>
    (found: readonly string[], round: number): string => {
      const failures = round === 1 ? asked.failures : found;
      const first = phase === 'tests' ? testsTask : codeTask;
      const text =
        failures.length === 0 ? first(prompts, task) : againTask(prompts, task, { ...asked, phase, failures });
      // A command has only this text to know which phase it is in.
      return `${text}\n\nPhase: ${phase}, call ${round}.`;
    };
}
