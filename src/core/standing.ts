import type { LastRun } from './errors.ts';
import type { Asked } from './summary.ts';

/** How far an item of the backlog has come. */
export type Stage = 'issue' | 'lld' | 'branch' | 'merged' | 'dropped' | 'unreadable';

/** Where an item stands, and what it waits for. */
export interface Standing {
  id: string;
  title: string;
  state: Stage;
  /**
   * person: for a decision; run: it was decided on; model: no model has seen it; item: another one has to be done first.
   * Null: it is being worked on, or the next run takes it as it is.
   */
  waitsFor: 'person' | 'run' | 'model' | 'quota' | 'item' | null;
  /** In words: the question, the error, what it depends on. */
  reason: string | null;
  /** What all runs that are kept have paid for it. */
  costUsd: number;
  runs: number;
  branch: string | null;
  /** Of an unfinished implementation; relative to the repository where it is inside. */
  worktree: string | null;
  /** A run is at it now, or is going to be. */
  isUnderWay: boolean;
  lastRun: LastRun | null;
}

/** All there is to know about one item. Paths are relative to the repository. */
export interface ItemDetail extends Standing {
  lld: string | null;
  lineage: string | null;
  /** How it can be decided on. */
  question: Asked | null;
}
