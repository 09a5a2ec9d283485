import type { Reaction } from '../core/reaction.ts';
import type { ProvenTest } from '../documents/implementation/proven-tests.ts';
import type { Merge } from '../git/merge.ts';
import type { ImplementContext, ImplementParts } from './implement-item.ts';

/** What the worker brings for a reaction, besides what it brings for every item. */
export interface ReactParts extends Omit<ImplementParts, 'contextFor'> {
  reaction: Reaction;
}

/** A reaction in progress. Its base is what the pull request is compared with. */
export interface ReactContext extends ImplementContext {
  reaction: Reaction;
  /** The pull request as it was found. */
  headTree: string;
  /** With the base merged into it, where that has moved; it may hold conflict markers. */
  startTree: string;
  /** Files that the pull request changes. */
  own: ReadonlySet<string>;
  /** Null: nothing is in conflict. */
  conflict: Merge | null;
  /** The tests that prove the implementation. */
  proven: readonly ProvenTest[];
  testFiles: readonly string[];
  /** Test files that a remark is about, or that are in conflict: they may be changed. */
  openTests: readonly string[];
}
