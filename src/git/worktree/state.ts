import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../process/files.ts';
import type { WorktreePlace } from './place.ts';

const schema = z.object({
  branch: z.string(),
  /** The commit that the branch began at. */
  start: z.string(),
  /** Where we last saw or put the branch. */
  head: z.string(),
  /** False while it is being made or removed: nobody's work is in it then. */
  ready: z.boolean(),
  /** Paths that the set-up made, each byte as one character; null: not looked at yet. */
  made: z.array(z.string()).nullable(),
  /** What git ignored when the set-up was done, in the same form. */
  ignored: z.array(z.string()).default([]),
});

/** What we know of a worktree of ours, written before and after each step that a kill could cut in two. */
export type WorktreeState = z.infer<typeof schema>;

export async function readWorktreeState(place: WorktreePlace): Promise<WorktreeState | null> {
  try {
    return schema.parse(JSON.parse(await readFile(fileOf(place), 'utf8')));
  } catch {
    return null;
  }
}

export async function writeWorktreeState(place: WorktreePlace, state: WorktreeState): Promise<void> {
  await makeFolder(place.stateFolder);
  const temporary = `${fileOf(place)}.new`;
  await writeFile(temporary, JSON.stringify(state, null, 2));
  await rename(temporary, fileOf(place));
}

function fileOf({ stateFolder }: WorktreePlace): string {
  return join(stateFolder, 'state.json');
}
