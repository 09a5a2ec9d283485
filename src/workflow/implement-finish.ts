import { basename, join, relative, sep } from 'node:path';
import { oneLine, unlinked } from '../core/lines.ts';
import { describeDecision } from '../documents/decision.ts';
import { namesInside, readText } from '../process/text-file.ts';
import { type ChangedFile, writeReport } from '../verification/report.ts';
import type { ReviewedCode } from './code-review.ts';
import type { Gates } from './gates.ts';
import type { ItemResult } from './item.ts';
import type { Guards } from './red.ts';
import type { ImplementContext, WorktreeContext } from './worktree-item.ts';

/** An approved implementation. */
interface Finished {
  testsCommit: string;
  /** The path of the LLD on the branch. */
  design: string;
  /** The models that wrote the code. */
  authors: ReadonlySet<string>;
  gates: Gates;
  guards: Guards;
  review: ReviewedCode;
}

/** Commits code and report on top of the tests, then removes the worktree. */
export async function finishImplementation(context: ImplementContext, finished: Finished): Promise<ItemResult> {
  const { id, title, emit, signal, paths, lldText, mask, worktree } = context;
  const { testsCommit, design, authors, review } = finished;
  const { branch } = worktree;
  const { coAuthor } = context.config.implement;
  const subject = title.trim() || `Implement ${id}`;
  const codeCommit = await commitStep(context, 'commit-code', {
    tree: review.tree,
    parents: [testsCommit],
    message: commitMessage({ subject, body: `Implements ${id}. Design: ${design}`, models: authors, coAuthor }),
  });
  const report = paths.report(id);
  const beside = paths.reportedLld(id);
  const complete = await worktree.withFiles(review.tree, {
    [report]: mask(context.portable(await reportOf(context, finished, codeCommit))),
    // An earlier design of the item may have left one there.
    [beside]: design === beside ? lldText : null,
    ...lineageFiles(context),
  });
  const reportCommit = await commitStep(context, 'commit-report', {
    tree: complete,
    parents: [codeCommit],
    message: unlinked(oneLine(`Report on ${id}: ${title}`)),
  });
  signal.throwIfAborted();
  await worktree.setBranch(reportCommit, true);
  emit({ type: 'committed', branch, commit: codeCommit, what: 'code' });
  emit({ type: 'committed', branch, commit: reportCommit, what: 'report' });
  await worktree.remove();
  return { status: 'succeeded', reason: null, outputs: [branch, report] };
}

/** Beside the report, as the design is: these files may be untracked in the checkout. */
function lineageFiles({ config, paths, id, mask, portable }: ImplementContext): Record<string, string> {
  if (config.lineage !== 'commit') return {};
  const folder = paths.lineage(id);
  const names = namesInside(folder, paths.repository).filter((name) => name.endsWith('.md'));
  const files = names.map((name): [string, string] => {
    const text = readText(join(folder, name), folder) ?? '';
    return [`${paths.reportedLineage(id)}/${name}`, mask(portable(text))];
  });
  return Object.fromEntries(files);
}

async function reportOf(context: ImplementContext, finished: Finished, codeCommit: string): Promise<string> {
  const { id, title, hash: lldHash, worktree, base, baseTree, lld, suite, spending, models } = context;
  const { testsCommit, design, gates, guards, review } = finished;
  const spec = (text: string): string => portableSpec(context.paths.repository, text);
  const lines = await worktree.lines(baseTree, review.tree);
  const planned = new Set(lld.files.map(({ path }) => path));
  const changes = (await worktree.changes(baseTree, review.tree)).map(
    ({ path, kind }): ChangedFile => ({
      path,
      change: kind,
      isTest: suite.isTestFile(path),
      planned: planned.has(path),
      linesAdded: lines.get(path)?.added ?? null,
      linesRemoved: lines.get(path)?.removed ?? null,
    }),
  );
  return writeReport({
    id,
    title,
    design,
    lldHash,
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
    review: { rounds: review.rounds, verdict: review.verdict, ledger: review.ledger },
    notices: [
      ...context.on.map((branch) => `begun at ${branch}, which was not merged: merge that first`),
      ...changes
        .filter(({ planned: isPlanned }) => !isPlanned)
        .map(({ path }) => `${path}: changed, but not in the LLD`),
      ...lld.files
        .filter(({ path }) => !changes.some((change) => change.path === path || change.path.startsWith(`${path}/`)))
        .map(({ path, change }) => `${path}: the LLD says ${change}, but it is as it was`),
      ...gates.undone().map(({ step, paths, why }) => `${step}: undone, ${why}: ${paths.join(', ')}`),
      ...guards.found(),
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

/** A commit as a durable step. */
export async function commitStep(
  { step, worktree }: WorktreeContext,
  name: string,
  made: Parameters<WorktreeContext['worktree']['commit']>[0],
): Promise<string> {
  const { value } = await step({ name, inputs: made }, async () => ({ commit: await worktree.commit(made) }));
  return value.commit;
}

interface CommitFacts {
  subject: string;
  body: string;
  /** The models that wrote the change. */
  models: Iterable<string>;
  /** `Name <address>`; null: none. */
  coAuthor: string | null;
}

/**
 * Subject, body and trailers. Titles and names of models are one line each, so they can't add trailers. A title from outside
 * notifies nobody and closes no issue.
 */
export function commitMessage({ subject, body, models, coAuthor }: CommitFacts): string {
  const trailers = [...models].map((model) => `Implemented-by: ${oneLine(model)}`);
  if (coAuthor !== null) trailers.push(`Co-authored-by: ${oneLine(coAuthor)}`);
  return `${unlinked(oneLine(subject))}\n\n${body}\n\n${trailers.join('\n')}\n`;
}
