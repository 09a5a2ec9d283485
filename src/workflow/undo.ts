import { join, posix } from 'node:path';
import { shownPath } from '../core/paths.ts';
import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { ImplementContext } from './implement-item.ts';

/** Changes that were not allowed where they were made, and were put back. */
export interface Undone {
  step: string;
  paths: string[];
  why: string;
}

/** Puts paths back as they are in `source`; what they were is kept as a whole patch, so that nothing is lost. */
export async function undo(
  context: ImplementContext,
  { tree, source, paths, step, why }: Undone & { tree: string; source: string },
): Promise<string> {
  const { id, worktree, emit, mask } = context;
  if (paths.length === 0) return tree;
  const kept = await worktree.withPathsFrom(tree, source, paths);
  const patch = join(context.paths.undone('implement', id), `${step}.patch`);
  // Secrets are ASCII; read as one byte a character, what is not UTF-8 stays as it is.
  const text = (await worktree.patch(kept, tree)).toString('latin1');
  await writeFileAtomic(patch, Buffer.from(mask(text), 'latin1'));
  emit({ type: 'changes-undone', step, paths, why, patch: shownPath(context.paths.repository, patch) });
  return kept;
}

/** Symbolic links among the changes that point out of the repository: on another machine they lead nowhere. */
export async function linksOutside(
  worktree: Pick<Worktree, 'read'>,
  tree: string,
  changes: readonly TreeChange[],
): Promise<string[]> {
  const outside: string[] = [];
  for (const { path } of changes.filter((change) => change.isLink)) {
    const target = ((await worktree.read(tree, path)) ?? '').trim();
    const end = posix.join(posix.dirname(path), target);
    if (posix.isAbsolute(target) || end === '..' || end.startsWith('../')) outside.push(path);
  }
  return outside;
}
