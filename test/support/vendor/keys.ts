import { createHash } from 'node:crypto';
import type { Answer } from './answer.ts';
import type { Dialect } from './dialect.ts';

export interface KeyOptions {
  key: string;
  group?: string;
  /** In the vendor's time since its start. */
  diesAtMs?: number;
  diesAfterCalls?: number;
  /** What a dead key is answered, where it is not the vendor's word for an unknown one (402, spend limit, …). */
  death?: Answer;
}

export interface KeyRing {
  groupOf(key: string | null): string;
  /** What the request is answered because of its key, or null when the key is good. */
  refusal(key: string | null, dialect: Dialect, elapsedMs: number): Answer | null;
  /** Counts towards `diesAfterCalls`. */
  use(key: string | null): void;
  kill(key: string, death?: Answer): void;
}

/** Without a list of keys every request is let in, with a key or without. */
export function createKeyRing(keys: (string | KeyOptions)[] | undefined): KeyRing {
  const known = new Map<string, KeyOptions & { calls: number; dead: boolean }>();
  for (const entry of keys ?? []) {
    const options = typeof entry === 'string' ? { key: entry } : entry;
    known.set(options.key, { ...options, calls: 0, dead: false });
  }
  const find = (key: string | null) => (key === null ? undefined : known.get(key));
  return {
    groupOf: (key) => find(key)?.group ?? 'default',
    refusal(key, dialect, elapsedMs) {
      const entry = find(key);
      if (entry === undefined) return keys === undefined ? null : dialect.badKey;
      entry.dead ||= elapsedMs >= (entry.diesAtMs ?? Number.POSITIVE_INFINITY);
      entry.dead ||= entry.calls >= (entry.diesAfterCalls ?? Number.POSITIVE_INFINITY);
      return entry.dead ? (entry.death ?? dialect.badKey) : null;
    },
    use(key) {
      const entry = find(key);
      if (entry !== undefined) entry.calls += 1;
    },
    kill(key, death) {
      const entry = known.get(key) ?? { key, calls: 0, dead: true };
      known.set(key, { ...entry, dead: true, ...(death === undefined ? {} : { death }) });
    },
  };
}

export function hashKey(key: string | null): string | null {
  return key === null ? null : createHash('sha256').update(key).digest('hex').slice(0, 12);
}
