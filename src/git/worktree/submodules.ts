import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../core/errors.ts';
import { createGit, type Git } from '../git.ts';
import { type GitSetting, LONG_MS, submoduleGit } from './place.ts';

const DEEPEST = 8;

export interface SubmoduleOptions {
  /** Git at the top of the checkout, with settings on top of the usual ones. */
  gitWith: (settings: readonly GitSetting[]) => Git;
  top: string;
  /** Where the user's checkouts keep their submodules: `.git/modules`; a linked worktree has a place of its own. */
  modules: () => Promise<readonly string[]>;
  /** The repository that relative URLs are relative to. */
  home: Git;
  env: Record<string, string>;
  /** Throws away what was changed in them. */
  force: boolean;
}

interface Submodule {
  name: string;
  path: string;
  /** The real one. */
  url: string;
  /** Where the user may have copies of it. */
  copies: readonly string[];
  /** The one of them that has the commit; null: none has. */
  local: string | null;
}

/**
 * Checks out the submodules, from the user's own copies where those have the commit, so that no network is needed. All
 * that `git submodule init` would write into the user's configuration is said on the command line instead.
 */
export async function updateSubmodules(options: SubmoduleOptions, depth = 0): Promise<void> {
  const { gitWith, top, env, force } = options;
  const hasSubmodules = await exists(join(top, '.gitmodules'));
  if (!hasSubmodules || depth > DEEPEST) return;
  const submodules = await submodulesOf(options);
  if (submodules.length === 0) return;
  const settings = submodules.flatMap(({ name, url, local }): GitSetting[] => [
    [`submodule.${name}.url`, local ?? url],
    [`submodule.${name}.active`, 'true'],
    [`submodule.${name}.update`, 'checkout'],
  ]);
  if (submodules.some(({ local }) => local !== null)) settings.push(['protocol.file.allow', 'always']);
  const paths = submodules.map(({ path }) => path);
  const how = force ? ['--init', '--force'] : ['--init'];
  await gitWith(settings).run(['submodule', '--quiet', 'update', ...how, '--', ...paths], { timeoutMs: LONG_MS });
  for (const { path, url, copies, local } of submodules) {
    const inner = join(top, path);
    const git = submoduleGit(inner, env, []);
    if (local !== null) await git.run(['config', 'remote.origin.url', url]);
    await updateSubmodules(
      {
        gitWith: (more) => submoduleGit(inner, env, more),
        top: inner,
        modules: async () => copies.map((copy) => join(copy, 'modules')),
        home: git,
        env,
        force,
      },
      depth + 1,
    );
  }
}

async function submodulesOf({ gitWith, top, modules, home, env }: SubmoduleOptions): Promise<Submodule[]> {
  const git = gitWith([]);
  const commits = new Map<string, string>();
  for (const line of (await git.run(['ls-files', '-s', '-z'])).toString('utf8').split('\0')) {
    const match = /^160000 ([0-9a-f]+) 0\t(.+)$/s.exec(line);
    if (match) commits.set(match[2] ?? '', match[1] ?? '');
  }
  const settings = await settingsIn(git, join(top, '.gitmodules'));
  const chosen = await settingsIn(home, null);
  const places = await modules();
  const found: Submodule[] = [];
  for (const [key, path] of settings) {
    const name = /^submodule\.(.+)\.path$/s.exec(key)?.[1];
    const commit = commits.get(path);
    if (name === undefined || commit === undefined) continue;
    const named = settings.get(`submodule.${name}.url`) ?? '';
    const url = chosen.get(`submodule.${name}.url`) ?? (await absoluteUrl(home, named));
    const copies = places.map((place) => join(place, name));
    let local: string | null = null;
    for (const copy of copies) {
      if (local === null && (await exists(copy)) && (await hasCommit(copy, commit, env))) local = copy;
    }
    found.push({ name, path, url, copies, local });
  }
  return found;
}

/** What a configuration says of submodules; null: the repository's own. */
async function settingsIn(git: Git, file: string | null): Promise<Map<string, string>> {
  const where = file === null ? [] : ['--file', file];
  const text = await git
    .run(['config', '--null', ...where, '--get-regexp', String.raw`^submodule\..*\.(path|url)$`])
    .catch((error: unknown) => {
      // Exit code 1: there is none.
      if (codeOf(error) !== 'git-failed') throw error;
      return Buffer.alloc(0);
    });
  return new Map(
    text
      .toString('utf8')
      .split('\0')
      .filter(Boolean)
      .map((entry) => {
        const end = entry.indexOf('\n');
        return [entry.slice(0, end), entry.slice(end + 1)];
      }),
  );
}

/** `../other.git` is beside where the repository itself came from. */
async function absoluteUrl(home: Git, url: string): Promise<string> {
  if (!/^\.\.?\//.test(url)) return url;
  const origin = await home.text(['config', '--get', 'remote.origin.url']).catch(() => home.directory);
  let base = origin.replace(/\/+$/, '');
  let rest = url;
  for (let step = /^\.\.?\//.exec(rest); step !== null; step = /^\.\.?\//.exec(rest)) {
    rest = rest.slice(step[0].length);
    if (step[0] === '../') base = base.slice(0, Math.max(base.lastIndexOf('/'), base.lastIndexOf(':') + 1, 0));
  }
  return base.endsWith(':') ? base + rest : `${base}/${rest}`;
}

async function hasCommit(gitDir: string, commit: string, env: Record<string, string>): Promise<boolean> {
  try {
    await createGit(gitDir, env).run([`--git-dir=${gitDir}`, 'cat-file', '-e', `${commit}^{commit}`]);
    return true;
  } catch {
    return false;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Files stay the small pointers that git has of them. */
const WITHOUT_LFS: readonly GitSetting[] = [
  ['filter.lfs.process', ''],
  ['filter.lfs.smudge', ''],
  ['filter.lfs.clean', ''],
  ['filter.lfs.required', 'false'],
];

const WARNING =
  'The repository keeps files with Git LFS, which is not installed here: in the worktree they are pointers, not content.';

/**
 * Git LFS works by itself where it is installed. Where it isn't, a checkout would fail as soon as the user's settings
 * ask for it.
 */
export async function lfsSettings(
  repository: Git,
  commit: string,
): Promise<{ settings: readonly GitSetting[]; warning: string | null }> {
  const pathspec = ':(glob)**/.gitattributes';
  const isUsed = await works(repository, ['grep', '--quiet', '--fixed-strings', 'filter=lfs', commit, '--', pathspec]);
  if (!isUsed || (await works(repository, ['lfs', 'version']))) return { settings: [], warning: null };
  return { settings: WITHOUT_LFS, warning: WARNING };
}

async function works(git: Git, args: string[]): Promise<boolean> {
  try {
    await git.run(args);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    return false;
  }
}
