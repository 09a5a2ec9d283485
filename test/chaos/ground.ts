import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { baseDirectory, workDirectory } from '../../src/core/paths.ts';
import { userId } from '../../src/process/state-folder.ts';
import { approve, commitProject } from '../support/implement.ts';
import { ISSUE, lldFor, vendorEnv } from '../support/models.ts';
import { repositoryIn, type TestRepository } from '../support/repository.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { startVendor, type Vendor } from '../support/vendor/index.ts';
import { createModels } from './answers.ts';
import { type ChaosClock, createChaosClock } from './clock.ts';
import { createGitTrap, type GitTrap } from './git-trap.ts';
import type { FaultKind, Scenario, VendorFault } from './scenario.ts';

const MODEL = join(dirname(fileURLToPath(import.meta.url)), 'model.mjs');
const briefOf = (id: string): string =>
  `${id}: Calls that met a quota are lost\n\nA vendor answers 429 and the whole batch has to be started again.\n`;
/** Enough for repositories and worktrees of this size many times over, and filled within milliseconds. */
const DISK_BYTES = 96 * 1024 * 1024;

/** What the machine allows. */
export interface Abilities {
  mount: boolean;
}

/** What a run takes place on. Everything is in `folder`, but for a small disk and `work`. */
export interface Ground {
  folder: string;
  repository: TestRepository;
  /** The state folder of this repository. */
  state: string;
  /** Where its worktrees and homes are. */
  work: string;
  vendor: Vendor;
  keys: string[];
  env: Record<string, string>;
  /** In the environment of everything that the program starts but for tests and agents. */
  tag: string;
  /** What to start: the batch command, and what every way of taking it up has to say again. */
  command: string[];
  places: string[];
  disk: SmallDisk | null;
  clock: ChaosClock | null;
  gitTrap: GitTrap | null;
  /** Faults of the vendor that were met, with the time. */
  vendorFaults: { call: number; fault: VendorFault; at: number }[];
}

export async function prepareGround(scenario: Scenario, can: Abilities): Promise<Ground> {
  const { seed, world } = scenario;
  const kinds = new Set<FaultKind>(scenario.acts.flatMap(({ faults }) => faults.map(({ kind }) => kind)));
  const folder = await mkdtemp(join(tmpdir(), `agentos chaos-ü ${seed}-`));
  const disk = world.smallDisk === 'nothing' || !can.mount ? null : mountSmallDisk(DISK_BYTES);
  const repository = await repositoryIn(
    world.smallDisk === 'repository' && disk !== null ? disk.folder : folder,
    {},
    { commit: false },
  );
  await commitProject(repository);
  for (const id of world.ids) {
    if (world.workflow === 'implement') await approve(repository, id, lldFor(id));
    else if (world.workflow === 'issue') await repository.write(`briefs/${id}.md`, briefOf(id));
    else await repository.write(`issues/${id}.md`, ISSUE);
  }
  const outside =
    world.state === 'inside'
      ? null
      : join(world.smallDisk === 'state' && disk !== null ? disk.folder : folder, 'state');
  if (outside !== null) await mkdir(outside);

  const met: Ground['vendorFaults'] = [];
  const keys = Array.from({ length: world.keys }, (_, n) => `sk-chaos-${seed}-${n}-0123456789abcdef`);
  const vendor = await startVendor({
    script: createModels({
      revised: world.revised,
      latencyMs: world.latencyMs,
      byCommand: world.models === 'command',
      faults: new Map(scenario.vendorFaults),
      onFault: (call, fault) => met.push({ call, fault, at: Date.now() }),
    }),
    ...(world.models === 'vendor' ? { keys } : {}),
  });
  const gitTrap = kinds.has('kill-git') ? await createGitTrap(join(folder, 'git')) : null;
  const clock = kinds.has('clock') ? await createChaosClock(join(folder, 'clock')) : null;
  const byCommand = `command:'${process.execPath}' '${MODEL}' ${vendor.url}`;
  const models =
    world.models === 'command'
      ? // The vendor is asked over the machine's loopback.
        ['--drafter', byCommand, '--reviewer', byCommand, '--implementer', byCommand, '--sandbox', 'off']
      : [
          '--drafter',
          'anthropic:claude-opus-5',
          '--reviewer',
          'google:gemini-3-pro-preview',
          '--implementer',
          'anthropic:claude-opus-5',
        ];
  const places = outside === null ? [] : ['--base-dir', outside];
  const state = baseDirectory(repository.root, outside, repository.root);
  const tag = `chaos-${seed}-${process.pid}`;
  return {
    folder,
    repository,
    state,
    work: workDirectory(repository.root, state, userId()),
    vendor,
    keys: world.models === 'vendor' ? keys : [],
    env: {
      ...(world.models === 'vendor' ? keyEnv(vendor.url, keys) : {}),
      ...clock?.env,
      HOME: repository.home,
      PATH: [...(gitTrap === null ? [] : [gitTrap.folder]), dirname(process.execPath), process.env['PATH'] ?? ''].join(
        ':',
      ),
      AGENTOS_CHAOS: tag,
    },
    tag,
    command: [world.workflow, ...(world.all ? ['--all'] : world.ids), '--parallel', String(world.parallel), ...models],
    places,
    disk,
    clock,
    gitTrap,
    vendorFaults: met,
  };
}

function keyEnv(url: string, keys: readonly string[]): Record<string, string> {
  const { ANTHROPIC_API_KEY: _, GEMINI_API_KEY: __, OPENAI_API_KEY: ___, ...endpoints } = vendorEnv(url);
  return { ...endpoints, ANTHROPIC_API_KEYS: keys.join(','), GEMINI_API_KEYS: keys.join(',') };
}

/** A file for the person who looks at a violation. */
export async function writeNote(ground: Ground, name: string, text: string): Promise<void> {
  await writeFile(join(ground.folder, name), text);
}
