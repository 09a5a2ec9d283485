import { existsSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { removeFolder } from '../../process/files.ts';
import { findProgram } from '../../process/program.ts';
import { createGit, type Git, type GitRunOptions, type GitSetting, settingsOf } from '../git.ts';
import { LONG_MS, realFolder, submoduleGit } from './place.ts';

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
 * Checks out the submodules, from the user's own copies if they have the commit, so that no network is needed. What
 * `git submodule init` would write to the user's configuration is passed as settings.
 */
export async function updateSubmodules(options: SubmoduleOptions, depth = 0): Promise<void> {
  const { gitWith, top, env, force } = options;
  if (!existsSync(join(top, '.gitmodules')) || depth > DEEPEST) return;
  const submodules = await submodulesOf(options);
  if (submodules.length === 0) return;
  const own = await gitWith([]).text(['rev-parse', '--absolute-git-dir']);
  for (const { name, path } of submodules) await removeForeign(join(top, path), join(own, 'modules', name), top);
  const settings = submodules.flatMap(({ name, url, local }): GitSetting[] => [
    [`submodule.${name}.url`, local ?? url],
    [`submodule.${name}.active`, 'true'],
    [`submodule.${name}.update`, 'checkout'],
  ]);
  const how = force ? ['--init', '--force'] : ['--init'];
  const update = async (some: readonly Submodule[], options: GitRunOptions): Promise<void> => {
    const args = ['submodule', '--quiet', 'update', ...how, '--', ...some.map(({ path }) => path)];
    if (some.length > 0) await gitWith(settings).run(args, { ...options, timeoutMs: LONG_MS });
  };
  // A repository could name any folder of this machine, so only the user's own copies are read.
  const isLocal = ({ local }: Submodule): boolean => local !== null;
  await update(submodules.filter(isLocal), { env: { GIT_ALLOW_PROTOCOL: 'file' } });
  await update(
    submodules.filter((submodule) => !isLocal(submodule)),
    { isNetworked: true, env: { GIT_ALLOW_PROTOCOL: 'git:http:https:ssh' } },
  );
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

/** Removes what a program put in the place of a submodule: git would use its settings. */
async function removeForeign(folder: string, gitDir: string, top: string): Promise<void> {
  const found = await lstat(folder).catch(() => null);
  if (found === null) return;
  const file = join(folder, '.git');
  const kind = await lstat(file).catch(() => null);
  // Anything else may be a pipe, and reading would never end.
  const text = kind === null ? null : kind.isFile() ? await readFile(file, 'utf8').catch(() => '') : '';
  const named = /^gitdir: (.+)$/m.exec(text ?? '')?.[1];
  const isOurs = named !== undefined && (await realFolder(resolve(folder, named))) === (await realFolder(gitDir));
  if (!found.isDirectory() || (text !== null && !isOurs)) await removeFolder(folder, top);
}

const SUBMODULES = String.raw`^submodule\..*\.(path|url)$`;

async function submodulesOf({ gitWith, top, modules, home, env }: SubmoduleOptions): Promise<Submodule[]> {
  const git = gitWith([]);
  const commits = new Map<string, string>();
  for (const line of (await git.run(['ls-files', '-s', '-z'])).toString('utf8').split('\0')) {
    const match = /^160000 ([0-9a-f]+) 0\t(.+)$/s.exec(line);
    if (match) commits.set(match[2] ?? '', match[1] ?? '');
  }
  const settings = new Map(await settingsOf(git, SUBMODULES, join(top, '.gitmodules')));
  const chosen = new Map(await settingsOf(home, SUBMODULES, null));
  const places = await modules();
  const found: Submodule[] = [];
  for (const [key, path] of settings) {
    const name = /^submodule\.(.+)\.path$/s.exec(key)?.[1];
    const commit = commits.get(path);
    if (name === undefined || commit === undefined || !isSubmoduleName(name)) continue;
    const named = settings.get(`submodule.${name}.url`) ?? '';
    // Git refuses it too, because it looks like an option.
    if (named.startsWith('-')) continue;
    const url = chosen.get(`submodule.${name}.url`) ?? (await absoluteUrl(home, named));
    const copies = places.map((place) => join(place, name));
    let local: string | null = null;
    for (const copy of copies) {
      if (local === null && existsSync(copy) && (await hasCommit(copy, commit, env))) local = copy;
    }
    found.push({ name, path, url, copies, local });
  }
  return found;
}

/** Git's own rule: the name becomes part of paths. */
function isSubmoduleName(name: string): boolean {
  return name !== '' && !name.split(/[\\/]/).includes('..');
}

/** `../other.git` is relative to the URL of `origin`. */
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

/** A copy that can't be read is no copy. */
async function hasCommit(gitDir: string, commit: string, env: Record<string, string>): Promise<boolean> {
  const asked = [`--git-dir=${gitDir}`, 'cat-file', '-e', `${commit}^{commit}`];
  return (await createGit(gitDir, env).answer(asked)) !== null;
}

/** Files stay pointers. */
const WITHOUT_LFS: readonly GitSetting[] = [
  ['filter.lfs.process', ''],
  ['filter.lfs.smudge', ''],
  ['filter.lfs.clean', ''],
  ['filter.lfs.required', 'false'],
];

/** As `git lfs install` sets them, whatever the repository's settings say. */
const WITH_LFS: readonly GitSetting[] = [
  ['filter.lfs.process', 'git-lfs filter-process'],
  ['filter.lfs.smudge', 'git-lfs smudge -- %f'],
  ['filter.lfs.clean', 'git-lfs clean -- %f'],
  ['filter.lfs.required', 'true'],
];

const WARNING =
  'The repository keeps files with Git LFS, which is not installed here: in the worktree they are pointers, not content.';

interface LfsSettings {
  settings: readonly GitSetting[];
  warning: string | null;
}

/**
 * Git LFS is the one filter that runs, where it is used and installed. Where it isn't installed, a checkout would fail as
 * soon as the user's settings ask for it.
 */
export async function lfsSettings(
  repository: Git,
  commit: string,
  env: Readonly<Record<string, string>>,
): Promise<LfsSettings> {
  const pathspec = ':(glob)**/.gitattributes';
  const uses = ['grep', '--quiet', '--fixed-strings', 'filter=lfs', commit, '--', pathspec];
  if ((await repository.answer(uses)) === null) return { settings: WITHOUT_LFS, warning: null };
  // Not by `git lfs`, because the repository could define an alias of that name.
  if ((await findProgram('git-lfs', env['PATH'])) === null) return { settings: WITHOUT_LFS, warning: WARNING };
  const set = await settingsOf(repository, String.raw`^filter\.lfs\.(process|smudge)$`, null);
  return { settings: set.length === 0 ? WITHOUT_LFS : WITH_LFS, warning: null };
}
