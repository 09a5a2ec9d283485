import { createHash } from 'node:crypto';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Everything in a folder by its path, with a hash of what it holds: two that are equal mean that nothing was touched. */
export async function treeOf(folder: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    tree[relative(folder, path)] = entry.isDirectory()
      ? 'folder'
      : entry.isSymbolicLink()
        ? `link to ${await readlink(path)}`
        : createHash('sha256')
            .update(await readFile(path))
            .digest('hex');
  }
  return tree;
}
