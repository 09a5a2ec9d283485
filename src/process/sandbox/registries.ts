import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

export const LOOPBACK_HOST = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|::1)$/i;

/** A host that the set-up may talk to. */
export interface AllowedHost {
  /** `*.example.com`: every name below it. */
  host: string;
  /** Null: any. */
  port: number | null;
  /**
   * Named by us or by the person who runs us: it may be on this machine or in a private network. What only the repository names
   * must be out on the internet, or it could use us to ask the machine's own services.
   */
  isTrusted: boolean;
}

/** Of npm, PyPI, crates.io, Go, Maven, RubyGems, Packagist and NuGet. */
const USUAL = [
  'registry.npmjs.org registry.yarnpkg.com repo.yarnpkg.com npm.jsr.io pypi.org files.pythonhosted.org crates.io',
  'index.crates.io static.crates.io proxy.golang.org sum.golang.org repo.maven.apache.org repo1.maven.org plugins.gradle.org',
  'plugins-artifacts.gradle.org rubygems.org index.rubygems.org packagist.org repo.packagist.org api.nuget.org',
  'www.nuget.org globalcdn.nuget.org',
].flatMap((names) => names.split(' '));

/** Variables whose value names registries. */
const VARIABLES =
  /^(?:npm_config_(?:.*:)?registry|yarn_(?:npm_)?registry(?:_server)?|pip_(?:extra_)?index_url|pip_find_links|uv_(?:default_|extra_)?index(?:_url)?|goproxy|gosumdb|cargo_registries_\w+_index|bundle_mirror__\w+|nuget_source)$/i;

const NPM = /^[ \t]*(?:@[^\s:=]+:)?registry[ \t]*=[ \t]*["']?(\S+?)["']?[ \t]*$/gm;
const PIP = /^[ \t]*(?:(?:extra-)?index-url|find-links)[ \t]*=[ \t]*(.*(?:\n[ \t]+\S+)*)/gm;

/** Files of a repository that name registries, and where in them. */
export const REGISTRY_FILES: Readonly<Record<string, RegExp>> = {
  '.npmrc': NPM,
  '.yarnrc': /^[ \t]*"?(?:@[^\s:]+:)?registry"?[ \t]+"?(\S+?)"?[ \t]*$/gm,
  '.yarnrc.yml': /\bnpmRegistryServer:[ \t]*["']?(\S+?)["']?[ \t]*$/gm,
  'bunfig.toml': /^[ \t]*"?(?:registry|url|@?[\w-]+)"?[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  'pip.conf': PIP,
  'requirements.txt': /^[ \t]*(?:--index-url|--extra-index-url|-i)[\s=]+(\S+)/gm,
  'pyproject.toml': /^[ \t]*(?:url|index-url|default-index)[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  'uv.toml': /^[ \t]*(?:url|index-url|default-index)[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  Pipfile: /^[ \t]*url[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  '.cargo/config.toml': /^[ \t]*(?:index|registry)[ \t]*=[ \t]*["'](?:sparse\+)?(https?:[^"']+)/gm,
  Gemfile: /^[ \t]*source[ \t]*\(?[ \t]*["'](https?:[^"']+)/gm,
  'nuget.config': /\bvalue[ \t]*=[ \t]*"(https?:[^"]+)"/gi,
};

const PIP_LINE =
  /^\s*(?:\[[\w-]+\]|(?:index-url|extra-index-url|find-links|no-index|trusted-host|cert|(?:default-)?timeout|retries|prefer-binary)\s*=.*|[ \t]+[^\s=]+)\s*$/;

const NPM_LINE =
  /^\s*(?:(?:@[^\s:=]+:)?registry|ca(?:\[\])?|cafile|strict-ssl|legacy-peer-deps|ignore-scripts|engine-strict|prefer-offline|offline|fetch-[a-z-]+|manage-package-manager-versions|package-manager-strict(?:-version)?)\s*=/;

/**
 * A package manager's settings in the user's home. `line`: matches lines about where packages come from and how they are fetched; other
 * lines may hold credentials or commands. `registries`: as above.
 */
const USER_FILES: Readonly<Record<string, { line: RegExp; registries: RegExp }>> = {
  '.npmrc': { line: NPM_LINE, registries: NPM },
  '.config/pnpm/rc': { line: NPM_LINE, registries: NPM },
  '.config/pip/pip.conf': { line: PIP_LINE, registries: PIP },
  '.pip/pip.conf': { line: PIP_LINE, registries: PIP },
  '.config/go/env': {
    line: /^(?:GOPROXY|GOPRIVATE|GONOPROXY|GOSUMDB|GONOSUMDB|GOINSECURE|GOTOOLCHAIN|GOFLAGS)=/,
    registries: /^GOPROXY=(.*)$/gm,
  },
};

const PASSWORD = /:\/\/[^/\s@]*@/;

/**
 * The package managers' settings that every program of an item may read, by path in the home. Without them, an install
 * that depends on a mirror fails. Lines with a password in a URL are dropped.
 */
export async function packageSettings(home: string): Promise<ReadonlyMap<string, string>> {
  const texts = await Promise.all(
    Object.entries(USER_FILES).map(async ([path, { line }]) => {
      const text = home === '' ? '' : await readFile(join(home, path), 'utf8').catch(() => '');
      const lines = text.split(/\r?\n/).filter((each) => line.test(each) && !PASSWORD.test(each));
      return [path, lines.map((each) => `${each}\n`).join('')] as const;
    }),
  );
  return new Map(texts.filter(([, text]) => text !== ''));
}

/** Settings of all users of the machine. */
const SYSTEM_FILES: Readonly<Record<string, RegExp>> = {
  '/etc/npmrc': NPM,
  '/usr/etc/npmrc': NPM,
  '/usr/local/etc/npmrc': NPM,
  '/etc/pip.conf': PIP,
};

const MACHINE_FILES: Readonly<Record<string, RegExp>> = {
  ...SYSTEM_FILES,
  ...Object.fromEntries(Object.entries(USER_FILES).map(([path, { registries }]) => [`~/${path}`, registries])),
};

/** The texts of settings of the machine and of the user, for `allowedHosts`. */
export async function machineSettings(): Promise<Record<string, string>> {
  const files = Object.keys(SYSTEM_FILES);
  const texts = await Promise.all(files.map(async (path) => [path, await readFile(path, 'utf8').catch(() => '')]));
  const own = [...(await packageSettings(homedir()))].map(([path, text]) => [`~/${path}`, text]);
  return Object.fromEntries([...texts, ...own]);
}

export interface RegistrySources {
  env: Environment;
  /** From the configuration: `host` or `host:port`. */
  hosts: readonly string[];
  /** See `machineSettings`; and texts of `REGISTRY_FILES`, by their names. */
  machine: Readonly<Record<string, string>>;
  repository: Readonly<Record<string, string>>;
}

/** What the set-up may reach. */
export function allowedHosts({ env, hosts, machine, repository }: RegistrySources): AllowedHost[] {
  const byEnvironment = Object.entries(env).flatMap(([name, value]) =>
    VARIABLES.test(name) ? urlsIn(value ?? '') : [],
  );
  const inFiles = (texts: Readonly<Record<string, string>>, patterns: Readonly<Record<string, RegExp>>): string[] =>
    Object.entries(texts).flatMap(([name, text]) =>
      [...text.matchAll(patterns[name] ?? /$^/g)].flatMap((match) => urlsIn(match[1] ?? '')),
    );
  const trusted = [
    ...USUAL.map((host): AllowedHost => ({ host, port: null, isTrusted: true })),
    ...hosts.map(configuredHost),
    ...hostsOf([...byEnvironment, ...inFiles(machine, MACHINE_FILES)], true),
  ];
  const named = hostsOf(inFiles(repository, REGISTRY_FILES), false).filter(({ host }) => !LOOPBACK_HOST.test(host));
  return [...trusted, ...named];
}

/** `host` or `host:port`, as the configuration has it. */
export function configuredHost(text: string): AllowedHost {
  const [host = '', port] = text.toLowerCase().split(':');
  return { host, port: port === undefined ? null : Number(port), isTrusted: true };
}

function urlsIn(text: string): string[] {
  return text.split(/[\s,|]+/).filter((word) => /^https?:/i.test(word));
}

function hostsOf(urls: readonly string[], isTrusted: boolean): AllowedHost[] {
  return urls.flatMap((text) => {
    const url = URL.parse(text);
    if (url === null) return [];
    const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
    return [{ host: url.hostname.replaceAll(/^\[|\]$/g, ''), port, isTrusted }];
  });
}
