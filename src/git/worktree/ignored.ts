import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../git.ts';
import type { WorktreePlace } from './place.ts';
import { splitNames } from './private-index.ts';

const IGNORED = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard'];

/** What git ignores in the worktree; a folder of which nothing else is in counts as one, with a slash at its end. */
export async function ignoredFiles(git: Git): Promise<string[]> {
  return splitNames(await git.run([...IGNORED, '--directory']));
}

/**
 * Removes what git ignores, but for what was there before anybody wrote: it would be no part of the branch, and tests
 * that pass because of it would fail there. Returns what was removed.
 */
export async function removeIgnored(git: Git, place: WorktreePlace, kept: readonly string[]): Promise<string[]> {
  const keptSet = new Set(kept);
  const removed: string[] = [];
  const remove = async (name: string): Promise<void> => {
    if (keptSet.has(name) || kept.some((each) => each.endsWith('/') && name.startsWith(each))) return;
    if (name.endsWith('/') && kept.some((each) => each.startsWith(name))) {
      const inside = splitNames(await git.run([...IGNORED, '--', name]));
      for (const file of inside) if (!file.endsWith('/')) await remove(file);
      return;
    }
    await rm(join(place.directory, Buffer.from(name, 'latin1').toString('utf8')), { recursive: true, force: true });
    removed.push(name);
  };
  for (const name of await ignoredFiles(git)) await remove(name);
  return removed;
}
