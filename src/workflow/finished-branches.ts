import { type ItemId, isItemId } from '../core/ids.ts';
import { type CommitGraph, type LandingBranch, stackedOn } from '../core/landing.ts';
import type { Paths } from '../core/paths.ts';
import { readHeader, readReportStatus } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { BRANCH_PREFIX, branchesBelow } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { readAt } from '../git/repository.ts';
import { readLldText } from './approved-lld.ts';
import { type Implementation, idsIn, implementationsOf } from './implementations.ts';

type ReportPaths = Pick<Paths, 'report' | 'reportedLld' | 'lld'>;

/** The implementations of some items, as far as they could be part of a landing. */
export interface FinishedBranches {
  branches: (LandingBranch & { lldHash: string })[];
  /** What the base contains already. */
  merged: ItemId[];
  /** Those of which there is no finished branch. */
  missing: ItemId[];
}

/** Of these items, or of all that there is a branch for; in the given order, or by number. */
export async function finishedBranches(
  git: Git,
  paths: ReportPaths,
  { ids, base }: { ids: readonly ItemId[] | 'all'; base: string },
): Promise<FinishedBranches> {
  const wanted = ids === 'all' ? await idsOfBranches(git) : [...new Set(ids)];
  const implementations = await implementationsOf(git, paths, wanted);
  const atBase = await reportsAt(git, paths, wanted, base);
  const found: FinishedBranches = { branches: [], merged: [], missing: [] };
  const chosen: { id: ItemId; ref: string; lldHash: string }[] = [];
  for (const id of wanted) {
    const all = (implementations.get(id) ?? []).filter(({ ref }) => ref !== 'HEAD');
    const one = all.findLast(isOwn) ?? (ids === 'all' ? undefined : all.at(-1));
    const merged = readReportStatus(atBase.get(id) ?? '')?.lldHash;
    // Also where it was merged as one commit, and the branch is still there.
    if (merged !== undefined && (one === undefined || one.lldHash === merged)) found.merged.push(id);
    else if (one === undefined) found.missing.push(id);
    else chosen.push({ id, ...one });
  }
  if (chosen.length === 0) return found;
  const commits = (await git.text(['rev-parse', ...chosen.map(({ ref }) => `${ref}^{commit}`)])).split('\n');
  const ends = chosen.map(({ id }, at) => ({ id, commit: commits[at] ?? '' }));
  const graph = await graphOf(git, commits, base);
  const stack = stackedOn(ends, graph);
  for (const [at, { id, ref, lldHash }] of chosen.entries()) {
    const commit = commits[at] ?? '';
    if (!graph.has(commit)) {
      found.merged.push(id);
      continue;
    }
    // Without a history in common there is nothing to compare; git refuses to merge it, and says why.
    const listing = await git.text(['diff', '--name-only', '-z', `${base}...${commit}`]).catch(() => '');
    const { title, after } = await designOf(git, paths, id, commit);
    found.branches.push({
      id,
      lldHash,
      title,
      branch: nameOf(ref),
      commit,
      files: listing.split('\0').filter(Boolean),
      after: [...new Set([...after, ...(stack.get(id) ?? [])])],
    });
  }
  return found;
}

function nameOf(ref: string): string {
  return ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '');
}

/** Another branch may have been begun at it, and has its report too: the report says which branch it is from. */
function isOwn({ ref, branch }: Implementation): boolean {
  return nameOf(ref) === branch;
}

/** By its name alone a branch may be of several items; the reports on it tell. */
async function idsOfBranches(git: Git): Promise<ItemId[]> {
  const names = await branchesBelow(git, BRANCH_PREFIX);
  const ids = new Set(names.flatMap(({ name }) => idsIn(name)).filter(isItemId));
  return [...ids].sort(new Intl.Collator('en', { numeric: true }).compare);
}

async function reportsAt(
  git: Git,
  paths: ReportPaths,
  ids: readonly ItemId[],
  commit: string,
): Promise<Map<ItemId, string>> {
  const reports = await readAt(
    git,
    ids.map((id) => ({ ref: commit, path: paths.report(id) })),
  );
  return new Map(ids.map((id, at) => [id, reports[at] ?? '']));
}

/** All commits of these branches that are not in the base. */
async function graphOf(git: Git, commits: readonly string[], base: string): Promise<CommitGraph> {
  const listing = await git.text(['rev-list', '--parents', ...new Set(commits), '--not', base]);
  return new Map(
    listing
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const [commit = '', ...parents] = line.split(' ');
        return [commit, parents];
      }),
  );
}

/** What the branch was built from: the design on it, or else the one in the checkout. */
async function designOf(
  git: Git,
  paths: ReportPaths,
  id: ItemId,
  commit: string,
): Promise<{ title: string; after: readonly string[] }> {
  const design = await designOn(git, paths, id, commit);
  const [report] = await readAt(git, [{ ref: commit, path: paths.report(id) }]);
  return { title: readHeader(report ?? '').header.title ?? `Item ${id}`, after: designFacts(design).after };
}

/** The text of the LLD that a finished branch is for; empty if it can't be found. */
export async function designOn(git: Git, paths: ReportPaths, id: ItemId, commit: string): Promise<string> {
  const places = [paths.reportedLld(id), `docs/lld/LLD-${id}.md`];
  const texts = await readAt(
    git,
    places.map((path) => ({ ref: commit, path })),
  );
  return texts.find((text) => text !== null) ?? readLldText(paths.lld(id)) ?? '';
}
