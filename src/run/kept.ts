import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { ItemEnd } from '../core/item.ts';
import { shellWord } from '../core/shell-word.ts';
import type { Kept } from '../core/summary.ts';
import { isHolderAlive, readHolder } from '../process/lock.ts';
import { discardCommand } from './clean/items.ts';
import type { Project } from './project.ts';

const PLACE = new Set(['--repo', '--base-dir', '--config']);

/**
 * The worktree that an unfinished implementation leaves behind, or null. Null too while another run is at the item: the
 * lines to copy would destroy its work. `flags`: what a retry repeats, of which the line needs those that say where.
 */
export function keptOf(
  { paths }: Project,
  id: ItemId,
  { status, error }: Pick<ItemEnd, 'status' | 'error'>,
  flags: readonly string[],
): Kept | null {
  if (status === 'succeeded' || status === 'skipped' || error?.problem.code === 'item-locked') return null;
  const holder = readHolder(paths.lock('implement', id));
  if (holder !== null && holder.pid !== process.pid && isHolderAlive(holder)) return null;
  const directory = paths.worktree('implement', id);
  if (!existsSync(directory)) return null;
  return {
    look: `cd ${shellWord(shortest(directory))} && git status`,
    discard: discardCommand(id, placeOf(flags)),
  };
}

/** As short as it can be said from here. */
function shortest(directory: string): string {
  const way = relative(process.cwd(), directory) || '.';
  return way.startsWith('..') ? directory : way;
}

/** Of the flags that a retry repeats, those that say where. */
export function placeOf(flags: readonly string[]): string[] {
  return flags.filter((flag, index) => PLACE.has(flag) || PLACE.has(flags[index - 1] ?? ''));
}
