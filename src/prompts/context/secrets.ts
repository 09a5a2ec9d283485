/** Files that no model is ever shown, by their path. */

const SECRET_NAMES = [
  /^\.env(\..+)?$/i,
  /^\.(npmrc|netrc|pypirc|pgpass|htpasswd|dockercfg|git-credentials)$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)/i,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$/i,
  /^(credentials?|secrets?|service[-_]?account)(\.[\w.-]+)?$/i,
  /(^|[._-])(secret|secrets|credentials)\.(ya?ml|json|toml|ini|txt)$/i,
];
const HARMLESS = /^\.env\.(example|sample|template|dist)$/i;
const SECRET_FOLDERS = new Set(['.ssh', '.aws', '.gnupg', '.kube', '.docker']);

export function isSecret(path: string): boolean {
  const segments = path.split('/');
  const name = segments.at(-1) ?? '';
  if (HARMLESS.test(name)) return false;
  return segments.some((segment) => SECRET_FOLDERS.has(segment)) || SECRET_NAMES.some((pattern) => pattern.test(name));
}
