import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { systemClock } from '../core/clock.ts';
import { parseJson } from '../core/json.ts';
import type { KeyView, LearnedLimits } from '../pool/keys.ts';
import { writeFileAtomic } from '../process/files.ts';

const limit = z.number().positive().nullable();
const keySchema = z.object({
  id: z.string(),
  vendor: z.string(),
  group: z.string(),
  state: z.string(),
  /** A date. */
  untilMs: z.number().nullable(),
  limits: z.object({ requestsPerMinute: limit, tokensPerMinute: limit, concurrency: limit }),
  reason: z.string().nullable(),
});
const fileSchema = z.object({ at: z.string(), keys: z.array(keySchema) });

/** What the last run learned about its keys. `agentos keys` shows it, and the next run's pool starts with it. */
type KeysFile = z.infer<typeof fileSchema>;

export function parseKeys(value: unknown): KeysFile | null {
  return fileSchema.safeParse(value).data ?? null;
}

/** Null if it is missing or can't be read: everything in it can be learned again. */
export async function readKeysFile(path: string): Promise<KeysFile | null> {
  return parseKeys(parseJson(await readFile(path, 'utf8').catch(() => '')));
}

/** Only limits are remembered: whether a key works and has quota, the vendor says. */
export function limitsIn(file: KeysFile | null): ReadonlyMap<string, LearnedLimits> {
  return new Map(file?.keys.map(({ id, limits }) => [id, limits]));
}

/** Times are written as dates, because the clock of this process means nothing to the next one. */
export function keysRecord(views: readonly KeyView[]): KeysFile {
  const date = (ms: number | null): number | null =>
    ms === null ? null : ms - systemClock.now() + systemClock.dateMs();
  return { at: new Date().toISOString(), keys: views.map((key) => ({ ...key, untilMs: date(key.untilMs) })) };
}

export async function writeKeysFile(path: string, views: readonly KeyView[]): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(keysRecord(views), null, 2)}\n`);
}

/** A configured key, with what the last run learned about it. */
export interface KnownKey extends Pick<KeysFile['keys'][number], 'id' | 'vendor' | 'state' | 'limits' | 'reason'> {
  /** When it can be used again; null: it is available, or dead. */
  until: string | null;
  group: string | null;
  /** When it was last used; null: never, here. */
  seenAt: string | null;
}

export function knownKeys(
  keys: readonly { id: string; vendor: string }[],
  file: KeysFile | null,
  nowMs: number,
): KnownKey[] {
  return keys.map(({ id, vendor }) => {
    const seen = file?.keys.find((key) => key.id === id && key.vendor === vendor);
    // A pause that has ended does not count. A dead key stays dead until it works again.
    const isCooling = seen?.state === 'cooling' && (seen.untilMs === null || seen.untilMs > nowMs);
    const isOut = isCooling || seen?.state === 'dead';
    return {
      id,
      vendor,
      state: isOut ? seen.state : 'available',
      until: isCooling && seen.untilMs !== null ? new Date(seen.untilMs).toISOString() : null,
      group: seen?.group ?? null,
      limits: seen?.limits ?? { requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
      reason: isOut ? seen.reason : null,
      seenAt: seen === undefined ? null : (file?.at ?? null),
    };
  });
}
