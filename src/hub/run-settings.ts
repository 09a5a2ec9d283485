import type { Bounds } from '../core/config.ts';
import type { Prices } from '../core/money.ts';
import type { PipelineName, WorkflowName } from '../core/paths.ts';
import type { Sql } from './database.ts';

/** A stage of a run's pipeline, for machines and the hub. */
export interface RunStage {
  workflow: WorkflowName;
  /** Specs of the models that the stage's items may call. */
  models: readonly string[];
  /** Tags that a machine needs. */
  needs: readonly string[];
  /** The worker's input, without the parts that depend on the item or the machine. */
  input: object;
}

/** The settings of a run, fixed at its submission. */
export interface RunSettings {
  pipeline: PipelineName;
  stages: readonly RunStage[];
  /** The most items under way at once. Null: as many as machines take. */
  parallel: number | null;
  haltAfter: number | null;
  bounds: Bounds;
  prices: Prices;
  /** The commit that the items start from. */
  base: string;
  /** The author of commits. */
  identity: { name: string; email: string } | null;
}

export async function readSettings(sql: Sql, run: string): Promise<RunSettings> {
  const [row] = await sql.rows<{ settings: RunSettings }>('SELECT settings FROM agentos.runs WHERE id = $1', [run]);
  if (row === undefined) throw new TypeError(`there is no run ${run}`);
  return row.settings;
}

/** Reads the settings of a run once: they never change. */
export interface SettingsCache {
  of(run: string): Promise<RunSettings>;
  forget(run: string): void;
}

export function createSettingsCache(sql: Sql): SettingsCache {
  const known = new Map<string, Promise<RunSettings>>();
  return {
    of(run) {
      const settings = known.get(run) ?? readSettings(sql, run);
      known.set(run, settings);
      settings.catch(() => known.delete(run));
      return settings;
    },
    forget: (run) => void known.delete(run),
  };
}
