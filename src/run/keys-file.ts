import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { systemClock } from '../core/clock.ts';
import type { KeyView } from '../pool/port.ts';
import { writeFileAtomic } from '../process/files.ts';

const keySchema = z.object({
  id: z.string(),
  vendor: z.string(),
  group: z.string(),
  state: z.string(),
  /** A date. */
  untilMs: z.number().nullable(),
  limits: z.object({
    requestsPerMinute: z.number().positive().nullable(),
    tokensPerMinute: z.number().positive().nullable(),
    concurrency: z.number().positive().nullable(),
  }),
  reason: z.string().nullable(),
});
const fileSchema = z.object({ at: z.string(), keys: z.array(keySchema) });

/** What the last run learned of its keys: shown by `agentos keys`, and where the next run's pool starts from. */
export type KeysFile = z.infer<typeof fileSchema>;

export function parseKeys(value: unknown): KeysFile | null {
  return fileSchema.safeParse(value).data ?? null;
}

/** Null where there is none, or none that can be read: everything in it can be learned again. */
export async function readKeysFile(path: string): Promise<KeysFile | null> {
  try {
    return parseKeys(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}

/** The clock of this process means nothing to the next one: times are written as dates. */
export function keysRecord(views: readonly KeyView[]): KeysFile {
  const date = (ms: number | null): number | null =>
    ms === null ? null : ms - systemClock.now() + systemClock.dateMs();
  return { at: new Date().toISOString(), keys: views.map((key) => ({ ...key, untilMs: date(key.untilMs) })) };
}

export async function writeKeysFile(path: string, views: readonly KeyView[]): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(keysRecord(views), null, 2)}\n`);
}
