import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { isInside } from '../../core/paths.ts';
import type { Rules } from './rules.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where people's files are. What does not exist is left out. */
const HOMES = ['/root', '/home', '/Users', '/mnt/c/Users'];

/** Where other programs of this machine listen, and what they keep for a while: desktop, containers, secrets of a pod. */
const RUNTIME = ['/run', '/var/run', '/private/var/run'];
const TEMPORARY = ['/tmp', '/var/tmp', '/private/tmp', '/private/var/tmp', '/private/var/folders'];

/** What the system keeps for root, who can read it without capabilities, too. */
const KEYS = [
  '/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/krb5.keytab /etc/ssl/private',
  '/etc/letsencrypt /etc/pki/tls/private /etc/wireguard /etc/openvpn /etc/NetworkManager /etc/docker /etc/containers',
  '/etc/kubernetes /etc/rancher /etc/vault.d /etc/ppp /etc/ipsec.secrets /etc/ssh/ssh_host_rsa_key',
  '/etc/ssh/ssh_host_dsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /var/lib/docker',
  '/var/lib/containers /var/lib/containerd /var/lib/kubelet /var/lib/rancher /var/lib/lxd /var/lib/incus /var/lib/libvirt',
  '/var/snap/lxd /var/lib/NetworkManager /var/lib/bluetooth /var/lib/sss /var/spool /var/mail /var/log /var/backups /secrets',
  '/Library/Keychains',
].flatMap((names) => names.split(' '));

/** Variables that name a file or folder with credentials in it. */
const KEY_VARIABLES = [
  'XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR XAUTHORITY GNUPGHOME NETRC CURL_HOME',
  'AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_WEB_IDENTITY_TOKEN_FILE GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG',
  'AZURE_CONFIG_DIR KUBECONFIG DOCKER_CONFIG REGISTRY_AUTH_FILE DOCKER_CERT_PATH GH_CONFIG_DIR GLAB_CONFIG_DIR PGPASSFILE',
  'PGSERVICEFILE NPM_CONFIG_USERCONFIG npm_config_userconfig PIP_CONFIG_FILE TF_CLI_CONFIG_FILE VAULT_TOKEN_FILE',
  'CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME OPENCODE_CONFIG_DIR KRB5_KTNAME BUNDLE_USER_HOME COMPOSER_HOME',
].flatMap((names) => names.split(' '));

/** The folders in which this user's own files are. */
export function homesOf(env: Environment): string[] {
  return [...new Set([env['HOME'] ?? '', userHome()])].filter((home) => home.startsWith('/') && home !== '/');
}

function userHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    // A number without a name, as in some containers.
    return '';
  }
}

/** What programs of an item have no business with on any machine, whichever repository they work for. */
export function hideSystem(rules: Rules, env: Environment): void {
  rules.hide(...HOMES, ...RUNTIME, ...(process.getuid?.() === 0 ? KEYS : []));
  rules.empty(...TEMPORARY, tmpdir(), ...homesOf(env));
  rules.hide(...KEY_VARIABLES.flatMap((name) => (env[name] ?? '').split(':')));
  rules.hide(...listeningSockets().filter((path) => !rules.isHidden(path)));
}

/** In the file system: those could be reached from any network namespace. None where there is no /proc. */
function listeningSockets(): string[] {
  try {
    // Seven columns, and the path where there is one.
    const paths = readFileSync('/proc/net/unix', 'utf8').matchAll(/^(?:\S+ +){7}(\/.*)$/gm);
    return [...new Set([...paths].map((match) => match[1] ?? ''))];
  } catch {
    return [];
  }
}

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
