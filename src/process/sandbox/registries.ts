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

/** Files of a repository that name registries, and where in them. */
export const REGISTRY_FILES: Readonly<Record<string, RegExp>> = {
  '.npmrc': /^[ \t]*(?:@[^\s:=]+:)?registry[ \t]*=[ \t]*["']?(\S+?)["']?[ \t]*$/gm,
  '.yarnrc': /^[ \t]*"?(?:@[^\s:]+:)?registry"?[ \t]+"?(\S+?)"?[ \t]*$/gm,
  '.yarnrc.yml': /\bnpmRegistryServer:[ \t]*["']?(\S+?)["']?[ \t]*$/gm,
  'bunfig.toml': /^[ \t]*"?(?:registry|url|@?[\w-]+)"?[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  'pip.conf': /^[ \t]*(?:(?:extra-)?index-url|find-links)[ \t]*=[ \t]*(.*(?:\n[ \t]+\S+)*)/gm,
  'requirements.txt': /^[ \t]*(?:--index-url|--extra-index-url|-i)[\s=]+(\S+)/gm,
  'pyproject.toml': /^[ \t]*(?:url|index-url|default-index)[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  'uv.toml': /^[ \t]*(?:url|index-url|default-index)[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  Pipfile: /^[ \t]*url[ \t]*=[ \t]*["'](https?:[^"']+)/gm,
  '.cargo/config.toml': /^[ \t]*(?:index|registry)[ \t]*=[ \t]*["'](?:sparse\+)?(https?:[^"']+)/gm,
  Gemfile: /^[ \t]*source[ \t]*\(?[ \t]*["'](https?:[^"']+)/gm,
  'nuget.config': /\bvalue[ \t]*=[ \t]*"(https?:[^"]+)"/gi,
};

/** Settings of the machine and of the user, which package managers read as well. */
export const MACHINE_FILES: Readonly<Record<string, RegExp>> = {
  '/etc/npmrc': REGISTRY_FILES['.npmrc'] as RegExp,
  '/usr/etc/npmrc': REGISTRY_FILES['.npmrc'] as RegExp,
  '/usr/local/etc/npmrc': REGISTRY_FILES['.npmrc'] as RegExp,
  '/etc/pip.conf': REGISTRY_FILES['pip.conf'] as RegExp,
  '~/.npmrc': REGISTRY_FILES['.npmrc'] as RegExp,
  '~/.config/pnpm/rc': REGISTRY_FILES['.npmrc'] as RegExp,
  '~/.config/pip/pip.conf': REGISTRY_FILES['pip.conf'] as RegExp,
  '~/.pip/pip.conf': REGISTRY_FILES['pip.conf'] as RegExp,
  '~/.config/go/env': /^GOPROXY=(.*)$/gm,
};

export interface RegistrySources {
  env: Environment;
  /** From the configuration: `host` or `host:port`. */
  hosts: readonly string[];
  /** Texts of `MACHINE_FILES` and `REGISTRY_FILES`, by their names. */
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
