import { access, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../core/errors.ts';
import { type VendorKey, withoutSecrets } from '../core/keys.ts';
import { maskedForms } from '../core/mask.ts';
import { makeFolder } from '../process/files.ts';
import type { Git } from './git.ts';
import { isKept } from './item-environment-names.ts';

export interface ItemEnvironmentOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The home of its own that the item has. */
  home: string;
  /** Shared by the items. */
  caches: string;
  worktree: string;
  /** Names that are handed over as they are. */
  pass: readonly string[];
  keys: readonly VendorKey[];
  /** In the user's repository. */
  git: Git;
}

/**
 * The environment of agents, set-up and tests. What is not known to be needed stays out: a password can have any name,
 * and a test that depends on a variable of one shell passes nowhere else. The configuration hands over others by name.
 * No value holds a key that we work with, even if it was asked for.
 */
export async function itemEnvironment(options: ItemEnvironmentOptions): Promise<Record<string, string>> {
  const { env, home, caches, worktree, pass, keys, git } = options;
  const shown = withoutSecrets(env, keys, pass);
  const kept = Object.fromEntries(Object.entries(shown).filter(([name]) => isKept(name)));
  const passed = Object.fromEntries(Object.entries(shown).filter(([name]) => pass.includes(name)));
  const all = {
    ...cachesIn(caches),
    ...(await toolchainsIn(env['HOME'] ?? '')),
    ...kept,
    ...homeAt(home),
    // What the set-up installed for Python goes first; npm and its kin do that by themselves.
    PATH: [join(worktree, '.venv', 'bin'), kept['PATH'] ?? ''].join(':'),
    // Git looks for a repository in the worktree and nowhere above, wherever in there it is asked.
    GIT_CEILING_DIRECTORIES: [dirname(worktree), git.directory].join(':'),
    GIT_TERMINAL_PROMPT: '0',
    ...passed,
  };
  const temporary = homeAt(home).TMPDIR;
  await makeFolder(temporary);
  await makeFolder(caches);
  await writeFile(join(home, '.gitconfig'), await gitConfigFor(git), 'utf8');
  const secrets = maskedForms(keys.map((key) => key.secret.reveal()));
  return Object.fromEntries(Object.entries(all).filter(([, value]) => !secrets.some((one) => value.includes(one))));
}

function homeAt(home: string) {
  const temporary = join(home, 'tmp');
  return {
    HOME: home,
    USERPROFILE: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    TMPDIR: temporary,
    TMP: temporary,
    TEMP: temporary,
  };
}

/** Package managers and compilers that are not told otherwise keep what they fetch here, not in the user's home. */
function cachesIn(caches: string): Record<string, string> {
  return {
    npm_config_cache: join(caches, 'npm'),
    npm_config_store_dir: join(caches, 'pnpm'),
    YARN_CACHE_FOLDER: join(caches, 'yarn'),
    YARN_GLOBAL_FOLDER: join(caches, 'yarn-global'),
    BUN_INSTALL_CACHE_DIR: join(caches, 'bun'),
    COREPACK_HOME: join(caches, 'corepack'),
    PIP_CACHE_DIR: join(caches, 'pip'),
    UV_CACHE_DIR: join(caches, 'uv'),
    POETRY_CACHE_DIR: join(caches, 'poetry'),
    GOPATH: join(caches, 'go'),
    GOMODCACHE: join(caches, 'go', 'pkg', 'mod'),
    GOCACHE: join(caches, 'go-build'),
    CARGO_HOME: join(caches, 'cargo'),
    GRADLE_USER_HOME: join(caches, 'gradle'),
  };
}

/** Where installed toolchains are looked for when nothing else is said; with another home they would not be found. */
const TOOLCHAINS: Record<string, string> = {
  RUSTUP_HOME: '.rustup',
  PYENV_ROOT: '.pyenv',
  RBENV_ROOT: '.rbenv',
  NVM_DIR: '.nvm',
  VOLTA_HOME: '.volta',
  FNM_DIR: '.local/share/fnm',
  ASDF_DATA_DIR: '.asdf',
  MISE_DATA_DIR: '.local/share/mise',
  MISE_CONFIG_DIR: '.config/mise',
  SDKMAN_DIR: '.sdkman',
  PLAYWRIGHT_BROWSERS_PATH: '.cache/ms-playwright',
};

async function toolchainsIn(home: string): Promise<Record<string, string>> {
  if (home === '') return {};
  const found = await Promise.all(
    Object.entries(TOOLCHAINS).map(([name, folder]) =>
      access(join(home, folder)).then(
        () => [[name, join(home, folder)] as const],
        () => [],
      ),
    ),
  );
  return Object.fromEntries(found.flat());
}

/** Who commits, and what git needs to read the files right; nothing that names a program of the user's but Git LFS. */
const GIT_SETTINGS = String.raw`^(user\.(name|email)|safe\.directory|init\.defaultbranch|core\.(autocrlf|eol)|filter\.lfs\..*)$`;

async function gitConfigFor(git: Git): Promise<string> {
  const listing = await git.run(['config', '--null', '--get-regexp', GIT_SETTINGS]).catch((error: unknown) => {
    // Exit code 1: none of them is set.
    if (codeOf(error) !== 'git-failed') throw error;
    return Buffer.alloc(0);
  });
  const lines: string[] = [];
  for (const entry of listing.toString('utf8').split('\0').filter(Boolean)) {
    const end = entry.indexOf('\n');
    const name = end === -1 ? entry : entry.slice(0, end);
    const value = end === -1 ? 'true' : entry.slice(end + 1);
    const first = name.indexOf('.');
    const last = name.lastIndexOf('.');
    const section = first === last ? name.slice(0, first) : `${name.slice(0, first)} "${name.slice(first + 1, last)}"`;
    lines.push(`[${section}]\n\t${name.slice(last + 1)} = ${quoted(value)}\n`);
  }
  return lines.join('');
}

function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t')}"`;
}
