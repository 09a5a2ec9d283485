import type { Bounds } from '../core/config.ts';
import type { PriceSetting } from '../core/money.ts';
import type { PipelineName, WorkflowName } from '../core/paths.ts';

/** A stage of a run's pipeline, as machines and the hub need it. */
export interface RunStage {
  workflow: WorkflowName;
  /** Specs of the models that its items may ask for. */
  models: readonly string[];
  /** Tags that a machine has to have. */
  needs: readonly string[];
  /** What its workers get, but for what is particular to an item or to a machine. */
  input: object;
}

/** What holds for all items of a run, pinned when it was submitted. */
export interface RunSettings {
  pipeline: PipelineName;
  stages: readonly RunStage[];
  /** So many of its items at once; null: as many as machines take. */
  parallel: number | null;
  haltAfter: number | null;
  bounds: Bounds;
  prices: Readonly<Record<string, PriceSetting>>;
  /** The commit that its items begin at. */
  base: string;
  /** Who its commits are by. */
  identity: { name: string; email: string } | null;
}
