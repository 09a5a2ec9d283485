import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { type CommitGraph, type LandingBranch, stackedOn } from '../core/landing.ts';
import type { Paths } from '../core/paths.ts';
import { designFacts } from '../documents/lld/document.ts';
import { BRANCH_PREFIX, branchesBelow } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import type { Foundation } from '../git/merge.ts';
import { readAt } from '../git/repository.ts';
import { type Implemented, readReportStatus } from '../verification/report.ts';
import { designIds, readLldText } from './approved-documents.ts';

export interface Checkout {
  git: Git;
  paths: Paths;
}

/** An implementation by its report, on a branch of ours or at HEAD. */
export interface Implementation extends Implemented {
  /** `refs/heads/agentos/42-…`, `refs/remotes/…`, or `HEAD`. */
  ref: string;
}

/** Bounds the memory for reports. */
const READ_AT_ONCE = 500;

/**
 * Every implementation of these items: on local and remote branches, merged or not, and at HEAD, where the report of a merged
 * one stays when its branch is deleted.
 */
export async function implementationsOf(
  { git, paths }: Checkout,
  ids: readonly ItemId[],
): Promise<ReadonlyMap<string, readonly Implementation[]>> {
  const refs = refsByItem(await branchesBelow(git, BRANCH_PREFIX), new Set(ids));
  const wanted = ids.flatMap((id) =>
    ['HEAD', ...(refs.get(id) ?? [])].map((ref) => ({ id, ref, path: paths.report(id) })),
  );
  const found = new Map<string, Implementation[]>();
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    const some = wanted.slice(at, at + READ_AT_ONCE);
    const reports = await readAt(git, some);
    for (const [index, { id, ref }] of some.entries()) {
      const status = readReportStatus(reports[index] ?? '');
      if (status !== null) found.set(id, [...(found.get(id) ?? []), { ...status, ref }]);
    }
  }
  return found;
}

/** The local branches of these items that are not merged. */
export async function foundationsOf(checkout: Checkout, ids: readonly string[]): Promise<Foundation[]> {
  if (ids.length === 0) return [];
  const implementations = await implementationsOf(checkout, ids.filter(isItemId));
  const found: Foundation[] = [];
  for (const id of ids) {
    // A branch that starts from a merged item has its report too; the report names the branch that it belongs to.
    const all = implementations.get(id) ?? [];
    const own = all.findLast(({ ref, branch }) => ref === `refs/heads/${branch}`);
    const merged = all.find(({ ref }) => ref === 'HEAD');
    const branch = own ?? (merged ? undefined : all.findLast(({ ref }) => ref.startsWith('refs/heads/')));
    // It may have been merged as one commit, with the branch still there.
    if (branch === undefined || branch.lldHash === merged?.lldHash) continue;
    found.push({
      id,
      branch: branch.ref.slice('refs/heads/'.length),
      commit: await checkout.git.text(['rev-parse', branch.ref]),
    });
  }
  return found;
}

/** A finished branch that is not merged, with the files that it or its design changes. */
export interface OpenBranch extends Foundation {
  files: readonly string[];
}

export async function openBranches(checkout: Checkout): Promise<OpenBranch[]> {
  const { git, paths } = checkout;
  const unmerged = [
    'for-each-ref',
    '--format=%(refname)',
    '--no-merged=HEAD',
    '--count=1',
    `refs/heads/${BRANCH_PREFIX}`,
  ];
  if ((await git.text(unmerged)) === '') return [];
  const found: OpenBranch[] = [];
  for (const foundation of await foundationsOf(checkout, designIds(paths))) {
    const changed = await changedFiles(git, 'HEAD', foundation.commit);
    const design = readLldText(paths.lld(parseItemId(foundation.id))) ?? '';
    found.push({ ...foundation, files: [...changed, ...designFacts(design).files] });
  }
  return found;
}

/** The files that a branch has changed since it left another one. */
export async function changedFiles(git: Git, from: string, to: string): Promise<string[]> {
  const listing = await git.text(['diff', '--name-only', '-z', `${from}...${to}`]);
  return listing.split('\0').filter(Boolean);
}

/** Those of other items that change one of these files or folders. */
export function onSameFiles(
  branches: readonly OpenBranch[],
  { id, files }: { id: string; files: readonly string[] },
): OpenBranch[] {
  const isShared = (path: string): boolean => files.some((file) => path === file || path.startsWith(`${file}/`));
  return branches.filter((branch) => branch.id !== id && branch.files.some(isShared));
}

function refsByItem(
  branches: readonly { ref: string; name: string }[],
  ids: ReadonlySet<string>,
): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { ref, name } of branches) {
    for (const id of idsIn(name)) if (ids.has(id)) found.set(id, [...(found.get(id) ?? []), ref]);
  }
  return found;
}

/** By its name, `agentos/4-2-x` may be a branch of item 4, 4-2 or 4-2-x. */
export function idsIn(branch: string): string[] {
  const rest = branch.slice(BRANCH_PREFIX.length);
  const ids: string[] = [];
  for (let end = rest.length; end > 0; end = rest.lastIndexOf('-', end - 1)) ids.push(rest.slice(0, end));
  return ids;
}

/** The implementations of some items, for a landing. */
export interface FinishedBranches {
  branches: (LandingBranch & { lldHash: string })[];
  /** In the base already. */
  merged: ItemId[];
  /** Without a finished branch. */
  missing: ItemId[];
}

/** These items in the given order, or all items with a branch, by number. */
export async function finishedBranches(
  checkout: Checkout,
  { ids, base }: { ids: readonly ItemId[] | 'all'; base: string },
): Promise<FinishedBranches> {
  const { git } = checkout;
  const wanted = ids === 'all' ? await idsOfBranches(git) : [...new Set(ids)];
  const implementations = await implementationsOf(checkout, wanted);
  const atBase = await readAt(
    git,
    wanted.map((id) => ({ ref: base, path: checkout.paths.report(id) })),
  );
  const found: FinishedBranches = { branches: [], merged: [], missing: [] };
  const chosen: ({ id: ItemId } & Implementation)[] = [];
  for (const [at, id] of wanted.entries()) {
    const all = (implementations.get(id) ?? []).filter(({ ref }) => ref !== 'HEAD');
    const one = all.findLast(isOwn) ?? (ids === 'all' ? undefined : all.at(-1));
    const merged = readReportStatus(atBase[at] ?? '')?.lldHash;
    // It may have been merged as one commit, with the branch still there.
    if (merged !== undefined && (one === undefined || one.lldHash === merged)) found.merged.push(id);
    else if (one === undefined) found.missing.push(id);
    else chosen.push({ id, ...one });
  }
  if (chosen.length === 0) return found;
  const commits = (await git.text(['rev-parse', ...chosen.map(({ ref }) => `${ref}^{commit}`)])).split('\n');
  const ends = chosen.map(({ id }, at) => ({ id, commit: commits[at] ?? '' }));
  const graph = await graphOf(git, commits, base);
  const stack = stackedOn(ends, graph);
  for (const [at, { id, ref, lldHash, title }] of chosen.entries()) {
    const commit = commits[at] ?? '';
    if (!graph.has(commit)) {
      found.merged.push(id);
      continue;
    }
    // Without a common history nothing can be compared; the merge will say so.
    const files = await changedFiles(git, base, commit).catch(() => []);
    const { after } = designFacts(await designOn(checkout, id, commit));
    found.branches.push({
      id,
      lldHash,
      title: title ?? `Item ${id}`,
      branch: nameOf(ref),
      commit,
      files,
      after: [...new Set([...after, ...(stack.get(id) ?? [])])],
    });
  }
  return found;
}

function nameOf(ref: string): string {
  return ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '');
}

/** A branch that starts from another one has its report too; the report names the branch that it belongs to. */
function isOwn({ ref, branch }: Implementation): boolean {
  return nameOf(ref) === branch;
}

async function idsOfBranches(git: Git): Promise<ItemId[]> {
  const names = await branchesBelow(git, BRANCH_PREFIX);
  const ids = new Set(names.flatMap(({ name }) => idsIn(name)).filter(isItemId));
  return [...ids].sort(new Intl.Collator('en', { numeric: true }).compare);
}

/** All commits of these branches that are not in the base. */
async function graphOf(git: Git, commits: readonly string[], base: string): Promise<CommitGraph> {
  const listing = await git.text(['rev-list', '--parents', ...new Set(commits), '--not', base]);
  const lines = listing.split('\n').filter(Boolean);
  return new Map(lines.map((line) => line.split(' ')).map(([commit = '', ...parents]) => [commit, parents]));
}

/** The LLD of a finished branch: the one on it, or else the one in the checkout; may be empty. */
export async function designOn({ git, paths }: Checkout, id: ItemId, commit: string): Promise<string> {
  const places = [paths.reportedLld(id), `docs/lld/LLD-${id}.md`];
  const texts = await readAt(
    git,
    places.map((path) => ({ ref: commit, path })),
  );
  return texts.find((text) => text !== null) ?? readLldText(paths.lld(id)) ?? '';
}
