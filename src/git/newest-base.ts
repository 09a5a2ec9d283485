import { AgentosError, codeOf } from '../core/errors.ts';
import { isAncestor } from './branches.ts';
import type { Git } from './git.ts';
import { headCommit } from './repository.ts';

/** What branches are combined on top of. */
export interface NewestBase {
  /** The branch that it is the end of; `HEAD` where nothing is checked out by name. */
  name: string;
  commit: string;
  /** What a person should know of the choice. */
  notes: string[];
}

const FETCH_MS = 300_000;

/**
 * Of the commit that is checked out and the default branch the newer one; asked for, the remote's default branch too, after
 * a fetch. One is newer if it contains the other: where both have commits of their own, the checkout stays the base, and
 * that is said.
 */
export async function newestBase(git: Git, { fetch }: { fetch: boolean }): Promise<NewestBase> {
  const commit = await headCommit(git);
  const checkedOut = await answerOf(git, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const found: NewestBase = { name: checkedOut ?? 'HEAD', commit, notes: [] };
  const standard = (await defaultBranch(git)) ?? checkedOut;
  if (standard === null) return found;
  if (fetch) await fetchBranch(git, standard);
  const candidates = [`refs/heads/${standard}`, ...(fetch ? [`refs/remotes/origin/${standard}`] : [])];
  for (const ref of candidates) {
    const other = await answerOf(git, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
    if (other === null || (await isAncestor(git, other, found.commit))) continue;
    const shown = ref.replace(/^refs\/(?:heads|remotes)\//, '');
    if (await isAncestor(git, found.commit, other)) Object.assign(found, { name: standard, commit: other });
    else found.notes.push(`${shown} has commits that ${found.name} does not have: the base is ${found.name}.`);
  }
  return found;
}

async function defaultBranch(git: Git): Promise<string | null> {
  const remote = await answerOf(git, ['symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD']);
  if (remote !== null) return remote.replace(/^origin\//, '');
  for (const name of ['main', 'master'])
    if ((await answerOf(git, ['rev-parse', '--verify', '--quiet', `refs/heads/${name}`])) !== null) return name;
  return null;
}

async function fetchBranch(git: Git, branch: string): Promise<void> {
  if ((await answerOf(git, ['remote', 'get-url', 'origin'])) === null) {
    const reason = 'There is no remote named origin to fetch from.';
    throw new AgentosError({ code: 'usage', reason, hint: 'Remove --fetch to use what is here.' });
  }
  await git.run(['fetch', '--quiet', '--no-tags', 'origin', branch], { timeoutMs: FETCH_MS, isNetworked: true });
}

/** Null where git has none. */
async function answerOf(git: Git, args: string[]): Promise<string | null> {
  return git.text(args).catch((error: unknown) => {
    if (codeOf(error) !== 'git-failed') throw error;
    return null;
  });
}
