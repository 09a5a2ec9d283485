import { existsSync } from 'node:fs';
import { codeOf } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { DEPENDS_ON } from '../../core/item.ts';
import { shownPath, WORKFLOWS, type WorkflowName } from '../../core/paths.ts';
import type { ItemDetail, Stage, Standing } from '../../core/summary.ts';
import { wordingOf } from '../../core/wording.ts';
import { branchesBelow } from '../../git/branches.ts';
import { commitFiles, headCommit } from '../../git/repository.ts';
import { namesIn } from '../../process/files.ts';
import { type RepositoryContext, repositoryContext } from '../../prompts/context/context.ts';
import { readIndex } from '../../prompts/context/index-file.ts';
import { createBriefSource, parseIssue, readLldHashes } from '../../source/directory.ts';
import { type Implementation, implementationsOf } from '../../workflow/implementations.ts';
import { lldBatch } from '../batches/document-batches.ts';
import { type ItemHistory, itemHistories } from '../history/run-history.ts';
import type { CollectedItem } from '../pipeline.ts';
import type { Project } from '../project.ts';
import { askedOf, type WaitingItem, waitingItem } from './waiting-item.ts';

/** Each takes milliseconds. For more waiting items, the result of their last run is used. */
const MOST_JOURNALS = 100;

/** Every issue, and every LLD whose issue is gone, in natural order. Writes nothing. */
export async function standings(project: Project): Promise<Standing[]> {
  const issues = await lldBatch.collect(project, 'all').catch((error: unknown) => {
    if (codeOf(error) === 'source-missing') return [];
    throw error;
  });
  const known = new Set<string>(issues.map(({ id }) => id));
  const llds = await readLldHashes(project.paths.llds);
  const alone = [...llds.keys()].filter((id) => !known.has(id)).map(withoutIssue);
  return standingsOf(project, [...issues, ...alone], llds);
}

/** Everything about one item; null: there is neither an issue nor an LLD with this id. */
export async function detailOf(project: Project, id: ItemId): Promise<ItemDetail | null> {
  const { paths, git } = project;
  const collected = await lldBatch.collect(project, [id]).catch((error: unknown) => {
    const code = codeOf(error);
    if (code !== 'source-missing' && code !== 'issue-missing') throw error;
    return existsSync(paths.lld(id)) ? [withoutIssue(id)] : [];
  });
  const [standing] = await standingsOf(project, collected, await readLldHashes(paths.llds));
  if (standing === undefined) return null;
  const waiting = standing.waitsFor === 'person' || standing.waitsFor === 'run' ? waitingItem(paths, id) : null;
  const ifThere = (path: string): string | null => (existsSync(path) ? shownPath(paths.repository, path) : null);
  const [unfinished] = await branchesBelow(git, `agentos/${id}-`);
  return {
    ...standing,
    branch: standing.branch ?? unfinished?.name ?? null,
    lld: ifThere(paths.lld(id)),
    lineage: ifThere(paths.lineage(id)),
    question: waiting && askedOf(project, waiting),
  };
}

/** An LLD whose issue is gone. */
function withoutIssue(id: ItemId): CollectedItem {
  return { id, title: `LLD-${id}`, state: 'done' };
}

async function standingsOf(
  { paths, git }: Project,
  items: readonly CollectedItem[],
  llds: ReadonlyMap<string, string | null>,
): Promise<Standing[]> {
  const designed = items.filter(({ state }) => state === 'done').map(({ id }) => id);
  const [histories, implementations, checkpoints, worktrees] = await Promise.all([
    itemHistories(paths),
    designed.length === 0 ? null : implementationsOf({ git, paths }, designed),
    namesIn(paths.checkpoints).then((names) => new Set(names)),
    namesIn(paths.worktrees).then((names) => new Set(names)),
  ]);
  let journals = 0;
  return items.map((item) => {
    const { id, title, error, replaces, solved, labels = [] } = item;
    const history = histories.get(id);
    const found = (implementations?.get(id) ?? []).filter(({ lldHash }) => lldHash === llds.get(id));
    const state = stageOf(item, found, history);
    // An item on a branch waits only if a reaction to its pull request does.
    const isReacting = (state === 'branch' || state === 'already-done') && checkpoints.has(`react-${id}.db`);
    const isOpen = state === 'issue' || state === 'lld';
    const hasJournal = WORKFLOWS.some((workflow) => checkpoints.has(`${workflow}-${id}.db`));
    const mayAsk = isOpen ? hasJournal && history?.last.status === 'discuss' : isReacting;
    const workflows: WorkflowName[] | undefined = isOpen ? undefined : ['react'];
    const waiting = mayAsk && journals++ < MOST_JOURNALS ? waitingItem(paths, id, workflows) : null;
    const wait = waitOf(isOpen ? history : undefined, hasJournal, waiting);
    const changed = replaces === undefined ? null : `the issue changed since ${replaces.path} was approved`;
    return {
      id,
      title,
      labels,
      state,
      waitsFor: wait.waitsFor,
      reason:
        error === undefined
          ? ((isOpen ? null : wait.reason) ?? solved?.reason ?? changed ?? wait.reason)
          : wordingOf(error.problem).message,
      costUsd: history?.costUsd ?? 0,
      runs: history?.runs ?? 0,
      branch: branchOf(found),
      worktree: worktrees.has(`implement-${id}`) ? shownPath(paths.repository, paths.worktree('implement', id)) : null,
      isUnderWay: history?.isUnderWay ?? false,
      lastRun: history?.last ?? null,
    };
  });
}

/** The last local branch: a new implementation has a new branch. */
function branchOf(found: readonly Implementation[]): string | null {
  const here = found.findLast(({ ref }) => ref.startsWith('refs/heads/'));
  const one = here ?? found.find(({ ref }) => ref !== 'HEAD');
  return one?.ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '') ?? null;
}

function stageOf({ state }: CollectedItem, found: readonly Implementation[], history: ItemHistory | undefined): Stage {
  if (state === 'dropped' || state === 'already-done' || state === 'unreadable') return state;
  if (found.some(({ ref }) => ref === 'HEAD')) return 'merged';
  if (found.length > 0) return 'branch';
  // Reading the lineage would take longer: the run that skipped the implementation says why.
  const skipped = history?.last.status === 'skipped' ? history.last.reason : null;
  if (skipped?.startsWith('dropped by ')) return 'dropped';
  if (skipped?.startsWith('already done at ')) return 'already-done';
  return state === 'done' ? 'lld' : 'issue';
}

/** From the question in its journal, if it was read, else from its last run. */
function waitOf(
  history: ItemHistory | undefined,
  hasJournal: boolean,
  waiting: WaitingItem | null,
): Pick<Standing, 'waitsFor' | 'reason'> {
  if (waiting !== null && waiting.decided.length > 0) return { waitsFor: 'run', reason: null };
  if (waiting !== null) return { waitsFor: 'person', reason: waiting.question.reason };
  if (history === undefined) return { waitsFor: null, reason: null };
  if (history.isUnderWay) return { waitsFor: history.needsQuota ? 'quota' : null, reason: null };
  const { status, reason } = history.last;
  if (status === 'discuss') return { waitsFor: hasJournal ? 'person' : 'model', reason };
  if (status === 'paused') return { waitsFor: 'quota', reason };
  return { waitsFor: status === 'cancelled' && reason?.startsWith(DEPENDS_ON) ? 'item' : null, reason };
}

/** What drafter and reviewer are shown of the repository for an item. Default commit: HEAD. */
export async function contextOf(project: Project, id: ItemId, at: string | null = null): Promise<RepositoryContext> {
  const { paths, config, git, source } = project;
  const commit = at ?? (await headCommit(git));
  const asked = await source.read(id).catch(async (error: unknown) => {
    if (codeOf(error) !== 'issue-missing') throw error;
    const brief = await createBriefSource(paths.briefs)
      .read(id)
      .catch(() => null);
    if (brief !== null) return brief;
    // In a bare repository, the issue in the commit.
    const text = await commitFiles(git, commit).read(`issues/${id}.md`);
    if (text.trim() === '') throw error;
    return parseIssue(id, text);
  });
  return repositoryContext(git, commit, asked, config.context, await readIndex(paths.contextIndex));
}
