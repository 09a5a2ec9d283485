import type { MissingKey } from './errors.ts';
import { maskedForms } from './mask.ts';
import { Secret } from './secret.ts';

export type VendorName = 'anthropic' | 'google' | 'openai' | 'openai-compatible';

/** `several`: separated by commas. */
const KEY_VARIABLES: Record<VendorName, { one: string; several: string } | null> = {
  anthropic: { one: 'ANTHROPIC_API_KEY', several: 'ANTHROPIC_API_KEYS' },
  google: { one: 'GEMINI_API_KEY', several: 'GEMINI_API_KEYS' },
  openai: { one: 'OPENAI_API_KEY', several: 'OPENAI_API_KEYS' },
  'openai-compatible': null,
};

export const ENDPOINT_VARIABLES: Partial<Record<VendorName, string>> = {
  anthropic: 'ANTHROPIC_BASE_URL',
  google: 'GOOGLE_GEMINI_BASE_URL',
  openai: 'OPENAI_BASE_URL',
};

/** The vendors' own APIs; null: a compatible server has none. */
export const OFFICIAL_URLS: Readonly<Record<VendorName, string | null>> = {
  anthropic: 'https://api.anthropic.com',
  google: 'https://generativelanguage.googleapis.com',
  openai: 'https://api.openai.com',
  'openai-compatible': null,
};

export const VENDORS = Object.keys(KEY_VARIABLES) as VendorName[];

export interface VendorKey {
  /** Safe to show: the variable it came from, with a number if that holds several. */
  id: string;
  vendor: VendorName;
  secret: Secret;
}

/** The variables that the configuration names for a vendor's keys. */
export type NamedKeys = Partial<Record<VendorName, readonly string[] | undefined>>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that may hold a vendor's keys; those from the configuration come first. */
export function keyVariables(vendor: VendorName, named: readonly string[] = []): string[] {
  const standard = KEY_VARIABLES[vendor];
  return standard ? [...new Set([...named, standard.one, standard.several])] : [...named];
}

/** For items that the hub's machines work on. */
export function missingAtHub(vendor: VendorName, roles: string[]): MissingKey {
  const variables = [`${keyVariables(vendor).join(' or ')} in the environment of agentos hub`];
  return { provider: `${vendor} at the hub`, variables, roles };
}

/** All keys without duplicates, in a stable order. */
export function readKeys(env: Environment, named: NamedKeys): VendorKey[] {
  const keys: VendorKey[] = [];
  const seen = new Set<string>();
  for (const vendor of VENDORS) {
    for (const variable of keyVariables(vendor, named[vendor])) {
      const values = (env[variable] ?? '').split(',').map((value) => value.trim());
      for (const [index, value] of values.entries()) {
        if (value === '' || seen.has(`${vendor}\0${value}`)) continue;
        seen.add(`${vendor}\0${value}`);
        const id = values.length > 1 ? `${variable}#${index + 1}` : variable;
        keys.push({ id, vendor, secret: new Secret(value) });
      }
    }
  }
  return keys;
}

/** The vendors whose standard variables hold this value. */
function standardVendorsOf(value: string, env: Environment): VendorName[] {
  const holds = (vendor: VendorName): boolean =>
    keyVariables(vendor).some((variable) => (env[variable] ?? '').split(',').some((one) => one.trim() === value));
  return VENDORS.filter(holds);
}

/**
 * Splits keys by whether they may be sent where a repository's configuration sends them, by an address or as a key of another vendor.
 * A vendor's standard key goes to that vendor's host only, even in a trusted repository.
 */
export function standardKeysAtHome(
  keys: readonly VendorKey[],
  endpoints: Readonly<Partial<Record<VendorName, string | undefined>>>,
  env: Environment,
): { kept: VendorKey[]; withheld: VendorKey[] } {
  const originOf = (url: string | undefined): string | null => URL.parse(url?.trim() ?? '')?.origin ?? null;
  const isAtHome = ({ vendor, secret }: VendorKey): boolean => {
    const owners = standardVendorsOf(secret.reveal(), env);
    const own = originOf(env[ENDPOINT_VARIABLES[vendor] ?? '']);
    const origin = originOf(endpoints[vendor]) ?? own ?? OFFICIAL_URLS[vendor];
    const homes = owners.map((owner) => OFFICIAL_URLS[owner]);
    // The user may have set an address for the vendor in the environment.
    if (owners.includes(vendor)) homes.push(own);
    return owners.length === 0 || origin === null || homes.includes(origin);
  };
  return { kept: keys.filter(isAtHome), withheld: keys.filter((key) => !isAtHome(key)) };
}

/** Which of these variables hold a key, or are meant to hold one. */
export function keysAmong(
  names: readonly string[],
  env: Environment,
  { keys, named }: { keys: readonly VendorKey[]; named: NamedKeys },
): string[] {
  const variables = new Set(VENDORS.flatMap((vendor) => keyVariables(vendor, named[vendor])));
  const forms = maskedForms(keys.map((key) => key.secret.reveal()));
  const holdsKey = (name: string): boolean => forms.some((form) => env[name]?.includes(form));
  return names.filter((name) => variables.has(name) || holdsKey(name));
}

/** Names of variables that hold credentials by convention. */
const LOOKS_SECRET =
  /(^|_)(API_?KEYS?|TOKEN|SECRETS?|CREDENTIALS?|PRIVATE_KEY|ACCESS_KEY(_ID)?|PWD)($|_)|PASSWORD|PASSWD|PASSPHRASE/i;
/** Credentials for a trace collector; its endpoint may contain a password. */
const COLLECTOR_SECRET = /^OTEL_EXPORTER_OTLP_(\w+_)?(HEADERS|CLIENT_KEY)$/;
const COLLECTOR_ENDPOINT = /^OTEL_EXPORTER_OTLP_(\w+_)?ENDPOINT$/;
/** The URL of the hub's database, with its password. */
export const DATABASE_VARIABLE = 'AGENTOS_DATABASE_URL';
/** Variables of the shell that end like a password. */
const HARMLESS: ReadonlySet<string> = new Set(['PWD', 'OLDPWD']);

function looksSecret(name: string, value: string): boolean {
  if (LOOKS_SECRET.test(name)) return !HARMLESS.has(name);
  // With it a program could join as a machine.
  if (name === DATABASE_VARIABLE) return true;
  return COLLECTOR_SECRET.test(name) || (COLLECTOR_ENDPOINT.test(name) && value.includes('@'));
}

/** Values that are secret because of the names of their variables. */
export function secretsIn(env: Environment): Secret[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && looksSecret(name, value) ? secretParts(value).map((part) => new Secret(part)) : [],
  );
}

/** For several keys in one variable, or headers as `name=value,name=value`: each part is secret too. */
function secretParts(value: string): string[] {
  const parts = value.split(',').flatMap((part) => [part, part.slice(part.indexOf('=') + 1)]);
  return [...new Set([value, ...parts].map((part) => part.trim()))].filter((part) => part.length >= 8);
}

/** What git needs to find a repository, before we know which variables hold keys. */
export function plainEnvironment(env: Environment): Record<string, string> {
  const isPlain = (name: string): boolean =>
    /^(?:PATH|HOME|USERPROFILE|SYSTEMROOT|XDG_CONFIG_HOME|LANG|TMPDIR|LC_\w+|GIT_\w+)$/.test(name);
  return Object.fromEntries(Object.entries(withoutSecrets(env, [], [])).filter(([name]) => isPlain(name)));
}

/**
 * The environment for programs that we start: git, commands, agents, tests. Keys are removed by name and by value, so that a key in an
 * unusual variable is removed too. A dummy too short to mask is removed by name only: a key `x` would otherwise remove PATH.
 */
export function withoutSecrets(
  env: Environment,
  keys: readonly Pick<VendorKey, 'secret'>[],
  pass: readonly string[],
): Record<string, string> {
  const secrets = maskedForms(keys.map((key) => key.secret.reveal()));
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    if (!pass.includes(name) && (looksSecret(name, value) || secrets.some((secret) => value.includes(secret))))
      continue;
    kept[name] = pass.includes(name) ? value : withoutCredentials(value);
  }
  return kept;
}

/** Removes user names and passwords from the URLs of proxies and registries. */
function withoutCredentials(value: string): string {
  return value.replace(/:\/\/[^\s/?#,|]*@/g, '://');
}
