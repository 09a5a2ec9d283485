import { relative, sep } from 'node:path';
import type { WritingPhase } from '../agent/port.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import { branchNameOf } from '../git/branches.ts';
import { createAlreadyDoneQuestion } from './already-done.ts';
import { reviewCode, reviewsOf } from './code-review.ts';
import { createDecider } from './decide.ts';
import { createGates } from './gates.ts';
import { beginImplementation } from './implement-base.ts';
import { commitMessage, commitStep, finishImplementation } from './implement-finish.ts';
import { type ShownRepository, type WritingAgain, writingTask } from './implementer-tasks.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { createGuards } from './red.ts';
import { openTests } from './test-runs.ts';
import { type ImplementContext, openInWorktree, suiteFor, type WorktreeParts } from './worktree-item.ts';
import { createWriterCalls } from './writing.ts';

/** What the worker provides for an implementation. */
export interface ImplementParts extends WorktreeParts {
  /** The file of the approved LLD; the item's hash is that of its body. */
  lldText: string;
  contextFor: (
    commit: string,
    asked: { title: string; body: string; files: readonly string[] },
  ) => Promise<ShownRepository>;
}

/** Turns an approved LLD into a branch: tests that fail, code that makes them pass, a review, a report. */
export async function runImplement(item: ItemContext, parts: ImplementParts): Promise<ItemResult> {
  const context = await openImplementation(item, parts);
  const { id, title, worktree, base, baseTree, emit, paths, writer } = context;
  const tests = await openTests(context, context.suite);
  const guards = createGuards(context);
  const gates = createGates(context, tests, guards);
  const { write, authors } = createWriterCalls(context, tests);
  const shown = await shownRepository(context, parts.contextFor);
  // The first call of a revision is asked for the failures that its review names.
  const taskOf =
    (phase: WritingPhase, asked: WritingAgain = { failures: [] }) =>
    (found: readonly string[], call: number): string =>
      writingTask(context, shown, phase, call === 1 ? asked : { ...asked, failures: found }, call);
  const design = await designOnBranch(context);

  const decider = createDecider(context, { folder: paths.lineage(id), canRevise: writer.isModel });
  const alreadyDone = createAlreadyDoneQuestion(context, { decider, repository: shown.text });
  const testsTree = await write({
    phase: 'tests',
    name: 'tests',
    start: baseTree,
    task: taskOf('tests'),
    judge: gates.judgeTests,
    instead: alreadyDone.ask,
  });
  const ended = alreadyDone.ended();
  if (ended !== null) return ended;
  const testsMessage = commitMessage({
    subject: `Tests for ${id}: ${title}`,
    body: `Seen to fail before the code. Design: ${design}`,
    models: authors.tests,
    coAuthor: context.config.implement.coAuthor,
  });
  const testsCommit = await commitStep(context, 'commit-tests', {
    tree: testsTree,
    parents: [base],
    message: testsMessage,
  });
  await worktree.setBranch(testsCommit);
  emit({ type: 'committed', branch: worktree.branch, commit: testsCommit, what: 'tests' });

  const judge = gates.judgeCode(testsTree);
  const codeTree = await write({ phase: 'code', name: 'code', start: testsTree, task: taskOf('code'), judge });
  const review = await reviewCode(context, codeTree, {
    gates,
    decider,
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
    const outputs = [reviewsOf(context), worktree.directory, worktree.branch];
    return { status: 'discuss', reason: review.reason, outputs };
  }
  if (review.verdict === 'DROPPED') return decider.drop(review.decision);
  return finishImplementation(context, { testsCommit, design, authors: authors.code, gates, guards, review });
}

async function openImplementation(item: ItemContext, parts: ImplementParts): Promise<ImplementContext> {
  const { lldText } = parts;
  const writer = parts.createWriter();
  const { base, on = [], forecast = '' } = await beginImplementation(item, parts);
  const branch = branchNameOf(item.id, item.title);
  const { files } = designFacts(lldText);
  const opened = await openInWorktree(item, parts, { base, branch, isUntouched: on.length === 0, files });
  const suite = await suiteFor(opened, files);
  return { ...opened, lldText, lld: readLld(lldText), writer, suite, on, forecast };
}

/** The LLD may be untracked in the checkout: then a branch with that file can't be merged there, and has a copy elsewhere. */
async function designOnBranch({ id, paths, worktree, baseTree, lldText }: ImplementContext): Promise<string> {
  const path = relative(paths.repository, paths.lld(id)).split(sep).join('/');
  return (await worktree.read(baseTree, path)) === lldText ? path : paths.reportedLld(id);
}

/** Stored, so that a resumed item asks the same questions, also after an upgrade that would show other code. */
async function shownRepository(
  { journal, base, hash, title, lld }: ImplementContext,
  contextFor: ImplementParts['contextFor'],
): Promise<ShownRepository> {
  const { value } = await journal.step({ name: 'context', inputs: { base, lld: hash } }, async () => {
    const { text, tests } = await contextFor(base, { title, body: lld.text, files: lld.files.map(({ path }) => path) });
    return { text, tests };
  });
  return value;
}
