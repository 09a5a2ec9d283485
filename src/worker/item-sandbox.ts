import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../core/config.ts';
import { isInside, type Paths } from '../core/paths.ts';
import type { Git } from '../git/git.ts';
import { createShownGit, type ShownGit } from '../git/item-environment.ts';
import { readAt } from '../git/repository.ts';
import { writeFileAtomic } from '../process/files.ts';
import { type Caches, cachesFor } from '../process/sandbox/caches.ts';
import { hideSystem, showNamed, showToolchains } from '../process/sandbox/places.ts';
import { type Reach, reachGateway, reachHosts } from '../process/sandbox/reach.ts';
import {
  type AllowedHost,
  allowedHosts,
  configuredHost,
  machineSettings,
  REGISTRY_FILES,
} from '../process/sandbox/registries.ts';
import { createRules, type Rule, type Rules } from '../process/sandbox/rules.ts';
import {
  createSandbox,
  ENTRY,
  type OpenSandbox,
  type SandboxTool,
  type SandboxWish,
} from '../process/sandbox/sandbox.ts';

export interface ItemSandboxOptions {
  tool: SandboxTool;
  paths: Paths;
  /** The item's home. */
  home: string;
  git: Git;
  config: Pick<Config, 'sandbox' | 'passEnvironment'>;
  /** Folders to hide, in addition to the repository and the state folder. */
  hidden: readonly string[];
  /** The gateway's URLs. */
  endpoints: readonly string[];
  onNotice: (text: string) => void;
}

/**
 * The sandboxes of an item's programs. They see the file system read-only, without users' homes, keys, sockets of other
 * programs, the checkout, the state folder and other items; they have their own worktree and home.
 */
export function createItemSandbox(options: ItemSandboxOptions): OpenSandbox {
  const { tool, paths, home, git } = options;
  let common: Promise<readonly Rule[]> | null = null;
  const looks = new Map<string, Promise<() => Promise<ShownGit>>>();
  /** Rules by request: making them looks at about a hundred paths. */
  const known = new Map<string, readonly Rule[]>();
  return async (wish) => {
    common ??= commonRules(paths, options.hidden);
    const looking = looks.get(wish.worktree) ?? createShownGit(git, wish.worktree);
    looks.set(wish.worktree, looking);
    const shown = await (await looking)();
    const gitConfig = await ownGitConfig(shown, home);
    const caches = await cachesFor(wish, { shared: paths.caches, home });
    const asked = JSON.stringify([shown, caches.isShared, { ...wish, network: undefined }]);
    const rules =
      known.get(asked) ?? rulesFor(await common, wish, { ...shown, config: gitConfig }, caches, options).settled();
    known.set(asked, rules);
    const env = { ...caches.env, ...(process.getuid?.() === 0 ? ROOT : {}) };
    const made = { tool, rules, empty: shown.empty };
    if (wish.network?.includes('host')) return createSandbox({ ...made, network: 'host', env });
    const { ports, env: reaching } = await reachOf(wish, options);
    return createSandbox({ ...made, network: ports, env: { ...env, ...reaching } });
  };
}

function rulesFor(
  common: readonly Rule[],
  { worktree, may, env, own = [], command }: SandboxWish,
  { commonDir, parts, config: gitConfig, otherCheckouts }: ShownGit,
  { isShared }: Caches,
  { paths, home, config }: ItemSandboxOptions,
): Rules {
  const rules = createRules(common);
  rules.hide(...otherCheckouts, commonDir);
  rules.show('read', ...parts, process.execPath, ENTRY);
  rules.show(may, worktree);
  rules.show('write', home, ...own);
  rules.replace(join(commonDir, 'config'), gitConfig);
  rules.show(isShared ? 'write' : 'read', paths.caches);
  // The state folder may be the same folder as that of the caches.
  rules.hide(paths.designs, paths.contextIndex);
  showToolchains(rules, env, config.passEnvironment);
  if (command !== undefined) showNamed(rules, command, [paths.base, paths.work]);
  return rules;
}

/** Set-ups change settings of the repository, such as the path of hooks: they get a copy in the item's home. */
async function ownGitConfig({ config }: ShownGit, home: string): Promise<string> {
  const copy = join(home, 'git-config');
  // Renamed into place: an earlier program may have left a link to another file there.
  await writeFileAtomic(copy, config);
  return copy;
}

/** Archives name owners that don't exist in the sandbox. */
const ROOT = { TAR_OPTIONS: '--no-same-owner' };

async function commonRules({ repository, base, work }: Paths, hidden: readonly string[]): Promise<Rule[]> {
  const rules = createRules();
  hideSystem(rules, process.env);
  rules.hide(...hidden, repository, base, work, ...(isInside(repository, base) ? [] : await statesBeside(base)));
  return rules.all();
}

/** State folders of other repositories beside this one. */
async function statesBeside(base: string): Promise<string[]> {
  const names = await readdir(dirname(base)).catch(() => []);
  const others = names.filter((name) => /-[0-9a-f]{12}$/.test(name) && name !== basename(base));
  return others.map((name) => join(dirname(base), name));
}

async function reachOf({ network = [], env }: SandboxWish, options: ItemSandboxOptions): Promise<Reach> {
  const { tool, config, endpoints, onNotice } = options;
  const how = { env, hasOwnNetwork: tool.kind === 'bubblewrap' };
  const ways = network.map(async (way): Promise<Reach> => {
    if (way === 'gateway') return reachGateway(endpoints);
    const setting = way === 'registries' ? 'hosts' : 'modelHosts';
    const allowed =
      way === 'registries' ? await registriesFor(env, options) : config.sandbox.modelHosts.map(configuredHost);
    const who = way === 'registries' ? 'the set-up' : 'the command';
    const onRefused = (host: string): void =>
      onNotice(`${who} may not reach ${host}; if it has to, add it to sandbox.${setting} in agentos.yaml`);
    return reachHosts({ ...how, allowed, onRefused });
  });
  const reached = await Promise.all(ways);
  return {
    ports: new Map(reached.flatMap(({ ports }) => [...ports])),
    env: Object.assign({}, ...reached.map((reach) => reach.env)),
  };
}

async function registriesFor(env: SandboxWish['env'], { git, config }: ItemSandboxOptions): Promise<AllowedHost[]> {
  // Read at HEAD: in the worktree an agent could have added other hosts.
  const names = Object.keys(REGISTRY_FILES);
  const wanted = names.map((path) => ({ ref: 'HEAD', path }));
  const [machine, texts] = await Promise.all([machineSettings(), readAt(git, wanted)]);
  const repository = Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
  return allowedHosts({ env, hosts: config.sandbox.hosts, machine, repository });
}
