import type { ErrorRecord } from './errors.ts';
import type { Forecast } from './forecast.ts';
import type { ItemId } from './ids.ts';
import type { PipelineName, WorkflowName } from './paths.ts';

/** More workers than this starve each other, whatever was asked for. */
export const MAX_PARALLEL = 10;

/** What is to be done, before anything is: all that `--dry-run` shows, and what a run begins with. */
export interface Plan extends PlannedCost {
  workflow: PipelineName;
  items: PlannedItem[];
  parallel: number;
  models: Record<string, string>;
  /** The most that models are shown of the repository for each item. */
  contextTokens: number;
  /** Items that can't be worked on at the same time, because they change the same files or build on each other. */
  groups: PlannedGroup[];
  /** What is not part of the plan and should be known. */
  notes: string[];
}

export interface PlannedCost {
  /** What it will probably cost; null: not known, or not asked for. */
  estimateUsd: number | null;
  /** How many past items the estimate comes from; 0: from sizes alone. */
  pastItems: number;
  /** The most it can cost; null where that can't be bounded: a price is missing, or only commands take part. */
  costCeilingUsd: number | null;
  /** The limit that keeps it there; null: so few calls can't cost more. */
  costCeilingBy: '--max-cost' | '--max-cost-per-item' | null;
  /** Models whose cost is not known: commands, and agents with their own login. */
  unmetered: string[];
}

export interface PlannedItem {
  id: ItemId;
  /** The workflow that it starts or resumes. */
  workflow: WorkflowName;
  title: string;
  /**
   * done: what it makes is there; already-done: what it asks for was there before; dropped: there is to be nothing done;
   * unreadable: it will fail with its error.
   */
  state: 'new' | 'resumed' | 'done' | 'already-done' | 'dropped' | 'unreadable' | 'not-ready';
  /** The step at which a resumed item continues; null for the others. */
  fromStep: string | null;
  reusedSteps: number;
  error: ErrorRecord | null;
  /** Files that it changes, as far as its design says. */
  files: readonly string[];
  /** Items that it builds on. */
  after: readonly string[];
  /** Paths, files or folders, that no other item works on at the same time. */
  exclusive: readonly string[];
  /** What the item would replace, and why. */
  replaces: Replaced | null;
  /** Other items of the plan that its design collides with or builds on. */
  forecast: readonly Forecast[];
  /** Of one that is already done. */
  solved: Solved | null;
  /** The hash of the approved document that it is made from, as it was planned. */
  digest?: string;
}

/** What shows that an item was done before, and the record of it in the lineage. */
export interface Solved {
  reason: string;
  outputs: string[];
}

/** A document that an item would replace, because what it was made for says something else now. */
export interface Replaced {
  /** Relative to the repository. */
  path: string;
  /** Lines of a diff; null: what it was made for is not known any more. */
  difference: string[] | null;
}

/** Beyond so many the differences are not shown: in front of a large batch they would not be read. */
const MOST_DIFFERENCES = 5;

/** What a person should see before documents are replaced, and how each can be kept. */
export function replacementLines(items: readonly PlannedItem[]): string[] {
  const replacing = items.flatMap(({ id, replaces }) => (replaces === null ? [] : [{ id, ...replaces }]));
  return replacing.flatMap(({ id, path, difference }, index) => {
    const lines = index < MOST_DIFFERENCES ? (difference ?? ['(what it said then is not in the lineage)']) : [];
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
  /** The files that they share; none where they only build on each other. */
  files: string[];
}

/** For people: why some items wait for others. */
export function describeGroup({ ids, files }: PlannedGroup): string {
  const who = ids.length > 2 ? 'they' : 'both';
  const why = files.length > 0 ? `${who} change ${files.join(', ')}` : 'they build on each other';
  return `One after another: ${ids.join(' → ')} (${why}). Each begins at the branch of the one before.`;
}
