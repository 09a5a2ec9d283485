import { AgentosError } from '../../core/errors.ts';
import { sha256 } from '../../core/hash.ts';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { describeReaction, type Reaction } from '../../core/reaction.ts';
import type { Forge, PullRequest } from '../../forge/port.ts';
import { BRANCH_PREFIX } from '../../git/branches.ts';
import { idsIn, implementationsOf } from '../../workflow/implementations.ts';
import type { Batch, CollectedItem } from '../pipeline.ts';
import { implementDemand } from '../planned-cost.ts';
import type { Project } from '../project.ts';
import { openedFor } from '../services/posts.ts';

export interface ReactRequest {
  /** Whether commits may be fetched. A dry run writes nothing. */
  mayFetch: boolean;
  /** Hashes, by number, of pull requests that needed no reaction. They are skipped until they change. */
  unchanged: Map<number, string>;
}

/** `agentos react`: an item is the issue of a pull request. */
export function reactBatch({ mayFetch, unchanged }: ReactRequest): Batch {
  const reactions = new Map<string, Reaction>();

  async function lookedAt(project: Project, forge: Forge, id: ItemId, request: PullRequest): Promise<CollectedItem> {
    const { reactionTo } = await import('../services/services.ts');
    const title = `pull request #${request.number}`;
    const plain = { id, title };
    reactions.delete(id);
    const next = await reactionTo(project, forge, id, request, mayFetch);
    if (next === 'dropped') return { ...plain, state: 'dropped' };
    if (next === null) return { ...plain, state: 'done' };
    reactions.set(id, next);
    const chars = [...next.checks.map(({ log }) => log), ...next.reviews.map(({ body }) => body)].join('').length;
    return { ...plain, title: `${title}: ${describeReaction(next)}`, chars, state: 'pending' };
  }

  async function all(project: Project, forge: Forge): Promise<CollectedItem[]> {
    const items: CollectedItem[] = [];
    for (const { id, request } of await ownRequests(project, await forge.openPullRequests())) {
      const seen = sha256(JSON.stringify(request));
      if (unchanged.get(request.number) === seen) continue;
      const item = await lookedAt(project, forge, id, request);
      if (item.state === 'pending') items.push(item);
      else unchanged.set(request.number, seen);
    }
    return items;
  }

  async function named(project: Project, forge: Forge, id: ItemId): Promise<CollectedItem> {
    const request = await requestOf(project, forge, id);
    if (request === null) throw new AgentosError({ code: 'pull-request-missing', id });
    const { number, state, url } = request;
    const reason = `pull request #${number} is ${state}`;
    if (state !== 'open' || !request.isOwn)
      return { id, title: reason, state: 'already-done', solved: { reason, outputs: [url] } };
    return lookedAt(project, forge, id, request);
  }

  return {
    workflow: 'react',
    roles: ['implementer', 'reviewer'],
    async collect(project, ids) {
      const forge = await project.hosts.forge();
      if (ids === 'all') return all(project, forge);
      const items: CollectedItem[] = [];
      for (const id of new Set(ids)) items.push(await named(project, forge, id));
      return items;
    },
    settingOf(id) {
      const reaction = reactions.get(id);
      return reaction && { input: { reaction } };
    },
    async start(project, id) {
      const reaction = reactions.get(id);
      const { dispatch } = await import('../services/services.ts');
      if (reaction !== undefined) await dispatch(project, id, reaction);
      return {};
    },
    demand: implementDemand,
    done: {
      reason: 'its pull request needs no reaction',
      outputs: async (project, { id }) => [openedFor(project, id)?.url ?? []].flat(),
    },
    nothingToDo: 'no open pull request of ours needs a reaction',
  };
}

/** The pull request that this program opened for an item, else the newest for one of its branches. */
async function requestOf(project: Project, forge: Forge, id: ItemId): Promise<PullRequest | null> {
  const opened = openedFor(project, id);
  if (opened !== null) return forge.pullRequest(opened.number);
  const branches = await branchesOf(project, [id]);
  for (const branch of branches.get(id) ?? []) {
    const own = await forge.pullRequestsOf(branch);
    const found = own.find(({ state }) => state === 'open') ?? own[0];
    if (found !== undefined) return found;
  }
  return null;
}

/** The open pull requests for items of ours: this state folder posted them, or their branch is here and has a report. */
async function ownRequests(
  project: Project,
  requests: readonly PullRequest[],
): Promise<{ id: ItemId; request: PullRequest }[]> {
  const ours = requests.filter(({ isOwn, branch }) => isOwn && branch.startsWith(BRANCH_PREFIX));
  const candidates = [...new Set(ours.flatMap(({ branch }) => idsIn(branch)))].filter(isItemId);
  const branches = await branchesOf(project, candidates);
  const opened = new Map(candidates.map((id) => [openedFor(project, id)?.number, id]));
  return ours.flatMap((request) => {
    const id =
      opened.get(request.number) ??
      idsIn(request.branch)
        .filter(isItemId)
        .find((one) => branches.get(one)?.includes(request.branch));
    return id === undefined ? [] : [{ id, request }];
  });
}

/** The branches that implement each item, by the reports on them. */
async function branchesOf(project: Project, ids: readonly ItemId[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const all = await implementationsOf(project, ids);
  return new Map([...all].map(([id, found]) => [id, [...new Set(found.map(({ branch }) => branch))]]));
}
