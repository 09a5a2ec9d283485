import { join, relative, resolve } from 'node:path';
import { type Config, type ConfigFlags, resolveConfig } from '../core/config.ts';
import type { ConfigFile } from '../core/config-file.ts';
import { AgentosError, codeOf } from '../core/errors.ts';
import { plainEnvironment, standardKeysAtHome, type VendorKey, withoutSecrets } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import { baseDirectory, isInside, type Paths, pathsOf, workDirectory } from '../core/paths.ts';
import { withLoopbackDirect } from '../core/proxy.ts';
import { environmentTokens } from '../core/remote.ts';
import type { Secret } from '../core/secret.ts';
import { createGit } from '../git/git.ts';
import { findRepository } from '../git/repository.ts';
import { requireSafeState, userId } from '../process/state-folder.ts';
import { readText, requireInside, unreadableReason } from '../process/text-file.ts';
import type { KeptSource } from '../source/kept.ts';
import type { IssueSource } from '../source/port.ts';
import { createDesignCache, type DesignCache } from '../workflow/design-cache.ts';
import { createHosts, type Hosts } from './hosts.ts';
import { projectSource } from './project-source.ts';
import { requireTrusted } from './trust.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProjectOptions {
  cwd: string;
  env: Environment;
  repo?: string | undefined;
  baseDir?: string | undefined;
  config?: string | undefined;
  flags: ConfigFlags;
  /** For what needs no checked-out files. */
  mayBeBare?: boolean;
}

/** The repository that is worked on, with its settled configuration. Opening it reads and never writes. */
export interface Project {
  paths: Paths;
  config: Config;
  /** Every key that was found, used or not: none of them is shown or handed on. */
  keys: readonly VendorKey[];
  /** The file that was read, or null. */
  configFile: string | null;
  /** What it says, as it says it. */
  settings: ConfigFile;
  /** Our own environment, keys included. */
  env: Environment;
  /** What programs that we start may see of it. */
  childEnv: Record<string, string>;
  /** What designs change and build on. */
  designs: DesignCache;
  /** Where its issues come from. */
  source: IssueSource;
  kept: Pick<KeptSource, 'lastKnown' | 'asOf' | 'keep'>;
  /** Services that it uses; nothing is asked of them before it is needed. */
  hosts: Hosts;
  /** Keys, and the tokens that are known so far. */
  secrets: () => readonly Secret[];
  mask: (text: string) => string;
}

/** For commands that only look: issues as they were last read, so that no network is needed. */
export function lookingBack(project: Project): Project {
  return { ...project, source: project.kept.lastKnown };
}

export async function openProject(options: ProjectOptions): Promise<Project> {
  const { cwd, env, repo, baseDir, config: named, flags, mayBeBare = false } = options;
  const repository = await findRepository(resolve(cwd, repo ?? '.'), plainEnvironment(env), mayBeBare);
  const { file, content } = await readConfig(repository, named === undefined ? null : resolve(cwd, named));
  const resolved = resolveConfig(flags, content, env);
  const config = file !== null && isInside(repository, file) ? withinTrust(resolved, content, env) : resolved;
  const given = baseDir ?? (env['AGENTOS_HOME'] || null);
  const base = baseDirectory(repository, given, cwd);
  const git = createGit(repository, plainEnvironment(env));
  const isTracked = async (): Promise<boolean> => {
    const inside = isInside(repository, base) ? relative(repository, base) : '';
    if (inside === '') return false;
    // In other letters too: not every file system tells them apart. A bare repository has no such files.
    const listing = git.text(['ls-files', '--', `:(icase,literal,top)${inside}`]);
    return (await (mayBeBare ? listing.catch(() => '') : listing)) !== '';
  };
  await requireSafeState(base, { isGiven: given !== null, isTracked });
  const paths = pathsOf(repository, base, workDirectory(repository, base, userId()));
  for (const folder of [paths.issues, paths.briefs, paths.llds, paths.lineages, paths.prompts])
    requireInside(folder, repository);
  const tokens = environmentTokens(env);
  const childEnv = withLoopbackDirect(
    withoutSecrets(env, [...resolved.keys, ...tokens.map((secret) => ({ secret }))], config.passEnvironment),
  );
  const secrets = createSecrets([...resolved.keys.map((key) => key.secret), ...tokens]);
  const hosts = createHosts({
    config,
    env,
    childEnv,
    repository,
    onSecret: (secret) => secrets.add(secret),
  });
  const { source, ...kept } = projectSource(config, paths, hosts);
  const project: Project = {
    paths,
    config,
    keys: resolved.keys,
    configFile: file,
    settings: content,
    env,
    childEnv,
    designs: createDesignCache(paths.designs),
    source,
    kept,
    hosts,
    secrets: secrets.all,
    mask: secrets.mask,
  };
  hosts.requireTrust = () => requireTrusted(project);
  return project;
}

/** What must not be shown; a token may be found later than the rest. */
function createSecrets(first: readonly Secret[]) {
  let known = [...first];
  let mask = createMask(known);
  return {
    all: (): readonly Secret[] => known,
    add(secret: Secret): void {
      if (known.some((one) => one.reveal() === secret.reveal())) return;
      known = [...known, secret];
      mask = createMask(known);
    },
    mask: (text: string): string => mask(text),
  };
}

/** What a repository's own configuration can't have, trusted or not. */
function withinTrust(config: Config, { endpoints = {} }: ConfigFile, env: Environment): Config {
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
    // Most repositories have none, and what reads it is the most that a short command would load.
    const { parseConfigFile } = await import('../core/config-reader.ts');
    return { file, content: parseConfigFile(text, named ?? 'agentos.yaml') };
  } catch (error) {
    if (codeOf(error) !== 'file-unreadable') throw error;
    throw new AgentosError({ code: 'config-unreadable', file, reason: unreadableReason(error) }, { cause: error });
  }
}
