import { AgentosError, codeOf } from '../core/errors.ts';
import { isAncestor } from './branches.ts';
import type { Git, GitRunOptions } from './git.ts';

/** What git sends with every request to these addresses. */
export interface GitHeader {
  url: string;
  header: string;
}

interface Push {
  remote: string;
  branch: string;
  commit: string;
  /** What this program pushed there before; null: nothing. While the branch is still that, it may be replaced. */
  before: string | null;
  /** Null: git's own credentials have to do. */
  header: GitHeader | null;
  /** The environment that git has anyway. */
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

const TIMEOUT_MS = 300_000;

/**
 * Makes a branch of the remote this commit. One that a person pushed to is never overwritten. A header that holds a token is in the
 * environment of this one process and of nothing that it starts but git's own programs: no hook runs, and no redirect is followed.
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
  // Git itself refuses it should the branch have moved since the look.
  const lease = replaces ? [`--force-with-lease=${ref}:${before}`] : [];
  try {
    await git.run(['push', '--quiet', '--no-verify', ...lease, remote, `${commit}:${ref}`], options);
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    // A person may have pushed in the same moment; and an answer that was lost may have been a yes.
    const now = await there().catch(() => before);
    if (now === commit) return;
    throw now === before ? error : foreign;
  }
}

/** Brings these branches of a remote here, as it has them now. Nothing of the user's is touched. */
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
  return { timeoutMs: TIMEOUT_MS, isNetworked: true, env: header === null ? {} : headerEnv(header, env) };
}

function headerEnv({ url, header }: GitHeader, env: Push['env']): Record<string, string> {
  const first = Number(env['GIT_CONFIG_COUNT'] ?? 0) || 0;
  const settings = [
    [`http.${url}.extraHeader`, header],
    ['http.followRedirects', 'false'],
    ['credential.helper', ''],
  ];
  return {
    GIT_CONFIG_COUNT: String(first + settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${first + index}`, key],
        [`GIT_CONFIG_VALUE_${first + index}`, value],
      ]),
    ),
  };
}

/** Where a remote is pushed to; null: there is no such remote. */
export async function pushUrl(git: Git, remote: string): Promise<string | null> {
  return git.text(['remote', 'get-url', '--push', remote]).then(
    (url) => url || null,
    () => null,
  );
}
