import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../core/config.ts';
import { isInside, type Paths } from '../core/paths.ts';
import type { Git } from '../git/git.ts';
import { readAt } from '../git/repository.ts';
import { createShownGit, type ShownGit } from '../git/worktree/shown-git.ts';
import { cachesFor } from '../process/sandbox/caches.ts';
import { hideSystem } from '../process/sandbox/hidden.ts';
import { type Reach, reachGateway, reachRegistries } from '../process/sandbox/reach.ts';
import { REGISTRY_FILES } from '../process/sandbox/registries.ts';
import { createRules, type Rules } from '../process/sandbox/rules.ts';
import { createSandbox, type OpenSandbox, type SandboxTool, type SandboxWish } from '../process/sandbox/sandbox.ts';
import { showNamed, showToolchains } from '../process/sandbox/toolchains.ts';

export interface ItemSandboxOptions {
  tool: SandboxTool;
  paths: Paths;
  /** The item's own. */
  home: string;
  git: Git;
  config: Pick<Config, 'sandbox' | 'passEnvironment'>;
  /** Of the gateway. */
  endpoints: readonly string[];
  onNotice: (text: string) => void;
}

/**
 * The sandboxes of an item's programs. They see the machine read-only, without people's homes, keys, the sockets of other
 * programs, the checkout, the state folder and other items; and they have their own worktree and home.
 */
export function createItemSandbox(options: ItemSandboxOptions): OpenSandbox {
  const { tool, paths, home, git, config } = options;
  let common: Promise<Rules> | null = null;
  const shown = new Map<string, Promise<() => Promise<ShownGit>>>();
  return async (wish) => {
    const { worktree } = wish;
    common ??= commonRules(paths);
    const looking = shown.get(worktree) ?? createShownGit(git, worktree);
    shown.set(worktree, looking);
    const [ofAll, look] = await Promise.all([common, looking]);
    const rules = ofAll.copy();
    const { commonDir, parts, config: gitConfig, otherCheckouts } = await look();
    rules.hide(...otherCheckouts, commonDir);
    rules.show('read', ...parts);
    rules.replace(join(commonDir, 'config'), gitConfig);
    rules.show(wish.may, worktree);
    rules.show('write', home, ...(wish.own ?? []));
    const caches = await cachesFor(wish, { shared: paths.caches, home });
    rules.show(caches.isShared ? 'write' : 'read', paths.caches);
    // Of the state folder, where that is the same one.
    rules.hide(paths.designs, paths.contextIndex);
    showToolchains(rules, wish.env, config.passEnvironment);
    if (wish.command !== undefined) showNamed(rules, wish.command, [paths.base, paths.work]);
    const env = { ...caches.env, ...(process.getuid?.() === 0 ? ROOT : {}) };
    if (wish.network === 'host') return createSandbox({ tool, rules, network: { is: 'host' }, env });
    const { ports, env: reaching } = await reachOf(wish, options);
    return createSandbox({ tool, rules, network: { is: 'own', ports }, env: { ...env, ...reaching } });
  };
}

/** Archives name owners that are not there in the sandbox. */
const ROOT = { TAR_OPTIONS: '--no-same-owner' };

async function commonRules({ repository, base, work }: Paths): Promise<Rules> {
  const rules = createRules();
  hideSystem(rules, process.env);
  rules.hide(repository, base, work, ...(isInside(repository, base) ? [] : await statesBeside(base)));
  return rules;
}

/** Of other repositories, where they keep their state in the same folder. */
async function statesBeside(base: string): Promise<string[]> {
  const names = await readdir(dirname(base)).catch(() => []);
  const others = names.filter((name) => /-[0-9a-f]{12}$/.test(name) && name !== basename(base));
  return others.map((name) => join(dirname(base), name));
}

async function reachOf(
  { network, env }: SandboxWish,
  { tool, git, config, endpoints, onNotice }: ItemSandboxOptions,
): Promise<Reach> {
  if (network === 'gateway') return reachGateway(endpoints);
  if (network !== 'registries') return { ports: new Map(), env: {} };
  // As a person committed them: in the worktree an agent could have named other hosts.
  const names = Object.keys(REGISTRY_FILES);
  const texts = await readAt(
    git,
    names.map((path) => ({ ref: 'HEAD', path })),
  );
  return reachRegistries({
    env,
    hasOwnNetwork: tool.kind === 'bubblewrap',
    hosts: config.sandbox.hosts,
    repository: Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ''])),
    onRefused: (host) =>
      onNotice(`the set-up may not reach ${host}; if it has to, add it to sandbox.hosts in agentos.yaml`),
  });
}
