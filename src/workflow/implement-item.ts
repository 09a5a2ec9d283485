import type { Writer } from '../agent/port.ts';
import type { Config, TestSettings } from '../core/config.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import type { Git } from '../git/git.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import type { TestSuite } from '../testing/port.ts';
import type { SetUp } from './implement-worktree.ts';
import type { ItemContext } from './item.ts';

/** What the worker brings for an implementation, besides what it brings for every item. */
export interface ImplementParts {
  /** The approved LLD, as the file has it; the item's hash is that of its body. */
  lldText: string;
  writer: Writer;
  config: Pick<Config, 'implement' | 'tests' | 'lineage'>;
  git: Git;
  /** For git itself. */
  env: Record<string, string>;
  /** For what runs in the worktree. */
  itemEnv: Record<string, string>;
  /** What that runs in; undefined: nothing. */
  sandbox: OpenSandbox | undefined;
  onGroup: (leader: number, ended: boolean) => void;
  /** What the writer is shown of the repository, and the existing tests that touch the files of its design. */
  contextFor: (
    commit: string,
    asked: { title: string; body: string; files: readonly string[] },
  ) => Promise<{ text: string; tests: readonly string[] }>;
  /** Opens the suite in the item's worktree; null: nothing is known about its tests. */
  openSuite: (settings: TestSettings | null) => Promise<TestSuite>;
}

/** An implementation in progress: the item, its design, and the worktree that it is made in. */
export interface ImplementContext extends ItemContext, ImplementParts {
  lld: LldDocument;
  /** The commit that it began at, and the tree of that commit. */
  base: string;
  baseTree: string;
  /** Other designs that touch this one, as the reviewer is shown them; may be empty. */
  forecast: string;
  /** Branches that it began at, and that were not merged then. */
  on: readonly string[];
  worktree: Worktree;
  /** Its folder was made just now: whatever an earlier attempt was in the middle of is not in it. */
  isNewWorktree: boolean;
  setUp: SetUp;
  suite: TestSuite;
  /** Text for the branch: paths in worktree and checkout become relative to the repository. */
  portable: (text: string) => string;
}
