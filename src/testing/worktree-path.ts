import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInside } from '../core/paths.ts';

/** Whatever a runner calls a file, as a path relative to the worktree with forward slashes; null for one outside of it. */
export type PathInWorktree = (path: string) => string | null;

export function createPathInWorktree(worktree: string): PathInWorktree {
  const roots = [worktree, realpathSync(worktree)];
  return (path) => {
    if (path === '') return null;
    const plain = path.startsWith('file:') ? fileURLToPath(path) : path;
    for (const root of roots) {
      const absolute = isAbsolute(plain) ? plain : resolve(root, plain);
      if (isInside(root, absolute)) return relative(root, absolute).split(sep).join('/');
    }
    return null;
  };
}
