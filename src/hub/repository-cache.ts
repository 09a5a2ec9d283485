import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../core/errors.ts';
import { createGit, type Git } from '../git/git.ts';
import { makeFolder } from '../process/files.ts';
import type { HubLink } from './hub-link.ts';
import { HubAway } from './hub-link.ts';
import type { Relay } from './relay.ts';

/** Enough for a large history over a slow network. */
const LONG_MS = 30 * 60_000;

/** How git on this machine reaches a repository of the hub. */
export interface Remote {
  relay: Pick<Relay, 'url' | 'gitHeader'>;
  /** The token of the item or run. */
  token: string;
  link: HubLink;
  signal: AbortSignal;
}

/** Runs git, and repeats it while the hub is away. Throws any other error. */
export async function gitWithHub(git: Git, remote: Remote, args: string[]): Promise<string> {
  const { relay, token, link, signal } = remote;
  // In the environment: every user can read the arguments of a process.
  const env = {
    GIT_ALLOW_PROTOCOL: 'http',
    GIT_CONFIG_COUNT: '3',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Bearer ${token}`,
    GIT_CONFIG_KEY_1: 'http.proxy',
    GIT_CONFIG_VALUE_1: '',
    GIT_CONFIG_KEY_2: 'http.extraHeader',
    GIT_CONFIG_VALUE_2: relay.gitHeader,
  };
  return link.patiently(signal, async () => {
    try {
      return await git.text(args, { env, timeoutMs: LONG_MS });
    } catch (error) {
      // Distinguishes a hub that went away from one that refuses the push.
      if (codeOf(error) === 'git-failed') await link.facts();
      if (codeOf(error) === 'git-failed' && isCutOff(error)) throw new HubAway('the hub was away', { cause: error });
      throw error;
    }
  });
}

/** Git reports broken connections by these messages only; it has no exit code for them. */
function isCutOff(error: unknown): boolean {
  return /unable to access|RPC failed|hung up|early EOF|unexpected disconnect|503|502/.test(String(error));
}

/** A machine's bare copy of a repository. Fetches run one at a time. */
export interface RepositoryCache {
  readonly directory: string;
  readonly git: Git;
  /** Fetches what was submitted with a run, unless it is here: that never changes. */
  fetchRun(remote: Remote, run: SubmittedCommits): Promise<void>;
  fetch(remote: Remote, refs: readonly string[]): Promise<void>;
}

interface SubmittedCommits {
  run: string;
  base: string;
  documents: string;
}

/** Opens the cache of each repository once, so that it has one queue of fetches. */
export function openRepositoryCaches(
  folder: string,
  env: Record<string, string>,
): (repository: string) => RepositoryCache {
  const known = new Map<string, RepositoryCache>();
  return (repository) => {
    const cache = known.get(repository) ?? openRepositoryCache(folder, repository, env);
    known.set(repository, cache);
    return cache;
  };
}

function openRepositoryCache(folder: string, repository: string, env: Record<string, string>): RepositoryCache {
  const directory = join(folder, `${repository}.git`);
  const git = createGit(directory, env);
  let queue: Promise<unknown> = Promise.resolve();

  const prepare = async (): Promise<void> => {
    if (existsSync(join(directory, 'HEAD'))) return;
    await makeFolder(directory);
    const format = repository.length > 40 ? ['--object-format=sha256'] : [];
    await git.run(['init', '--bare', '--quiet', ...format, '.']);
    for (const [name, value] of [
      ['gc.auto', '0'],
      ['maintenance.auto', 'false'],
    ] as const)
      await git.run(['config', name, value]);
    await writeFile(join(directory, 'description'), 'a cache of agentos worker; it can be deleted while none runs\n');
  };

  /** By the refs, which git writes after everything else: a fetch that was killed leaves objects, and trees may be missing. */
  const holds = async ({ run, base, documents }: SubmittedCommits): Promise<boolean> => {
    if (!existsSync(join(directory, 'HEAD'))) return false;
    const refs = ['base', 'documents'].map((name) => git.object(`refs/agentos/runs/${run}/${name}`));
    const [there, written] = await Promise.all(refs);
    return there?.id === base && written?.id === documents;
  };

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };

  const fetch = async (remote: Remote, refs: readonly string[]): Promise<void> => {
    await prepare();
    const url = `${remote.relay.url}/git/${repository}`;
    const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--force', '--prune', url];
    await gitWithHub(git, remote, [...args, ...refs.map((ref) => `+${ref}:${ref}`)]);
  };

  return {
    directory,
    git,
    async fetchRun(remote, run) {
      if (await holds(run)) return;
      // Items that were claimed together wait for the first one's fetch.
      await inTurn(async () => {
        if (!(await holds(run))) await fetch(remote, [`refs/agentos/runs/${run.run}/*`]);
      });
    },
    fetch: (remote, refs) => inTurn(() => fetch(remote, refs)),
  };
}
