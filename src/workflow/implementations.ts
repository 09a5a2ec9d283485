import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { type Implemented, readReportStatus } from '../documents/header.ts';
import { branchesBelow } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { readAt } from '../git/repository.ts';

/** A report on a branch of ours, or in the commit that is checked out. */
export interface Implementation extends Implemented {
  /** `refs/heads/agentos/42-…`, `refs/remotes/…`, or `HEAD`. */
  ref: string;
}

const PREFIX = 'agentos/';
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
  const refs = refsByItem(await branchesBelow(git, PREFIX), new Set(ids));
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

/** By its name alone `agentos/4-2-x` may be a branch of item 4, 4-2 or 4-2-x. */
function refsByItem(
  branches: readonly { ref: string; name: string }[],
  ids: ReadonlySet<string>,
): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { ref, name } of branches) {
    const rest = name.slice(PREFIX.length);
    for (let end = rest.length; end > 0; end = rest.lastIndexOf('-', end - 1)) {
      const id = rest.slice(0, end);
      if (ids.has(id)) found.set(id, [...(found.get(id) ?? []), ref]);
    }
  }
  return found;
}
