import { usageError } from '../core/errors.ts';
import { isAncestor } from './branches.ts';
import type { Git } from './git.ts';
import { headCommit } from './repository.ts';

/** The commit that branches are combined on. */
export interface NewestBase {
  /** Its branch; `HEAD` if it is detached. */
  name: string;
  commit: string;
  /** Notes for the user about the choice. */
  notes: string[];
}

const FETCH_MS = 300_000;

/**
 * The newer of the checked-out commit and the default branch; with `fetch`, also of the remote's default branch. A commit is newer if
 * it contains the other one. If both have commits of their own, the checkout is the base, with a note.
 */
export async function newestBase(git: Git, { fetch }: { fetch: boolean }): Promise<NewestBase> {
  const commit = await headCommit(git);
  const checkedOut = await git.answer(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const found: NewestBase = { name: checkedOut ?? 'HEAD', commit, notes: [] };
  const standard = (await defaultBranch(git)) ?? checkedOut;
  if (standard === null) return found;
  if (fetch) await fetchBranch(git, standard);
  const candidates = [`refs/heads/${standard}`, ...(fetch ? [`refs/remotes/origin/${standard}`] : [])];
  for (const ref of candidates) {
    const other = await git.answer(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
    if (other === null || (await isAncestor(git, other, found.commit))) continue;
    const shown = ref.replace(/^refs\/(?:heads|remotes)\//, '');
    if (await isAncestor(git, found.commit, other)) Object.assign(found, { name: standard, commit: other });
    else found.notes.push(`${shown} has commits that ${found.name} does not have: the base is ${found.name}.`);
  }
  return found;
}

async function defaultBranch(git: Git): Promise<string | null> {
  const remote = await git.answer(['symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD']);
  if (remote !== null) return remote.replace(/^origin\//, '');
  for (const name of ['main', 'master'])
    if ((await git.answer(['rev-parse', '--verify', '--quiet', `refs/heads/${name}`])) !== null) return name;
  return null;
}

async function fetchBranch(git: Git, branch: string): Promise<void> {
  if ((await git.answer(['remote', 'get-url', 'origin'])) === null) {
    throw usageError('There is no remote named origin to fetch from.', 'Remove --fetch to use what is here.');
  }
  await git.run(['fetch', '--quiet', '--no-tags', 'origin', branch], { timeoutMs: FETCH_MS, isNetworked: true });
}
