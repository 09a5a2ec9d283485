import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { type Implemented, readReportStatus } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { BRANCH_PREFIX, branchesBelow, type Foundation } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { readAt } from '../git/repository.ts';
import { namesInside } from '../process/text-file.ts';
import { readLldText } from './approved-lld.ts';

/** A report on a branch of ours, or in the commit that is checked out. */
export interface Implementation extends Implemented {
  /** `refs/heads/agentos/42-…`, `refs/remotes/…`, or `HEAD`. */
  ref: string;
}

/** Reports are kept no longer than it takes to read their status. */
const READ_AT_ONCE = 500;

/**
 * Every implementation of these items: on branches, local and remote, merged or not, and at HEAD, where a merged one
 * stays when its branch is deleted. The reports alone tell, so that no branch has to touch a design.
 */
export async function implementationsOf(
  git: Git,
  paths: Pick<Paths, 'report'>,
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

/** The local branches of the items that one builds on; one that is merged is in the base already. */
export async function foundationsOf(
  git: Git,
  paths: Pick<Paths, 'report'>,
  ids: readonly string[],
): Promise<Foundation[]> {
  if (ids.length === 0) return [];
  const implementations = await implementationsOf(git, paths, ids.filter(isItemId));
  const found: Foundation[] = [];
  for (const id of ids) {
    // A branch that began after the item was merged has its report too; the report names the branch that it is from.
    const all = implementations.get(id) ?? [];
    const own = all.findLast(({ ref, branch }) => ref === `refs/heads/${branch}`);
    const merged = all.find(({ ref }) => ref === 'HEAD');
    const branch = own ?? (merged ? undefined : all.findLast(({ ref }) => ref.startsWith('refs/heads/')));
    // Also where it was merged as one commit, and the branch is still there.
    if (branch === undefined || branch.lldHash === merged?.lldHash) continue;
    found.push({
      id,
      branch: branch.ref.slice('refs/heads/'.length),
      commit: await git.text(['rev-parse', branch.ref]),
    });
  }
  return found;
}

/** A finished branch that is not merged, and what it changes, or should by its design. */
export interface OpenBranch extends Foundation {
  files: readonly string[];
}

export async function openBranches(
  git: Git,
  paths: Pick<Paths, 'repository' | 'report' | 'llds' | 'lld'>,
): Promise<OpenBranch[]> {
  const unmerged = [
    'for-each-ref',
    '--format=%(refname)',
    '--no-merged=HEAD',
    '--count=1',
    `refs/heads/${BRANCH_PREFIX}`,
  ];
  if ((await git.text(unmerged)) === '') return [];
  const ids = namesInside(paths.llds, paths.repository).map((name) => name.replace(/^LLD-|\.md$/g, ''));
  const found: OpenBranch[] = [];
  for (const foundation of await foundationsOf(git, paths, ids)) {
    const listing = await git.text(['diff', '--name-only', '-z', `HEAD...${foundation.commit}`]);
    const design = readLldText(paths.lld(parseItemId(foundation.id))) ?? '';
    found.push({ ...foundation, files: [...listing.split('\0').filter(Boolean), ...designFacts(design).files] });
  }
  return found;
}

/** Those of other items that change one of these files or folders. */
export function onSameFiles(
  branches: readonly OpenBranch[],
  { id, files }: { id: string; files: readonly string[] },
): OpenBranch[] {
  const isShared = (path: string): boolean => files.some((file) => path === file || path.startsWith(`${file}/`));
  return branches.filter((branch) => branch.id !== id && branch.files.some(isShared));
}

/** By its name alone `agentos/4-2-x` may be a branch of item 4, 4-2 or 4-2-x. */
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

export function idsIn(branch: string): string[] {
  const rest = branch.slice(BRANCH_PREFIX.length);
  const ids: string[] = [];
  for (let end = rest.length; end > 0; end = rest.lastIndexOf('-', end - 1)) ids.push(rest.slice(0, end));
  return ids;
}
