import { createToolSet, type ToolSet } from './tool.ts';
import { edit } from './tools/edit.ts';
import { list } from './tools/list.ts';
import { read } from './tools/read.ts';
import { remove } from './tools/remove.ts';
import { search } from './tools/search.ts';
import { write } from './tools/write.ts';
import type { Worktree } from './worktree-path.ts';

/** What a model may do in a worktree: look at its files, and change them where it may. */
export function worktreeTools(worktree: Worktree, { mayWrite }: { mayWrite: boolean }): ToolSet {
  const reading = [list(worktree), read(worktree), search(worktree)];
  const writing = [write(worktree), edit(worktree), remove(worktree)];
  return createToolSet(mayWrite ? [...reading, ...writing] : reading, worktree.given);
}
