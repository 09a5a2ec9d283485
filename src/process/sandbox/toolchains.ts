import { existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { isInside } from '../../core/paths.ts';
import { homesOf } from './hidden.ts';
import type { Rules } from './rules.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Below the home: what version managers and installers put there, and no settings. */
const FOLDERS = [
  '.nvm .fnm .local/share/fnm .volta .nodenv .asdf .local/share/mise .config/mise .pyenv .rye .rbenv .rvm .sdkman .jenv',
  '.jabba .rustup .cargo/bin .bun .deno .ghcup .opam .juliaup .dotnet .dotnet/tools .gem .goenv .phpenv .swiftly .elan',
  '.local/bin .local/lib .local/pipx .local/share/pipx .local/share/uv .local/share/pnpm .local/share/claude .claude/local',
  '.npm-global .npm-packages .linuxbrew .nix-profile .local/state/nix .yarn/bin .config/yarn/global .composer/vendor',
  '.config/composer/vendor .cache/ms-playwright .cache/puppeteer .cache/electron .cache/Cypress .opencode/bin .m2/repository',
  '.m2/wrapper .foundry/bin .pub-cache .local/share/rtx .local/share/virtualenvs miniconda3 anaconda3 miniforge3 go/bin',
].flatMap((names) => names.split(' '));

/** In those folders: files with credentials in them. */
const CREDENTIALS = '.gem/credentials .local/share/pnpm/rc .deno/credentials .pub-cache/credentials.json'.split(' ');

/** Variables that name a file or folder, or several, which a toolchain needs. */
const VARIABLES = [
  'NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH PNPM_HOME BUN_INSTALL RUSTUP_HOME PYENV_ROOT RBENV_ROOT ASDF_DIR',
  'ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR SDKMAN_DIR JAVA_HOME GOROOT DOTNET_ROOT ANDROID_HOME GEM_HOME GEM_PATH',
  'PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN LD_LIBRARY_PATH PYTHONPATH CPATH LIBRARY_PATH',
  'PKG_CONFIG_PATH PIP_FIND_LINKS NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE',
  'GIT_SSL_CAINFO PIP_CERT NIX_SSL_CERT_FILE npm_config_cafile NPM_CONFIG_CAFILE CARGO_HTTP_CAINFO LOCALE_ARCHIVE',
].flatMap((names) => names.split(' '));

/** `bin` of these folders stands beside what is no program. */
const NOT_WHOLE = /\/(?:\.local|\.cargo|\.config|\.cache|\.claude)$/;

/**
 * Shows what programs need of what is hidden: toolchains in the home, the folders of the PATH with what belongs to them, and the
 * places that variables name. `passed`: variables that are handed over by name, and what they name with them.
 */
export function showToolchains(rules: Rules, env: Environment, passed: readonly string[]): void {
  const homes = homesOf(process.env);
  const path = (env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const named = [...VARIABLES, ...passed].flatMap((name) => (env[name] ?? '').split(delimiter));
  const folders = [...homes.flatMap((home) => FOLDERS.map((name) => join(home, name))), ...named];
  rules.show('read', ...folders.filter((folder) => isNeeded(rules, folder)));
  // Its programs are shown even where something in it is protected, which stays hidden.
  for (const folder of path.filter((each) => rules.isHidden(each) && !rules.isPlace(each))) {
    rules.show('read', wholeOf(rules, folder));
    // A program there is often a link to where it is installed.
    for (const target of linksIn(folder))
      if (isNeeded(rules, target)) rules.show('read', wholeOf(rules, dirname(target)));
  }
  rules.hide(...homes.flatMap((home) => CREDENTIALS.map((name) => join(home, name))));
}

/** Not shown yet, and nothing that is hidden on purpose. */
function isNeeded(rules: Rules, folder: string): boolean {
  return isAbsolute(folder) && rules.isHidden(folder) && !rules.isProtected(folder);
}

/** What a folder of programs belongs to: they load what is beside it. */
function wholeOf(rules: Rules, folder: string): string {
  const packages = /^.*\/node_modules(?=\/)/.exec(folder)?.[0];
  const above = packages ?? (/^(?:\.?bin|sbin|shims|Scripts)$/.test(basename(folder)) ? dirname(folder) : folder);
  return above === '/' || NOT_WHOLE.test(above) || rules.isProtected(above) ? folder : above;
}

function linksIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .map((entry) => resolve(folder, readlinkSync(join(folder, entry.name))));
  } catch {
    return [];
  }
}

/** A word of a shell command: in quotes, or without. */
const WORD = /'([^']*)'|"([^"]*)"|((?:\\.|[^\s'";|&<>()\\])+)/g;

/** And what is there of the words of a script in quotes, and of a list of paths. */
function wordsOf(text: string, isThere: (word: string) => boolean): string[] {
  return [...text.matchAll(WORD)].flatMap((match) => {
    const word = match[1] ?? match[2] ?? (match[3] ?? '').replaceAll(/\\(.)/g, '$1');
    if (isThere(word)) return [word];
    const inner = match[3] === undefined ? wordsOf(word, isThere) : [];
    return [word, ...[...inner, ...word.split(/[:,`]/)].filter(isThere)];
  });
}

/** Where credentials are, in any home. */
const KEY_PLACES =
  /\/(?:\.ssh|\.aws|\.azure|\.gnupg|\.kube|\.docker|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.password-store|keyrings|\.config\/(?:gh|gcloud|git|glab-cli|op)|\.cargo\/credentials(?:\.toml)?)(?:\/|$)/;

/**
 * Shows what a command names by an absolute path: a folder; or a file with what is beside it and what Node would load from
 * there. What is protected stays hidden, although it is named or in a folder that is: homes, the checkout and the like as a whole;
 * what is known to hold credentials; and what is below one of `never`.
 */
export function showNamed(rules: Rules, command: string, never: readonly string[]): void {
  const [home = ''] = homesOf(process.env);
  const isSecret = (path: string): boolean => KEY_PLACES.test(path) || never.some((place) => isInside(place, path));
  const pathIn = (word: string): string =>
    word.replace(/^(?:-{0,2}[\w.-]+=)?(?:file:\/\/)?/, '').replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/)/, home);
  for (const named of wordsOf(command, (word) => existsSync(pathIn(word))).map(pathIn)) {
    const path = resolve('/', named);
    if (!isAbsolute(named) || isSecret(path) || !rules.isHidden(path) || rules.isPlace(path)) continue;
    const found = statSync(path, { throwIfNoEntry: false });
    // What is not there may be the beginning of a name that the shell completes.
    const isFile = found?.isDirectory() !== true;
    for (let above = dirname(path); isFile && above !== '/'; above = dirname(above)) {
      // The folder of the file is shown even where something in it is protected, which stays hidden.
      if (above === dirname(path) && !rules.isPlace(above)) rules.show('read', above);
      rules.show('read', join(above, 'package.json'), join(above, 'node_modules'));
    }
    if (found !== undefined) rules.show('read', path);
  }
}
