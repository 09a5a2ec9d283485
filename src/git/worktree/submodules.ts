import { existsSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { removeFolder } from '../../process/files.ts';
import { findProgram } from '../../process/program.ts';
import { createGit, type Git, type GitSetting, settingsOf } from '../git.ts';
import { LONG_MS, realFolder, submoduleGit } from './place.ts';

const DEEPEST = 8;

interface SubmoduleOptions {
  /** Git at the top of the checkout, with settings on top of the usual ones. */
  gitWith: (settings: readonly GitSetting[]) => Git;
  top: string;
  /** Where the user's checkouts keep their submodules: `.git/modules`; a linked worktree has a place of its own. */
  modules: readonly string[];
  /** The repository that relative URLs are relative to. */
  home: Git;
  env: Record<string, string>;
  /** Throws away what was changed in them. */
  force: boolean;
}

/**
 * Checks out the submodules, from the user's own copies if they have the commit, so that no network is needed. What
 * `git submodule init` would write to the user's configuration is passed as settings.
 */
export async function updateSubmodules(options: SubmoduleOptions, depth = 0): Promise<void> {
  const { gitWith, top, modules, home, env, force } = options;
  const file = join(top, '.gitmodules');
  if (!existsSync(file) || depth > DEEPEST) return;
  const git = gitWith([]);
  const commits = new Map<string, string>();
  for (const line of (await git.run(['ls-files', '-s', '-z'])).toString('utf8').split('\0')) {
    const [, commit, path] = /^160000 ([0-9a-f]+) 0\t(.+)$/s.exec(line) ?? [];
    if (commit !== undefined && path !== undefined) commits.set(path, commit);
  }
  const own = join(await git.text(['rev-parse', '--absolute-git-dir']), 'modules');
  const named = new Map(await settingsOf(git, SUBMODULES, file));
  const chosen = new Map(await settingsOf(home, SUBMODULES, null));
  for (const [key, path] of named) {
    const name = /^submodule\.(.+)\.path$/s.exec(key)?.[1] ?? '';
    const commit = commits.get(path);
    const asked = named.get(`submodule.${name}.url`) ?? '';
    // Git refuses both too: a name that leads out of its place, and an address that looks like an option.
    const isRefused = name === '' || name.split(/[\\/]/).includes('..') || asked.startsWith('-');
    if (commit === undefined || isRefused) continue;
    const inner = join(top, path);
    await removeForeign(inner, join(own, name), top);
    const url = chosen.get(`submodule.${name}.url`) ?? (await absoluteUrl(home, asked));
    const copies = modules.map((place) => join(place, name));
    const local = await withCommit(copies, commit, env);
    const how = ['submodule', '--quiet', 'update', '--init', ...(force ? ['--force'] : []), '--', path];
    await gitWith([
      [`submodule.${name}.url`, local ?? url],
      [`submodule.${name}.active`, 'true'],
      [`submodule.${name}.update`, 'checkout'],
    ]).run(how, {
      timeoutMs: LONG_MS,
      // A repository could name any folder of this machine, so only the user's own copies are read.
      env: { GIT_ALLOW_PROTOCOL: local === null ? 'git:http:https:ssh' : 'file' },
    });
    const within = submoduleGit(inner, env, []);
    if (local !== null) await within.run(['config', 'remote.origin.url', url]);
    const deeper = copies.map((copy) => join(copy, 'modules'));
    const innerGit: SubmoduleOptions['gitWith'] = (more) => submoduleGit(inner, env, more);
    await updateSubmodules({ gitWith: innerGit, top: inner, modules: deeper, home: within, env, force }, depth + 1);
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

/** The first copy that has a commit; null: none has, or can be read. */
async function withCommit(copies: readonly string[], commit: string, env: Record<string, string>) {
  for (const copy of copies)
    if (existsSync(copy) && (await createGit(copy, env, { place: { GIT_DIR: copy } }).hasCommit(commit))) return copy;
  return null;
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
