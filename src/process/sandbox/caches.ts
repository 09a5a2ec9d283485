import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDERS } from '../../core/paths.ts';
import { makeOwnFolder } from '../files.ts';
import { runProgram } from '../program.ts';
import { homesOf } from './places.ts';
import type { SandboxWish } from './sandbox.ts';

/** What the set-up fetches and later programs only read. All others are written whenever they are used. */
const READ_LATER: ReadonlySet<string> = new Set(
  'GOPATH GOMODCACHE CARGO_HOME YARN_CACHE_FOLDER YARN_GLOBAL_FOLDER COREPACK_HOME'.split(' '),
);
/** Nothing of these is checked when it is used again: never shared. */
const NEVER_SHARED: ReadonlySet<string> = new Set(['GOCACHE', 'GRADLE_USER_HOME']);

export interface Caches {
  /** The shared ones may be written. */
  isShared: boolean;
  /** Variables that say where they are. */
  env: Record<string, string>;
}

/**
 * Where package managers keep what they fetch. What the set-up fetches before an agent has written anything is shared by the
 * items, and read-only for all that comes after it: an agent could put another package in the place of one. From the first
 * set-up after an agent's change, an item has all caches to itself, in its home.
 */
export async function cachesFor(
  { worktree, env, network, isUntouched }: Pick<SandboxWish, 'worktree' | 'env' | 'network' | 'isUntouched'>,
  { shared, home }: { shared: string; home: string },
): Promise<Caches> {
  // A program with the user's own environment has its caches in the home that it sees.
  if (env['HOME'] !== home) return { isShared: false, env: {} };
  const own = join(home, 'caches');
  const mark = join(own, 'all');
  const isFetching = network?.includes('registries') === true;
  if (isFetching && isUntouched === false) await makeOwnFolder(home, 'caches/all');
  const isShared = isFetching && isUntouched === true;
  const isOwn = !isShared && existsSync(mark);
  const isInShared = (name: string, folder: string): boolean =>
    !NEVER_SHARED.has(name) && (isShared || (!isOwn && READ_LATER.has(name) && existsSync(join(shared, folder))));
  const names = Object.entries(CACHE_FOLDERS).flatMap(([name, folder]) => {
    const place = join(isInShared(name, folder) ? shared : own, folder);
    // npm reads its variables in any letters.
    const spellings = Object.keys(env).filter((each) => each.toLowerCase() === name.toLowerCase());
    return [name, ...spellings].map((each) => [each, place]);
  });
  const given = env['MAVEN_OPTS'];
  const maven = `-Dmaven.repo.local=${await mavenRepository(worktree, home, given)}`;
  const options = [given, maven].filter((option) => option !== undefined);
  return { isShared, env: { ...Object.fromEntries(names), MAVEN_OPTS: options.join(' ') } };
}

const LINK_MS = 60_000;

/**
 * Maven takes the home from the system, not from HOME, and wants to write beside what it reads. So the item has a repository of
 * links to the files of the user's own, which are shown: what is there is not fetched again, and what is new is the item's.
 */
async function mavenRepository(worktree: string, home: string, options = ''): Promise<string> {
  const own = join(home, '.m2', 'repository');
  const named = /-Dmaven\.repo\.local=(\S+)/.exec(options)?.[1];
  const usual = homesOf(process.env).map((user) => join(user, '.m2', 'repository'));
  const users = named === undefined ? usual : [named, ...usual];
  const user = users.find((folder) => existsSync(folder));
  if (user !== undefined && existsSync(join(worktree, 'pom.xml')) && !existsSync(own)) {
    await makeOwnFolder(home, '.m2');
    const { signal } = new AbortController();
    const env = { PATH: process.env['PATH'] ?? '' };
    // Where it can't be done, Maven fetches what it needs.
    await runProgram({ command: ['cp', '-rs', user, own], cwd: home, env, signal, timeoutMs: LINK_MS });
  }
  return own;
}
