import type { Writer } from '../agent/port.ts';
import type { TestSettings } from '../core/config.ts';
import type { Landing, LandingBranch } from '../core/landing.ts';
import type { ProvenTest } from '../documents/implementation/proven-tests.ts';
import type { Merge } from '../git/merge.ts';
import type { TestSuite } from '../testing/port.ts';
import type { ImplementContext, ImplementParts } from './implement-item.ts';
import type { ItemContext } from './item.ts';

/** What the worker brings for a landing, besides what it brings for every item. */
export interface LandParts extends Pick<ImplementParts, 'config' | 'git' | 'env' | 'itemEnv' | 'sandbox' | 'onGroup'> {
  landing: Landing;
  /** Who settles conflicts, where that is asked for. */
  writer: () => Writer;
  /** Opens the suite that is for these files, in the worktree of the landing. */
  openSuite: (settings: TestSettings | null, paths: readonly string[]) => Promise<TestSuite>;
}

/** A branch with what its report says of it. */
export interface ReportedBranch extends LandingBranch {
  proven: readonly ProvenTest[];
}

/** A landing in progress, and the worktree that it is tested in. */
export interface LandContext
  extends ItemContext,
    LandParts,
    Pick<ImplementContext, 'worktree' | 'setUp' | 'isNewWorktree' | 'baseTree' | 'portable'> {
  branches: readonly ReportedBranch[];
  /** Null: nothing is tested, because the policy is `off`. */
  suite: TestSuite | null;
}

/** A state of the landing: the base with some branches in it. */
export interface Combined {
  commit: string;
  tree: string;
  branches: readonly ReportedBranch[];
}

/** A branch that conflicts with what is combined so far. */
export interface Conflicting {
  ours: Combined;
  branch: ReportedBranch;
  merge: Merge;
}
