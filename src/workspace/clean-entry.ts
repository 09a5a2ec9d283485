import type { ItemId } from '../core/ids.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { Git } from './git.ts';

export interface CleanEntry {
  kind: 'worktree' | 'checkpoint' | 'home' | 'undone' | 'run' | 'lock' | 'cache' | 'pins';
  name: string;
  path: string;
  why: string;
  /** How a person throws it away, where we don't. */
  discard: string | null;
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
  /** Of what an issue says now; null: it can't be read. */
  issueHash: (id: ItemId) => Promise<string | null>;
  /** Takes the lock of an item; null: somebody has it. */
  claim: (workflow: WorkflowName, id: ItemId) => { release(): void } | null;
  /** Serialises `git worktree` over all processes. */
  gitQueue: string;
}
