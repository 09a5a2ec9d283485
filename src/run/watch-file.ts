import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ITEM_STATUSES } from '../core/item.ts';
import { parseJson } from '../core/json.ts';
import { WORKFLOWS } from '../core/paths.ts';
import type { WatchedItem } from '../core/watching.ts';
import { writeFileAtomic } from '../process/files.ts';

const itemSchema: z.ZodType<WatchedItem> = z.object({
  workflow: z.enum(WORKFLOWS),
  hash: z.string(),
  attempts: z.int(),
  status: z.enum(ITEM_STATUSES).nullable(),
  atMs: z.number(),
  untilMs: z.number().nullable(),
});

const fileSchema = z.object({
  items: z.record(z.string(), itemSchema),
  /** The beginning of the day whose budget was found too small for the next call; null: of none. */
  spentUpMs: z.number().nullable(),
});

/** What a watch has to know of what it did before, so that a restart changes nothing. */
export type WatchState = z.infer<typeof fileSchema>;

/** Empty if the file is missing or damaged: then everything that is pending may start. */
export async function readWatchState(path: string): Promise<WatchState> {
  const found = fileSchema.safeParse(parseJson(await readFile(path, 'utf8').catch(() => '')));
  return found.data ?? { items: {}, spentUpMs: null };
}

export async function writeWatchState(path: string, state: WatchState): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(state, null, 2)}\n`);
}
