import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type VendorKey, withoutSecrets } from '../core/keys.ts';
import { maskedForms } from '../core/mask.ts';
import { CACHE_FOLDERS } from '../core/paths.ts';
import { makeFolder, makeOwnFolder, writeFileAtomic } from '../process/files.ts';
import { packageSettings } from '../process/sandbox/registries.ts';
import { type Git, settingsOf } from './git.ts';
import { placeOf } from './worktree/place.ts';
import { registrations } from './worktree/registration.ts';

interface ItemEnvironmentOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The item's own home directory. */
  home: string;
  /** Shared by the items. */
  caches: string;
  worktree: string;
  /** False: nothing is installed in the worktree, so that programs in it come from the repository. */
  isSetUp?: boolean;
  /** Variables that are passed unchanged. */
  pass: readonly string[];
  keys: readonly VendorKey[];
  /** In the user's repository. */
  git: Git;
}

/**
 * The environment of agents, set-up and tests. Only variables known to be needed are passed, because a password can have any name, and
 * a test that depends on a variable of one shell passes nowhere else. The configuration can name others. A value that contains one
 * of our keys is never passed.
 */
export async function itemEnvironment(options: ItemEnvironmentOptions): Promise<Record<string, string>> {
  const { env, home, caches, worktree, pass, keys, git, isSetUp = true } = options;
  const shown = withoutSecrets(env, keys, pass);
  const kept = Object.fromEntries(Object.entries(shown).filter(([name]) => isKept(name)));
  const passed = Object.fromEntries(Object.entries(shown).filter(([name]) => pass.includes(name)));
  const all = {
    ...Object.fromEntries(Object.entries(CACHE_FOLDERS).map(([name, folder]) => [name, join(caches, folder)])),
    ...OWN_COPIES,
    ...toolchainsIn(env['HOME'] ?? ''),
    ...kept,
    MAVEN_OPTS: mavenOptions(kept['MAVEN_OPTS'] ?? '', caches),
    ...homeAt(home),
    // Python programs that the set-up installed come first; npm and similar tools do that themselves.
    PATH: [...(isSetUp ? [join(worktree, '.venv', 'bin')] : []), kept['PATH'] ?? ''].join(':'),
    // Git looks for a repository in the worktree and nowhere above, wherever in there it is asked.
    GIT_CEILING_DIRECTORIES: [dirname(worktree), git.directory].join(':'),
    GIT_TERMINAL_PROMPT: '0',
    ...withoutHooks(home),
    ...passed,
  };
  await makeOwnFolder(home, 'tmp');
  await makeFolder(caches);
  // Atomically: an earlier program may have put a link in its place.
  await writeFileAtomic(join(home, '.gitconfig'), await gitConfigWith(git, GIT_SETTINGS, null));
  for (const [path, text] of await packageSettings(env['HOME'] ?? '')) {
    await makeOwnFolder(home, dirname(path));
    await writeFileAtomic(join(home, path), text);
  }
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
    // In a worktree, turbo would write to the cache of the checkout.
    TURBO_CACHE_DIR: join(home, '.cache', 'turbo'),
    TMPDIR: temporary,
    TMP: temporary,
    TEMP: temporary,
  };
}

/** What is installed is the item's own: changed in place, a link to the shared cache would change it for all items. */
const OWN_COPIES = {
  npm_config_package_import_method: 'clone-or-copy',
  pnpm_config_package_import_method: 'clone-or-copy',
  UV_LINK_MODE: 'copy',
};

/**
 * An install often sets up git hooks (lefthook, husky, simple-git-hooks), which from a worktree would be those of the
 * user's repository: they go to a folder of the item's own, or are left out.
 */
function withoutHooks(home: string) {
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.hooksPath',
    GIT_CONFIG_VALUE_0: join(home, 'git-hooks'),
    HUSKY: '0',
    SKIP_INSTALL_SIMPLE_GIT_HOOKS: '1',
  };
}

/** Java takes the user's home from the system, whatever HOME says: Maven has to be told where to keep what it fetches. */
function mavenOptions(given: string, caches: string): string {
  return /-Dmaven\.repo\.local=/.test(given) ? given : `${given} -Dmaven.repo.local=${join(caches, 'maven')}`.trim();
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

function toolchainsIn(home: string): Record<string, string> {
  if (home === '') return {};
  const places = Object.entries(TOOLCHAINS).map(([name, folder]) => [name, join(home, folder)] as const);
  return Object.fromEntries(places.filter(([, folder]) => existsSync(folder)));
}

/** Who commits, and what git needs to read the files right; nothing that names a program of the user's but Git LFS. */
const GIT_SETTINGS = String.raw`^(user\.(name|email)|safe\.directory|init\.defaultbranch|core\.(autocrlf|eol)|filter\.lfs\..*)$`;

/** The settings whose names match, as a configuration file; of all that git reads, or of one file. */
async function gitConfigWith(git: Git, pattern: string, file: string | null): Promise<string> {
  const lines = (await settingsOf(git, pattern, file)).map(([name, value]) => {
    const first = name.indexOf('.');
    const last = name.lastIndexOf('.');
    const section = first === last ? name.slice(0, first) : `${name.slice(0, first)} "${name.slice(first + 1, last)}"`;
    return `[${section}]\n\t${name.slice(last + 1)} = ${quoted(withoutPassword(value))}\n`;
  });
  return lines.join('');
}

/** A URL may hold one. */
function withoutPassword(value: string): string {
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1');
}

function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t')}"`;
}

/** The parts of the repository that git in a worktree needs, for programs that must not see the rest. */
export interface ShownGit {
  /** The repository's own `.git`. */
  commonDir: string;
  /** The parts that git reads, and other folders with objects. */
  parts: string[];
  /** The text of its configuration without credentials and commands, to be shown instead. */
  config: string;
  /** An empty folder. */
  empty: string;
  /** The other checkouts of this repository, which programs must not see. */
  otherCheckouts: string[];
}

/** Objects and refs, but not hooks, logs, other worktrees, or files of tools. */
const PARTS = ['HEAD', 'objects', 'refs', 'packed-refs', 'reftable', 'shallow', 'info'];

/** The settings of the copy: how the repository is stored, and its remotes. */
const SHOWN_SETTINGS = String.raw`^(core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf)|extensions\..*|user\.(name|email)|remote\..*\.(url|fetch)|branch\..*\.(remote|merge))$`;

/** The returned function reads what may change at each call. Git is asked only once. */
export async function createShownGit(repository: Git, worktree: string): Promise<() => Promise<ShownGit>> {
  const { commonDir, directory, stateFolder } = await placeOf(repository, worktree);
  const config = await gitConfigWith(repository, SHOWN_SETTINGS, join(commonDir, 'config'));
  const empty = join(stateFolder, 'empty');
  await makeFolder(empty);
  const main = commonDir.endsWith('/.git') ? [dirname(commonDir)] : [];
  const shared = [...PARTS.map((name) => join(commonDir, name)), ...alternatesOf(join(commonDir, 'objects'))];
  return async () => {
    const all = await registrations(commonDir);
    const own = all.filter((entry) => entry.directory === directory).map(({ gitDir }) => gitDir);
    const others = all.map((entry) => entry.directory).filter((other) => other !== directory);
    return { commonDir, parts: [...shared, ...own], config, empty, otherCheckouts: [...main, ...others] };
  };
}

/** Alternate object folders. Anything else that a stranger's repository may name there is ignored. */
function alternatesOf(objects: string): string[] {
  try {
    const lines = readFileSync(join(objects, 'info', 'alternates'), 'utf8').split('\n');
    const named = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => resolve(objects, line));
    return named.filter((folder) => basename(folder) === 'objects' && existsSync(join(folder, '..', 'HEAD')));
  } catch {
    return [];
  }
}

/**
 * Variables that a toolchain, terminal or network needs to work as it does for the user. Everything else is set here or left out:
 * sockets of the desktop and of key agents, credentials of clouds and registries, and unknown variables.
 */
const NAMES: ReadonlySet<string> = new Set(
  [
    // the shell and the system
    'PATH SHELL USER LOGNAME LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CI SOURCE_DATE_EPOCH',
    'LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH LOCALE_ARCHIVE',
    // the network
    'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO',
    'NIX_SSL_CERT_FILE NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA',
    // compilers and languages
    'CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH LIBRARY_PATH PKG_CONFIG_PATH MAKEFLAGS SDKROOT',
    'DEVELOPER_DIR NODE_OPTIONS NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH PNPM_HOME BUN_INSTALL',
    'BUN_INSTALL_CACHE_DIR COREPACK_HOME YARN_CACHE_FOLDER YARN_GLOBAL_FOLDER PLAYWRIGHT_BROWSERS_PATH',
    'PUPPETEER_EXECUTABLE_PATH CHROME_BIN POETRY_CACHE_DIR PYENV_ROOT PYENV_VERSION RBENV_ROOT GEM_HOME',
    'GEM_PATH JAVA_HOME MAVEN_HOME MAVEN_OPTS MAVEN_ARGS SDKMAN_DIR GRADLE_USER_HOME ANDROID_HOME DOTNET_ROOT',
    'NUGET_PACKAGES COMPOSER_CACHE_DIR COREPACK_NPM_REGISTRY COREPACK_INTEGRITY_KEYS RUSTFLAGS RUST_BACKTRACE',
    // Go's own, by name: there is no prefix that only it uses
    'GOROOT GOPATH GOMODCACHE GOCACHE GOFLAGS GOPROXY GOPRIVATE GONOPROXY GONOSUMDB GOSUMDB GOINSECURE',
    'GOTOOLCHAIN GOWORK CGO_ENABLED',
    // one trace over all processes, and the tag by which leftovers are found
    'TRACEPARENT TRACESTATE AGENTOS_WORKER',
  ].flatMap((names) => names.split(' ')),
);

const PREFIXES =
  'LC_ SSL_CERT_ GIT_AUTHOR_ GIT_COMMITTER_ NPM_CONFIG_ PIP_ UV_ PYTHON CARGO_ RUSTUP_ ASDF_ MISE_'.split(' ');

/** npm passes all its settings to its children. Only those about the source of packages are kept. */
const NPM_OWN = /^npm_config_(?:cache|store_dir|registry|@.+:registry|ca|cafile|strict_ssl|proxy|https_proxy|noproxy)$/;

/** Files with credentials, folders of other projects, and code that would run first. */
const NEVER = /__AUTH|^NPM_CONFIG_(?:USER|GLOBAL)CONFIG$|^NPM_CONFIG_(?:LOCAL_)?PREFIX$|^PYTHON(?:STARTUP|HOME)$/i;

function isKept(name: string): boolean {
  if (NEVER.test(name)) return false;
  if (name.startsWith('npm_')) return NPM_OWN.test(name);
  // Proxies are also written in small letters.
  return NAMES.has(name) || NAMES.has(name.toUpperCase()) || PREFIXES.some((prefix) => name.startsWith(prefix));
}
