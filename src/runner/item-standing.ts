import { existsSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { codeOf } from '../core/errors.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { type Paths, WORKFLOWS } from '../core/paths.ts';
import type { ItemDetail, Stage, Standing } from '../core/standing.ts';
import { wordingOf } from '../core/wording.ts';
import { createGit } from '../workspace/git.ts';
import { type ItemHistory, itemHistories } from '../workspace/item-history.ts';
import type { Project } from '../workspace/project.ts';
import type { CollectedItem } from './batch.ts';
import { implementationsOf } from './implement-batch.ts';
import { lldBatch } from './lld-batch.ts';
import { askedOf, type WaitingItem, waitingItem } from './waiting-item.ts';

/** Each takes milliseconds; of more items that wait, what their last run said has to do. */
const MOST_JOURNALS = 100;

/** Every issue, and every LLD whose issue is gone, in natural order. Looks, and writes nothing. */
export async function standings(project: Project): Promise<Standing[]> {
  const issues = await lldBatch.collect(project, 'all').catch((error: unknown) => {
    if (codeOf(error) === 'source-missing') return [];
    throw error;
  });
  const known = new Set<string>(issues.map(({ id }) => id));
  const alone = (await writtenLlds(project.paths)).filter((id) => !known.has(id));
  return standingsOf(project, [...issues, ...alone.map(withoutIssue)]);
}

/** One of them, with all there is to know; null: there is neither an issue nor an LLD of this id. `place`: flags that say where. */
export async function detailOf(project: Project, id: ItemId, place: readonly string[]): Promise<ItemDetail | null> {
  const { paths } = project;
  const collected = await lldBatch.collect(project, [id]).catch((error: unknown) => {
    const code = codeOf(error);
    if (code !== 'source-missing' && code !== 'issue-missing') throw error;
    return existsSync(paths.lld(id)) ? [withoutIssue(id)] : [];
  });
  const [standing] = await standingsOf(project, collected);
  if (standing === undefined) return null;
  const waiting = standing.waitsFor === 'person' || standing.waitsFor === 'run' ? waitingItem(paths, id) : null;
  const ifThere = (path: string): string | null => (existsSync(path) ? relative(paths.repository, path) : null);
  return {
    ...standing,
    lld: ifThere(paths.lld(id)),
    lineage: ifThere(paths.lineage(id)),
    question: waiting && askedOf(paths, waiting, place),
  };
}

/** An approved LLD stands on its own. */
function withoutIssue(id: ItemId): CollectedItem {
  return { id, title: `LLD-${id}`, state: 'done', error: null, chars: 0 };
}

async function standingsOf(project: Project, items: readonly CollectedItem[]): Promise<Standing[]> {
  const { paths, childEnv } = project;
  const designed = items.filter(({ state }) => state === 'done').map(({ id }) => id);
  const git = createGit(paths.repository, childEnv);
  const [histories, hashes, implementations, checkpoints, worktrees] = await Promise.all([
    itemHistories(paths),
    approvedHashes(paths, designed),
    designed.length === 0 ? new Map<string, never[]>() : implementationsOf(git, paths, designed),
    namesIn(dirname(paths.checkpoint('lld', 'x' as ItemId))),
    namesIn(paths.worktrees),
  ]);
  let journals = 0;
  return items.map((item) => {
    const { id, title, state, error } = item;
    const history = histories.get(id);
    const found = (implementations.get(id) ?? []).filter(({ lldHash }) => lldHash === hashes.get(id));
    const branch =
      found.find(({ ref }) => ref !== 'HEAD')?.ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '') ?? null;
    const stage: Stage =
      state === 'dropped' || state === 'unreadable'
        ? state
        : found.some(({ ref }) => ref === 'HEAD')
          ? 'merged'
          : branch !== null
            ? 'branch'
            : state === 'done'
              ? 'lld'
              : 'issue';
    const isOpen = stage === 'issue' || stage === 'lld';
    const hasJournal = WORKFLOWS.some((workflow) => checkpoints.has(`${workflow}-${id}.db`));
    const isAsked = isOpen && hasJournal && history?.last.status === 'discuss' && journals++ < MOST_JOURNALS;
    const waiting = isAsked ? waitingItem(paths, id) : null;
    return {
      id,
      title,
      state: stage,
      ...(isOpen ? waitOf(history, hasJournal, waiting) : { waitsFor: null, reason: null }),
      ...(item.replaces === undefined ? {} : { reason: `the issue changed since ${item.replaces.path} was approved` }),
      ...(error === null ? {} : { reason: wordingOf(error.problem).message }),
      costUsd: history?.costUsd ?? 0,
      runs: history?.runs ?? 0,
      branch,
      worktree: worktrees.has(`implement-${id}`) ? relative(paths.repository, paths.worktree('implement', id)) : null,
      isUnderWay: history?.isUnderWay ?? false,
      lastRun: history?.last ?? null,
    };
  });
}

function waitOf(
  history: ItemHistory | undefined,
  hasJournal: boolean,
  waiting: WaitingItem | null,
): Pick<Standing, 'waitsFor' | 'reason'> {
  const wait = (waitsFor: Standing['waitsFor'], reason: string | null) => ({ waitsFor, reason });
  if (history?.isUnderWay) return wait(history.needsQuota ? 'quota' : null, null);
  const { status = null, reason = null } = history?.last ?? {};
  if (status === 'discuss') {
    if (!hasJournal) return wait('model', reason);
    return waiting !== null && waiting.decided.length > 0 ? wait('run', null) : wait('person', reason);
  }
  if (status === 'paused') return wait('quota', reason);
  if (status === 'cancelled' && reason !== null) return wait('item', reason);
  return wait(null, reason);
}

async function writtenLlds(paths: Paths): Promise<ItemId[]> {
  const names = await namesIn(dirname(paths.lld('x' as ItemId)));
  const ids = [...names].flatMap((name) => {
    const id = /^LLD-(.+)\.md$/.exec(name)?.[1] ?? '';
    return isItemId(id) ? [id] : [];
  });
  return ids.sort(new Intl.Collator('en', { numeric: true }).compare);
}

async function namesIn(folder: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(folder).catch(() => []));
}

const HEAD_BYTES = 4_096;
const READ_AT_ONCE = 64;

/** As the front matter of each LLD has it; the designs themselves are long, and nothing else in them is asked for. */
async function approvedHashes(paths: Paths, ids: readonly ItemId[]): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
    const some = ids.slice(at, at + READ_AT_ONCE);
    const heads = await Promise.all(some.map((id) => headOf(paths.lld(id))));
    for (const [index, id] of some.entries()) {
      const head = heads[index] ?? '';
      const field = /^implementedHash: "?([0-9a-f]{64})/m.exec(head) ?? /^bodyHash: "?([0-9a-f]{64})/m.exec(head);
      const hash = field?.[1];
      if (hash !== undefined) hashes.set(id, hash);
    }
  }
  return hashes;
}

async function headOf(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
