import { AgentosError } from '../core/errors.ts';
import { implementDemand } from '../core/expected-cost.ts';
import { sha256 } from '../core/hash.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { describeReaction, nextReaction, type Reaction } from '../core/reaction.ts';
import type { Forge, OpenRequest, PullRequest } from '../forge/port.ts';
import { BRANCH_PREFIX } from '../git/branches.ts';
import { createGit } from '../git/git.ts';
import { idsIn, implementationsOf } from '../workflow/implementations.ts';
import type { Batch, CollectedItem, ItemSetting } from './pipeline.ts';
import { openedFor } from './posts.ts';
import type { Project } from './project.ts';
import type { LookedAt } from './reactions.ts';

export interface ReactRequest {
  /** Commits may be fetched; a dry run writes nothing. */
  mayFetch: boolean;
  /** Pull requests as they were when nothing was to be done about them, by number. They are not looked at again. */
  quiet: Map<number, string>;
}

const ROLES: Batch['roles'] = ['implementer', 'reviewer'];

/** `agentos react`: an item is the issue whose pull request is reacted to. */
export function reactBatch({ mayFetch, quiet }: ReactRequest): Batch {
  const reactions = new Map<string, Reaction>();
  const settings = new Map<string, ItemSetting>();

  async function lookedAt(project: Project, forge: Forge, id: ItemId, request: LookedAt): Promise<CollectedItem> {
    const { dispatchedFor, lookAt, pushedReaction } = await import('./remote-work.ts');
    const earlier = dispatchedFor(project, id, request.number);
    const title = `pull request #${request.number}`;
    const plain = { id, title, error: null, chars: 0 };
    reactions.delete(id);
    if (earlier.some(({ end }) => end?.dropped)) return { ...plain, state: 'dropped' };
    const next =
      pushedReaction(project, id, request.head, earlier) ??
      nextReaction(await lookAt(project, forge, request, mayFetch), earlier);
    if (next === null) return { ...plain, state: 'done' };
    reactions.set(id, next);
    settings.set(id, { config: project.config, roles: ROLES, input: { reaction: next } });
    const chars = [...next.checks.map(({ log }) => log), ...next.reviews.map(({ body }) => body)].join('').length;
    return { ...plain, title: `${title}: ${describeReaction(next)}`, chars, state: 'pending' };
  }

  async function all(project: Project, forge: Forge): Promise<CollectedItem[]> {
    const items: CollectedItem[] = [];
    for (const { id, request } of await ownRequests(project, await forge.openPullRequests())) {
      const seen = sha256(JSON.stringify(request));
      if (quiet.get(request.number) === seen) continue;
      const item = await lookedAt(project, forge, id, request);
      if (item.state === 'pending') items.push(item);
      else quiet.set(request.number, seen);
    }
    return items;
  }

  async function named(project: Project, forge: Forge, id: ItemId): Promise<CollectedItem> {
    const request = await requestOf(project, forge, id);
    if (request === null) throw new AgentosError({ code: 'pull-request-missing', id });
    const { number, state, url } = request;
    const reason = `pull request #${number} is ${state}`;
    if (state !== 'open' || !request.isOwn)
      return { id, title: reason, error: null, chars: 0, state: 'already-done', solved: { reason, outputs: [url] } };
    return lookedAt(project, forge, id, { ...request, baseHead: null });
  }

  return {
    workflow: 'react',
    task: { builtIn: 'react' },
    roles: ROLES,
    async collect(project, ids) {
      const forge = await project.hosts.forge();
      if (ids === 'all') return all(project, forge);
      const items: CollectedItem[] = [];
      for (const id of new Set(ids)) items.push(await named(project, forge, id));
      return items;
    },
    settingOf: (id) => settings.get(id),
    async dispatch(project, id) {
      const reaction = reactions.get(id);
      const work = await import('./remote-work.ts');
      if (reaction !== undefined) await work.dispatch(project, id, reaction);
    },
    demand: implementDemand,
    done: {
      reason: 'nothing happened that is to be reacted to',
      outputs: async (project, { id }) => [openedFor(project, id)?.url ?? []].flat(),
    },
    nothingToDo: 'no open pull request of ours has anything to react to',
  };
}

/** The newest that this program opened for an item, or that there is for one of its branches. */
async function requestOf(project: Project, forge: Forge, id: ItemId): Promise<PullRequest | null> {
  const opened = openedFor(project, id);
  if (opened !== null) return forge.pullRequest(opened.number);
  const branches = await branchesOf(project, [id]);
  for (const branch of branches.get(id) ?? []) {
    const own = (await forge.pullRequestsOf(branch)).filter(({ isOwn }) => isOwn);
    const found = own.find(({ state }) => state === 'open') ?? own[0];
    if (found !== undefined) return found;
  }
  return null;
}

/** Of all open ones those that are for an item of ours: by what was posted here, or by the report on a branch that is here. */
async function ownRequests(
  project: Project,
  requests: readonly OpenRequest[],
): Promise<{ id: ItemId; request: OpenRequest }[]> {
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
async function branchesOf(
  { paths, childEnv }: Project,
  ids: readonly ItemId[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const all = await implementationsOf(createGit(paths.repository, childEnv), paths, ids);
  return new Map([...all].map(([id, found]) => [id, [...new Set(found.map(({ branch }) => branch))]]));
}
