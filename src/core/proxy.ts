import { usageError } from './errors.ts';
import type { Environment } from './keys.ts';

/** In the order in which Node reads them: lower case wins over upper case. */
const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
const EXCEPTIONS = ['no_proxy', 'NO_PROXY'];
const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/**
 * The proxy variables for connections to vendors; null: none is set. Node ignores a proxy URL that it can't parse, and requests would
 * bypass it, so that is an error. The message never repeats the value: it may contain a password.
 */
export function proxyVariables(env: Environment): Record<string, string> | null {
  const found: Record<string, string> = {};
  for (const name of PROXY_VARIABLES) {
    const value = env[name]?.trim();
    if (value) found[name] = proxyUrl(name, value);
  }
  if (Object.keys(found).length === 0) return null;
  for (const name of EXCEPTIONS) {
    const value = env[name]?.trim();
    if (value) found[name] = value;
  }
  return found;
}

/** `host:port` is allowed, as in curl. */
function proxyUrl(name: string, value: string): string {
  const url = URL.parse(/^[\w.-]+:\d+\/?$/.test(value) ? `http://${value}` : value);
  if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '') return url.href;
  throw usageError(`${name} is not the URL of a proxy.`, `Write it as http://host:port, or unset ${name}.`);
}

/** The proxy for a host; null: it is reached directly. */
export function proxyFor(env: Environment, host: string, isSecure: boolean): URL | null {
  const found = proxyVariables(env);
  const names = isSecure ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const url = names.map((name) => found?.[name]).find((value) => value !== undefined);
  const exceptions = EXCEPTIONS.map((name) => found?.[name]).find((value) => value !== undefined) ?? '';
  const isDirect = exceptions.split(',').some((entry) => {
    const name = entry
      .trim()
      .toLowerCase()
      .replace(/:\d+$/, '')
      .replace(/^\*?\./, '');
    return entry.trim() === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)));
  });
  return url === undefined || isDirect ? null : URL.parse(url);
}

/** Programs that we start talk to the gateway on this machine, which no proxy can reach. */
export function withLoopbackDirect(env: Readonly<Record<string, string>>): Record<string, string> {
  if (!PROXY_VARIABLES.some((name) => env[name])) return { ...env };
  // Programs read only one of the two variables, so both get all hosts.
  const own = EXCEPTIONS.map((name) => env[name]).find((value) => value) ?? '';
  const exceptions = (value: string): string => {
    const hosts = value.split(',').map((host) => host.trim());
    if (hosts.includes('*')) return '*';
    return [...new Set([...hosts, ...LOOPBACK])].filter(Boolean).join(',');
  };
  return { ...env, ...Object.fromEntries(EXCEPTIONS.map((name) => [name, exceptions(env[name] || own)])) };
}
