/* Files that no model may see, by path and by content. */

const SECRET_NAMES = [
  /^\.env(\..+)?$/i,
  /^\.(npmrc|netrc|pypirc|pgpass|htpasswd|dockercfg|git-credentials)$/i,
  /^(kubeconfig|\.vault-token|\.terraformrc)$|\.(tfstate|tfstate\.backup|tfvars|ovpn|keytab|agekey)$/i,
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

/** Keys with a known prefix and length: the rules of gitleaks (MIT) that need no context. Others would have false positives. */
const KEYS: readonly [beginning: string, form: RegExp][] = [
  ['-----BEGIN ', /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----/],
  ['AKIA', /\bAKIA[A-Z2-7]{16}\b/],
  ['ASIA', /\bASIA[A-Z2-7]{16}\b/],
  ['AIza', /\bAIza[\w-]{35}\b/],
  ['ghp_', /\bghp_[0-9a-zA-Z]{36}\b/],
  ['gho_', /\bgho_[0-9a-zA-Z]{36}\b/],
  ['ghu_', /\bghu_[0-9a-zA-Z]{36}\b/],
  ['ghs_', /\bghs_[0-9a-zA-Z]{36}\b/],
  ['ghr_', /\bghr_[0-9a-zA-Z]{36}\b/],
  ['github_pat_', /\bgithub_pat_\w{82}\b/],
  ['glpat-', /\bglpat-[\w-]{20}\b/],
  ['xoxb-', /\bxoxb-\d{10,13}-\d{10,13}-[a-zA-Z0-9]{24,}/],
  ['xoxp-', /\bxoxp-(?:\d{10,13}-){3}[a-zA-Z0-9]{28,34}\b/],
  ['sk-ant-', /\bsk-ant-(?:api|admin)\d\d-[\w-]{80,}/],
  ['sk-proj-', /\bsk-proj-[\w-]{48,}/],
  ['T3BlbkFJ', /\bsk-[\w-]{20,}T3BlbkFJ[\w-]{20,}/],
  ['sk_live_', /\b[sr]k_live_[a-zA-Z0-9]{10,99}\b/],
  ['rk_live_', /\brk_live_[a-zA-Z0-9]{10,99}\b/],
  ['npm_', /\bnpm_[a-zA-Z0-9]{36}\b/],
  ['pypi-AgE', /\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}/],
  ['SG.', /\bSG\.[\w-]{22}\.[\w-]{43}\b/],
  ['hf_', /\bhf_[a-zA-Z]{34}\b/],
  ['dop_v1_', /\bdop_v1_[a-f0-9]{64}\b/],
  ['shpat_', /\bshpat_[a-fA-F0-9]{32}\b/],
];

/** Words in the keys of examples and tests. */
const NO_KEY = /example|sample|dummy|fake|test|your|x{4}|X{4}|0{4}|0123|1234|abcd/i;

export function holdsKey(content: string | Buffer): boolean {
  return KEYS.some(([beginning, form]) => {
    if (!content.includes(beginning)) return false;
    const text = typeof content === 'string' ? content : content.toString('latin1');
    for (const [found] of text.matchAll(new RegExp(form, 'g'))) if (!NO_KEY.test(found)) return true;
    return false;
  });
}
