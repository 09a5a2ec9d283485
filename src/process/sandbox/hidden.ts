import { readFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
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
