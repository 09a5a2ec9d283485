import { rmdir, unlink } from 'node:fs/promises';
import { systemCode } from '../../core/errors.ts';
import type { Git } from '../git.ts';
import { makeWritable } from './folder.ts';
import { LONG_MS } from './git.ts';
import type { WorktreePlace } from './place.ts';
import { filesInRepositories, otherFiles } from './private-index.ts';

/** A folder can hide what is in it with an ignore file of its own; that is deleted first, then what it hid. */
const MOST_ROUNDS = 10;
const IGNORE_FILE = /(?:^|\/)\.gitignore$/;

/**
 * Makes the folder equal to a tree. First what is in the tree, its ignore files among it; only then can be told what
 * else has to go: what they ignore stays, also if somebody had deleted them meanwhile. `isIndexed`: the index is known to
 * hold this tree.
 */
export async function restoreTree(
  git: Git,
  place: WorktreePlace,
  { tree, isIndexed }: { tree: string; isIndexed: boolean },
  made: readonly string[],
): Promise<void> {
  if (!isIndexed) await git.run(['read-tree', '--reset', tree], { timeoutMs: LONG_MS });
  await git.run(['checkout-index', '--all', '--force', '--index', '--quiet'], { timeoutMs: LONG_MS });
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const files = await filesInRepositories(git, place, made, await otherFiles(git, place, made));
    if (files.length === 0) return;
    for (const path of files) await removeFile(place.directory, path);
    if (!files.some((path) => IGNORE_FILE.test(path))) return;
  }
}

/** With the folders above it that are empty then. */
async function removeFile(directory: string, path: string): Promise<void> {
  const at = (name: string): Buffer => Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')]);
  try {
    await unlink(at(path));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    if (systemCode(error) !== 'EACCES' && systemCode(error) !== 'EPERM') throw error;
    await makeWritable(directory);
    await unlink(at(path));
  }
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const isGone = await rmdir(at(path.slice(0, end))).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}
