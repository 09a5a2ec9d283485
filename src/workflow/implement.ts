import { basename, join, relative, sep } from 'node:path';
import type { WritingPhase } from '../agent/port.ts';
import { oneLine, unlinked } from '../core/lines.ts';
import { describeDecision } from '../documents/decision.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import { branchNameOf } from '../git/branches.ts';
import { namesInside, readText } from '../process/files.ts';
import { writeReport } from '../verification/report.ts';
import { type ReviewedCode, reviewCode, reviewsOf } from './code-review.ts';
import { createDecider } from './decide.ts';
import { createGates, type Gates } from './gates.ts';
import { beginImplementation } from './implement-base.ts';
import { type ShownRepository, type WritingAgain, writingTask } from './implementer-tasks.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { askAlreadyDone } from './red.ts';
import { openTests } from './tests.ts';
import {
  commitMessage,
  commitStep,
  type DesignedContext,
  openInWorktree,
  type WorktreeParts,
} from './worktree-item.ts';
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
  const { id, title, paths, emit } = item;
  const { lldText } = parts;
  const { base, on, forecast } = await beginImplementation(item, parts);
  const branch = branchNameOf(id, title);
  const { files } = designFacts(lldText);
  const opened = await openInWorktree(item, parts, { base, branch, isUntouched: on.length === 0, files });
  const context = { ...opened, lld: readLld(lldText) };
  const { worktree, baseTree } = context;
  const tests = await openTests(context);
  const gates = createGates(context, tests);
  const { write, authors } = createWriterCalls(context, tests);
  const shown = await shownRepository(context);
  const taskOf =
    (phase: WritingPhase, asked: Omit<WritingAgain, 'failures'> = {}) =>
    (failures: readonly string[], call: number): string =>
      writingTask(context, shown, phase, { ...asked, failures }, call);
  // The LLD may be untracked in the checkout: then a branch with that file can't be merged there, and has a copy elsewhere.
  const path = relative(paths.repository, paths.lld(id)).split(sep).join('/');
  const design = (await worktree.read(baseTree, path)) === lldText ? path : paths.reportedLld(id);

  const decider = createDecider(context, { folder: paths.lineage(id), canRevise: context.writer.isModel });
  const testsTree = await write<ItemResult>({
    phase: 'tests',
    name: 'tests',
    start: baseTree,
    task: taskOf('tests'),
    gates: gates.tests,
    instead: async (written, { passing }) =>
      passing === undefined ? null : askAlreadyDone(context, { decider, repository: shown.text }, written, passing),
  });
  if (typeof testsTree !== 'string') return testsTree;
  const by = { coAuthor: context.config.implement.coAuthor };
  const testsCommit = await commitStep(context, 'commit-tests', {
    tree: testsTree,
    parents: [base],
    message: commitMessage(`Tests for ${id}: ${title}`, `Seen to fail before the code. Design: ${design}`, {
      ...by,
      models: authors.tests,
    }),
  });
  await worktree.setBranch(testsCommit);
  emit({ type: 'committed', branch: worktree.branch, commit: testsCommit, what: 'tests' });

  const start = testsTree;
  const written = await write({ phase: 'code', name: 'code', start, task: taskOf('code'), gates: gates.code(start) });
  const review = await reviewCode(context, written, {
    gates,
    decider,
    forecast,
    revise: ({ review: said, mayChange, ...asked }) =>
      write({
        ...asked,
        phase: 'code',
        task: taskOf('code', { review: said, mayChange }),
        gates: gates.revision(testsTree, asked.start, mayChange),
      }),
  });
  if (review.verdict === 'DISCUSS') {
    await worktree.restore(review.tree);
    const outputs = [reviewsOf(context), worktree.directory, worktree.branch];
    return { status: 'discuss', reason: review.reason, outputs };
  }
  if (review.verdict === 'DROPPED') return decider.drop(review.decision);
  const codeCommit = await commitStep(context, 'commit-code', {
    tree: review.tree,
    parents: [testsCommit],
    message: commitMessage(title.trim() || `Implement ${id}`, `Implements ${id}. Design: ${design}`, {
      ...by,
      models: authors.code,
    }),
  });
  return finish(context, { testsCommit, codeCommit, design, on, gates, review });
}

/** Stored, so that a resumed item asks the same questions, also after an upgrade that would show other code. */
async function shownRepository({
  journal,
  base,
  hash,
  title,
  lld,
  contextFor,
}: DesignedContext & ImplementParts): Promise<ShownRepository> {
  const { value } = await journal.step({ name: 'context', inputs: { base, lld: hash } }, async () => {
    const { text, tests } = await contextFor(base, { title, body: lld.text, files: lld.files.map(({ path }) => path) });
    return { text, tests };
  });
  return value;
}

/** An approved implementation. */
interface Approved {
  testsCommit: string;
  codeCommit: string;
  /** The path of the LLD on the branch. */
  design: string;
  /** Branches in the base that were not merged when it started. */
  on: readonly string[];
  gates: Gates;
  review: ReviewedCode;
}

/** Commits the report on top of the code, then removes the worktree. */
async function finish(context: DesignedContext & ImplementParts, approved: Approved): Promise<ItemResult> {
  const { id, title, emit, signal, paths, lldText, mask, portable, worktree } = context;
  const { design, codeCommit, review } = approved;
  const { branch } = worktree;
  const report = paths.report(id);
  const beside = paths.reportedLld(id);
  const complete = await worktree.withFiles(review.tree, {
    [report]: mask(portable(await reportOf(context, approved))),
    // An earlier design of the item may have left one there.
    [beside]: design === beside ? lldText : null,
    ...lineageFiles(context),
  });
  const message = unlinked(oneLine(`Report on ${id}: ${title}`));
  const reportCommit = await commitStep(context, 'commit-report', { tree: complete, parents: [codeCommit], message });
  signal.throwIfAborted();
  await worktree.setBranch(reportCommit, true);
  emit({ type: 'committed', branch, commit: codeCommit, what: 'code' });
  emit({ type: 'committed', branch, commit: reportCommit, what: 'report' });
  await worktree.remove();
  return { status: 'succeeded', reason: null, outputs: [branch, report] };
}

/** Beside the report, as the design is: these files may be untracked in the checkout. */
function lineageFiles({ config, paths, id, mask, portable }: DesignedContext): Record<string, string> {
  if (config.lineage !== 'commit') return {};
  const folder = paths.lineage(id);
  const names = namesInside(folder, paths.repository).filter((name) => name.endsWith('.md'));
  const files = names.map((name): [string, string] => {
    const text = readText(join(folder, name), folder) ?? '';
    return [`${paths.reportedLineage(id)}/${name}`, mask(portable(text))];
  });
  return Object.fromEntries(files);
}

async function reportOf(context: DesignedContext, approved: Approved): Promise<string> {
  const { id, title, hash, worktree, base, baseTree, lld, suite, spending, models } = context;
  const { testsCommit, codeCommit, design, on, gates, review } = approved;
  const spec = (text: string): string => portableSpec(context.paths.repository, text);
  const lines = await worktree.lines(baseTree, review.tree);
  const planned = new Set(lld.files.map(({ path }) => path));
  const changes = (await worktree.changes(baseTree, review.tree)).map(({ path, kind }) => ({
    path,
    change: kind,
    isTest: suite.isTestFile(path),
    planned: planned.has(path),
    linesAdded: lines.get(path)?.added ?? null,
    linesRemoved: lines.get(path)?.removed ?? null,
  }));
  return writeReport({
    id,
    title,
    design,
    lldHash: hash,
    branch: worktree.branch,
    baseCommit: base,
    testsCommit,
    codeCommit,
    implementer: spec(models.last('implementer')),
    reviewer: spec(models.last('reviewer')),
    policy: context.config.implement.policy,
    changes,
    gates: gates.evidence(),
    ...gates.proven(),
    review,
    notices: [
      ...on.map((branch) => `starts from ${branch}, which is not merged: merge that first`),
      ...changes.filter((change) => !change.planned).map(({ path }) => `${path}: changed, but not in the LLD`),
      ...lld.files
        .filter(({ path }) => !changes.some((change) => change.path === path || change.path.startsWith(`${path}/`)))
        .map(({ path, change }) => `${path}: the LLD says ${change}, but the file is unchanged`),
      ...gates.undone().map(({ step, paths, why }) => `${step}: undone, ${why}: ${paths.join(', ')}`),
      ...gates.guards.found(),
      ...review.decisions.map(describeDecision),
    ],
    spending: spending.all().map((one) => ({ ...one, model: spec(one.model) })),
  });
}

/** Absolute paths among the words of a command. */
const PATHS = /(?<=')\/[^']*(?=')|(?<=")\/[^"]*(?=")|(?<=[\s=:])\/[^\s'"]+/g;

/** A model spec without absolute paths: they become relative to the repository, or the name alone. */
export function portableSpec(repository: string, spec: string): string {
  if (!spec.startsWith('command:')) return spec;
  return spec.replace(PATHS, (path) => {
    const way = relative(repository, path).split(sep).join('/');
    const isUnrelated = way.endsWith(`..${path}`);
    return isUnrelated ? basename(path) : way || '.';
  });
}
