import type { Config } from '../core/config.ts';
import { fingerprintsOf } from '../core/fingerprint.ts';
import type { ItemId } from '../core/ids.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import { lldCostCeilingUsd, type PlannedItem } from '../core/plan.ts';
import { requireModels } from '../provider/require-models.ts';
import { createDirectorySource } from '../source/directory.ts';
import type { LldInput } from '../worker/lld-input.ts';
import type { TaskReference } from '../worker/protocol.ts';
import { lldBacklog } from '../workflow/lld-backlog.ts';
import type { Project } from '../workspace/project.ts';
import type { ItemAccess } from './run-gateway.ts';

/** An item as a batch command collects it. */
export interface CollectedItem extends Pick<PlannedItem, 'id' | 'title' | 'error'> {
  state: 'pending' | 'done' | 'unreadable';
  /** How much text it brings, for the estimate of its cost. */
  chars: number;
}

/** What a batch command supplies; everything else about running a batch exists once, in the runner. */
export interface Batch {
  workflow: WorkflowName;
  /** Exactly these (a missing one is an error), or all there are. */
  collect(project: Project, ids: readonly ItemId[] | 'all'): Promise<CollectedItem[]>;
  task: TaskReference;
  /** What a worker gets, for one item; it never holds a key. */
  input(project: Project, access: ItemAccess | null): unknown;
  /** Refuses what can't work; returns what should be known. */
  requirements(project: Project): string[];
  costCeilingUsd(project: Project, pending: readonly CollectedItem[]): number | null;
}

export const lldBatch: Batch = {
  workflow: 'lld',
  collect: ({ paths }, ids) => lldBacklog(createDirectorySource(paths.issues), paths, ids),
  task: { builtIn: 'lld' },
  input: ({ paths, config }, access) => lldInput(paths, config, access),
  requirements: ({ config }) => requireModels(config),
  costCeilingUsd: ({ config }, pending) =>
    lldCostCeilingUsd(
      config,
      pending.map((item) => item.chars),
    ),
};

function lldInput({ repository, base }: Paths, config: Config, access: ItemAccess | null): LldInput {
  const { keys, endpoints: _, keyVariables: __, ...rest } = config;
  return {
    repository,
    base,
    config: rest,
    token: access?.token ?? null,
    endpoints: access?.endpoints ?? {},
    fingerprints: fingerprintsOf(keys.map((key) => key.secret.reveal())),
  };
}
