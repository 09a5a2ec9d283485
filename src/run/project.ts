import { join, relative, resolve } from 'node:path';
import { type Config, type ConfigFlags, resolveConfig } from '../core/config.ts';
import type { ConfigFile } from '../core/config-file.ts';
import { AgentosError, codeOf } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import {
  type Environment,
  plainEnvironment,
  secretsIn,
  standardKeysAtHome,
  type VendorKey,
  withoutSecrets,
} from '../core/keys.ts';
import { flagWords } from '../core/lines.ts';
import { createMask } from '../core/mask.ts';
import { baseDirectory, isInside, type Paths, pathsOf, workDirectory } from '../core/paths.ts';
import { withLoopbackDirect } from '../core/proxy.ts';
import { environmentTokens, hostedName } from '../core/remote.ts';
import type { Secret } from '../core/secret.ts';
import { createGit, type Git } from '../git/git.ts';
import { findRepository } from '../git/repository.ts';
import { readText, requireInside, unreadableReason } from '../process/files.ts';
import { pathOutside } from '../process/program.ts';
import { requireSafeState, userId } from '../process/state-folder.ts';
import { createDirectorySource } from '../source/directory.ts';
import { cachedSource, type IssueCache } from '../source/issue-cache.ts';
import type { IssueSource } from '../source/port.ts';
import { createDesignCache, type DesignCache } from '../workflow/designs.ts';
import { createHosts, type Hosts } from './services/hosts.ts';
import { requireTrusted } from './trust.ts';

/** The flags that name a project. */
export const PLACE_FLAGS: ReadonlySet<string> = new Set(['--repo', '--base-dir', '--config', '--source']);

interface ProjectOptions {
  cwd: string;
  env: Environment;
  repo?: string | undefined;
  baseDir?: string | undefined;
  config?: string | undefined;
  flags: ConfigFlags;
  /** The command needs no checked-out files. */
  mayBeBare?: boolean;
}

/** The target repository with its configuration. Opening it reads and never writes. */
export interface Project {
  paths: Paths;
  config: Config;
  /** All keys that were found, used or not: none of them may be shown or passed on. */
  keys: readonly VendorKey[];
  /** The configuration file, if there is one. */
  configFile: string | null;
  /** The content of that file. */
  settings: ConfigFile;
  /** The flags that commands to copy need to mean this project. */
  placeFlags: string[];
  /** Our own environment, including keys. */
  env: Environment;
  /** The environment of programs that we start. */
  childEnv: Record<string, string>;
  git: Git;
  designs: DesignCache;
  source: IssueSource;
  issueCache: IssueCache;
  hosts: Hosts;
  /** Keys, and the tokens found so far. */
  secrets: () => readonly Secret[];
  mask: (text: string) => string;
}

/** For commands that only look: uses issues as last read, so that no network is needed. */
export function withCachedIssues(project: Project): Project {
  return { ...project, source: project.issueCache.lastKnown };
}

/** The command that throws an unfinished implementation away. */
export function discardCommand({ placeFlags }: Project, id: ItemId): string {
  return ['agentos', 'clean', '--discard', id, ...placeFlags].join(' ');
}

export async function openProject(options: ProjectOptions): Promise<Project> {
  const { cwd, env, repo, baseDir, config: named, flags, mayBeBare = false } = options;
  const repository = await findRepository(resolve(cwd, repo ?? '.'), plainEnvironment(env), mayBeBare);
  const { file, content } = await readConfig(repository, named === undefined ? null : resolve(cwd, named));
  const resolved = resolveConfig(flags, content, env);
  const isOwn = file !== null && isInside(repository, file);
  const config = isOwn ? withoutRedirectedKeys(resolved, content, env) : resolved;
  const given = baseDir ?? (env['AGENTOS_HOME'] || null);
  const base = baseDirectory(repository, given, cwd);
  const git = createGit(repository, plainEnvironment(env));
  const isTracked = async (): Promise<boolean> => {
    const inside = isInside(repository, base) ? relative(repository, base) : '';
    if (inside === '') return false;
    // Ignores case, because some file systems do. A bare repository has no such files.
    const listing = git.text(['ls-files', '--', `:(icase,literal,top)${inside}`]);
    return (await (mayBeBare ? listing.catch(() => '') : listing)) !== '';
  };
  await requireSafeState(base, { isGiven: given !== null, isTracked });
  const paths = pathsOf(repository, base, workDirectory(repository, base, userId()));
  for (const folder of [paths.issues, paths.briefs, paths.llds, paths.lineages, paths.prompts])
    requireInside(folder, repository);
  const tokens = environmentTokens(env);
  const childEnv = withLoopbackDirect({
    ...withoutSecrets(env, [...resolved.keys, ...tokens.map((secret) => ({ secret }))], config.passEnvironment),
    PATH: pathOutside(env['PATH'], repository),
  });
  const passed = Object.fromEntries(config.passEnvironment.map((name) => [name, env[name]]));
  const secrets = createSecrets([...resolved.keys.map((key) => key.secret), ...tokens, ...secretsIn(passed)]);
  const hosts = createHosts({ config, env, childEnv, repository, onSecret: secrets.add });
  const project: Project = {
    paths,
    config,
    keys: resolved.keys,
    configFile: file,
    settings: content,
    placeFlags: flagWords({ '--repo': repo, '--base-dir': baseDir, '--config': named, '--source': flags.source }),
    env,
    childEnv,
    git: createGit(repository, childEnv),
    designs: createDesignCache(paths.designs),
    ...issuesOf(config, paths, hosts),
    hosts,
    secrets: secrets.all,
    mask: secrets.mask,
  };
  hosts.requireTrust = () => requireTrusted(project);
  return project;
}

/** What must not be shown. Tokens are added when they are found. */
function createSecrets(first: readonly Secret[]) {
  let known = [...first];
  let mask = createMask(known);
  return {
    all: (): readonly Secret[] => known,
    add: (secret: Secret): void => {
      if (known.some((one) => one.reveal() === secret.reveal())) return;
      known = [...known, secret];
      mask = createMask(known);
    },
    mask: (text: string): string => mask(text),
  };
}

/** A repository's own configuration can't redirect standard keys to another endpoint, trusted or not. */
function withoutRedirectedKeys(config: Config, { endpoints = {} }: ConfigFile, env: Environment): Config {
  const { kept, withheld } = standardKeysAtHome(config.keys, endpoints, env);
  return { ...config, keys: kept, withheld: [...new Set(withheld.map(({ vendor }) => vendor))] };
}

async function readConfig(
  repository: string,
  named: string | null,
): Promise<{ file: string | null; content: ConfigFile }> {
  const file = named ?? join(repository, 'agentos.yaml');
  try {
    const text = readText(file, named === null ? repository : null);
    if (text === null && named === null) return { file: null, content: {} };
    if (text === null) throw new AgentosError({ code: 'config-unreadable', file, reason: 'ENOENT' });
    // Loaded only if there is a file: the YAML parser is the largest part of a short command.
    const { parseConfigFile } = await import('../core/config-reader.ts');
    return { file, content: parseConfigFile(text, named ?? 'agentos.yaml') };
  } catch (error) {
    if (codeOf(error) !== 'file-unreadable') throw error;
    throw new AgentosError({ code: 'config-unreadable', file, reason: unreadableReason(error) }, { cause: error });
  }
}

/** The one place that decides where issues come from. A service is loaded on first use. */
function issuesOf(config: Config, { issues, base }: Paths, hosts: Hosts): Pick<Project, 'source' | 'issueCache'> {
  const { source: setting } = config.remote;
  if (setting === null) {
    const source = createDirectorySource(issues);
    return { source, issueCache: { lastKnown: source, asOf: async () => null, startWriting: async () => undefined } };
  }
  const location = hostedName(setting);
  const folder = join(base, 'caches', 'issues', location.replace(/[^\w.-]+/g, '_'));
  let opened: Promise<IssueSource> | null = null;
  return cachedSource({ location, folder, open: () => (opened ??= hosts.source()) });
}
