import { AgentosError, codeOf } from '../core/errors.ts';
import { isAncestor } from './branches.ts';
import { type Git, type GitRunOptions, type GitSetting, withSettings } from './git.ts';

/** What git sends with every request to these addresses. */
export interface GitHeader {
  url: string;
  header: string;
}

interface Push {
  remote: string;
  branch: string;
  commit: string;
  /** The commit that this program pushed last; null: none. A branch that is still there may be replaced. */
  before: string | null;
  /** Null: git uses its own credentials. */
  header: GitHeader | null;
  /** Git's environment. */
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

const TIMEOUT_MS = 300_000;

/**
 * Pushes a commit to a branch of the remote. Never overwrites commits that a person pushed. A header with a token is only in the
 * environment of this git process and of git's own programs: no hook runs, and no redirect is followed.
 */
export async function pushBranch(git: Git, push: Push): Promise<void> {
  const { remote, branch, commit, before: ours, header, env, signal } = push;
  const ref = `refs/heads/${branch}`;
  const options = { ...networked(header, env), signal };
  const there = async (): Promise<string | null> => {
    const listing = await git.text(['ls-remote', remote, ref], options);
    return /^([0-9a-f]{40,64})\s/.exec(listing)?.[1] ?? null;
  };
  const foreign = new AgentosError({ code: 'branch-foreign', branch, remote });
  const before = await there();
  if (before === commit) return;
  const replaces = before !== null && !(await isAncestor(git, before, commit));
  if (replaces && before !== ours) throw foreign;
  // Git refuses the push if the branch has moved meanwhile.
  const lease = replaces ? [`--force-with-lease=${ref}:${before}`] : [];
  try {
    await git.run(['push', '--quiet', '--no-verify', ...lease, remote, `${commit}:${ref}`], options);
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    // A person may have pushed at the same moment, or the response to our push was lost.
    const now = await there().catch(() => before);
    if (now === commit) return;
    throw now === before ? error : foreign;
  }
}

/** Fetches the current commits of these branches, without changing the user's branches. */
export async function fetchBranches(
  git: Git,
  {
    remote,
    branches,
    header,
    env,
    signal,
  }: Pick<Push, 'remote' | 'header' | 'env'> & { branches: readonly string[]; signal?: AbortSignal },
): Promise<void> {
  const refs = [...new Set(branches)].map((name) => `+refs/heads/${name}:refs/remotes/${remote}/${name}`);
  const options = { ...networked(header, env), ...(signal === undefined ? {} : { signal }) };
  await git.run(['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', remote, ...refs], options);
}

function networked(header: GitHeader | null, env: Push['env']): GitRunOptions {
  return {
    timeoutMs: TIMEOUT_MS,
    isNetworked: true,
    env: header === null ? {} : withSettings(env, settingsFor(header)),
  };
}

function settingsFor({ url, header }: GitHeader): GitSetting[] {
  return [
    [`http.${url}.extraHeader`, header],
    ['http.followRedirects', 'false'],
    ['credential.helper', ''],
  ];
}

/** Where a remote is pushed to; null: there is no such remote. */
export async function pushUrl(git: Git, remote: string): Promise<string | null> {
  return (await git.answer(['remote', 'get-url', '--push', remote])) || null;
}
