import type { ItemId } from '../../core/ids.ts';
import type { Paths, WorkflowName } from '../../core/paths.ts';
import type { Git } from '../../git/git.ts';

export interface CleanEntry {
  kind: 'worktree' | 'branch' | 'checkpoint' | 'home' | 'undone' | 'run' | 'lock' | 'cache' | 'pins' | 'unfinished';
  name: string;
  path: string;
  why: string;
  /** How a person throws it away, where we don't. */
  discard: string | null;
}

export interface Cleaned {
  removed: CleanEntry[];
  kept: CleanEntry[];
}

/** The line to copy that throws an unfinished implementation away; `place`: the flags that say where. */
export function discardCommand(id: ItemId, place: readonly string[]): string {
  return ['agentos', 'clean', '--discard', id, ...place].join(' ');
}

export interface CleanOptions {
  paths: Paths;
  /** In the user's repository. */
  git: Git;
  env: Record<string, string>;
  nowMs: number;
  /** Caches are removed too. */
  caches: boolean;
  dryRun: boolean;
  /** Flags that a line to copy has to repeat to mean the same repository. */
  place: readonly string[];
  /** Whether a stored hash is of what an issue says now. */
  isIssueHash: (id: ItemId, stored: unknown) => Promise<boolean>;
  /** Whether an issue was written from what the brief says now. */
  isBriefDone: (id: ItemId) => Promise<boolean>;
  /** Takes the lock of an item; null: somebody has it. */
  claim: (workflow: WorkflowName, id: ItemId) => { release(): void } | null;
  /** Serialises `git worktree` over all processes. */
  gitQueue: string;
}
