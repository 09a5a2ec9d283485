import type { ErrorRecord } from './errors.ts';
import type { Forecast } from './forecast.ts';
import type { ItemId } from './ids.ts';
import type { PipelineName, WorkflowName } from './paths.ts';

/** More workers would starve each other. */
export const MAX_PARALLEL = 10;

/** What `--dry-run` shows, and what a run starts with. */
export interface Plan extends PlannedCost {
  workflow: PipelineName;
  items: PlannedItem[];
  parallel: number;
  models: Record<string, string>;
  /** At most this much of the repository is shown to models for each item. */
  contextTokens: number;
  /** Items that can't run at the same time, because they change the same files or build on each other. */
  groups: PlannedGroup[];
  /** Other things that people should know. */
  notes: string[];
}

export interface PlannedCost {
  /** The probable cost; null: unknown. */
  estimateUsd: number | null;
  /** How many past items the estimate is based on; 0: it is based on sizes alone. */
  pastItems: number;
  /** What the limits allow; null: a price is missing, or only commands are used. */
  costCeilingUsd: number | null;
  /** The limit that enforces it; null: nothing is metered, or a price is missing. */
  costCeilingBy: '--max-cost' | '--max-cost-per-item' | null;
  /** Models whose cost is unknown: commands, and agents with their own login. */
  unmetered: string[];
}

export interface PlannedItem {
  id: ItemId;
  /** The workflow that starts or resumes. */
  workflow: WorkflowName;
  title: string;
  /**
   * done: its document or branch exists; already-done: the code already did what it asks for; dropped: a person gave it up;
   * unreadable: it will fail with its error.
   */
  state: 'new' | 'resumed' | 'done' | 'already-done' | 'dropped' | 'unreadable' | 'not-ready';
  /** The step where a resumed item continues; null for others. */
  fromStep: string | null;
  reusedSteps: number;
  error: ErrorRecord | null;
  /** Files that it changes, according to its design. */
  files: readonly string[];
  /** Items that it builds on. */
  after: readonly string[];
  /** Files and folders that no other item may change at the same time. */
  exclusive: readonly string[];
  /** The document that it would replace. */
  replaces: Replaced | null;
  /** Other items of the plan that its design conflicts with or builds on. */
  forecast: readonly Forecast[];
  /** If it is already done. */
  solved: Solved | null;
  /** The hash of the approved document that it starts from. */
  digest?: string;
}

/** Why an item counts as already done, and its record in the lineage. */
export interface Solved {
  reason: string;
  outputs: string[];
}

/** A document that would be replaced, because its issue has changed. */
export interface Replaced {
  /** Relative to the repository. */
  path: string;
  /** Lines of a diff; null: the old text of the issue is unknown. */
  difference: string[] | null;
}

/** Only this many diffs are shown: nobody would read more. */
const MOST_DIFFERENCES = 5;

/** Warns before documents are replaced, and says how to keep each of them. */
export function replacementLines(items: readonly PlannedItem[]): string[] {
  const replacing = items.flatMap(({ id, replaces }) => (replaces === null ? [] : [{ id, ...replaces }]));
  return replacing.flatMap(({ id, path, difference }, index) => {
    const lines = index < MOST_DIFFERENCES ? (difference ?? ['(the old text is not in the lineage)']) : [];
    return [
      `Issue ${id} changed since ${path} was approved; that LLD is replaced.`,
      ...lines.map((line) => `  ${line}`),
      `  To keep it for the new text: agentos decide ${id} --approve --reason "…"`,
    ];
  });
}

export function cycleNote(ids: readonly string[]): string {
  return `${ids.join(', ')} depend on each other; they run in this order.`;
}

export interface PlannedGroup {
  /** In the order in which they run. */
  ids: string[];
  /** The files that they share; empty if they only build on each other. */
  files: string[];
}

export function describeGroup({ ids, files }: PlannedGroup): string {
  const who = ids.length > 2 ? 'they' : 'both';
  const why = files.length > 0 ? `${who} change ${files.join(', ')}` : 'they build on each other';
  return `One after another: ${ids.join(' → ')} (${why}). Each starts from the branch of the one before.`;
}
