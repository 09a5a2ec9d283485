/**
 * Variables that a toolchain, a terminal or a network needs to work as it does for the user. Everything else is either
 * set again or left out: sockets of the desktop and of agents for keys, credentials of clouds and registries, what
 * another program's run is about, and whatever we have never heard of.
 */
const NAMES: ReadonlySet<string> = new Set([
  // the shell and the system
  'PATH',
  'SHELL',
  'USER',
  'LOGNAME',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'FORCE_COLOR',
  'CI',
  'SOURCE_DATE_EPOCH',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'DYLD_FALLBACK_LIBRARY_PATH',
  'LOCALE_ARCHIVE',
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  // the network
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'NIX_SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_USE_SYSTEM_CA',
  // compilers and languages
  'CC',
  'CXX',
  'CFLAGS',
  'CXXFLAGS',
  'CPPFLAGS',
  'LDFLAGS',
  'CPATH',
  'LIBRARY_PATH',
  'PKG_CONFIG_PATH',
  'MAKEFLAGS',
  'SDKROOT',
  'DEVELOPER_DIR',
  'NODE_OPTIONS',
  'NVM_DIR',
  'NVM_BIN',
  'VOLTA_HOME',
  'FNM_DIR',
  'FNM_MULTISHELL_PATH',
  'PNPM_HOME',
  'BUN_INSTALL',
  'BUN_INSTALL_CACHE_DIR',
  'COREPACK_HOME',
  'YARN_CACHE_FOLDER',
  'YARN_GLOBAL_FOLDER',
  'PLAYWRIGHT_BROWSERS_PATH',
  'PUPPETEER_EXECUTABLE_PATH',
  'CHROME_BIN',
  'POETRY_CACHE_DIR',
  'PYENV_ROOT',
  'PYENV_VERSION',
  'RBENV_ROOT',
  'GEM_HOME',
  'GEM_PATH',
  'JAVA_HOME',
  'SDKMAN_DIR',
  'GRADLE_USER_HOME',
  'ANDROID_HOME',
  'DOTNET_ROOT',
  'RUSTFLAGS',
  'RUST_BACKTRACE',
  // Go's own, by name: there is no prefix that only it uses
  'GOROOT',
  'GOPATH',
  'GOMODCACHE',
  'GOCACHE',
  'GOFLAGS',
  'GOPROXY',
  'GOPRIVATE',
  'GONOPROXY',
  'GONOSUMDB',
  'GOSUMDB',
  'GOINSECURE',
  'GOTOOLCHAIN',
  'GOWORK',
  'CGO_ENABLED',
  // one trace over all processes, and the tag by which leftovers are found
  'TRACEPARENT',
  'TRACESTATE',
  'AGENTOS_WORKER',
]);

const PREFIXES = [
  'LC_',
  'SSL_CERT_',
  'GIT_AUTHOR_',
  'GIT_COMMITTER_',
  'NPM_CONFIG_',
  'PIP_',
  'UV_',
  'PYTHON',
  'CARGO_',
  'RUSTUP_',
  'ASDF_',
  'MISE_',
];

/** npm hands all its settings down to what it starts; of those only what says where packages come from is meant. */
const NPM_OWN = /^npm_config_(?:cache|store_dir|registry|@.+:registry|ca|cafile|strict_ssl|proxy|https_proxy|noproxy)$/;

/** Files with credentials in them, folders of other projects, and what would run before everything else. */
const NEVER = /__AUTH|^NPM_CONFIG_(?:USER|GLOBAL)CONFIG$|^NPM_CONFIG_(?:LOCAL_)?PREFIX$|^PYTHON(?:STARTUP|HOME)$/i;

export function isKept(name: string): boolean {
  if (NEVER.test(name)) return false;
  if (name.startsWith('npm_')) return NPM_OWN.test(name);
  // Proxies are also written in small letters, and Windows spells names as it likes.
  return NAMES.has(name) || NAMES.has(name.toUpperCase()) || PREFIXES.some((prefix) => name.startsWith(prefix));
}
