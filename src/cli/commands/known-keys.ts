import type { VendorKey } from '../../core/keys.ts';
import type { Paths } from '../../core/paths.ts';
import { type KeysFile, readKeysFile } from '../../run/keys-file.ts';

type Seen = KeysFile['keys'][number];

/** A key of the configuration with what the last run learned of it. */
export interface KnownKey {
  id: string;
  vendor: string;
  state: string;
  /** When it is expected back; null: it is there, or it is out for good. */
  until: string | null;
  group: string | null;
  limits: Seen['limits'];
  reason: string | null;
  /** When that was; null: it was never used here. */
  seenAt: string | null;
}

const NO_LIMITS: Seen['limits'] = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null };

export async function knownKeys(paths: Paths, keys: readonly VendorKey[], nowMs: number): Promise<KnownKey[]> {
  const file = await readKeysFile(paths.keys);
  return keys.map(({ id, vendor }) => {
    const seen = file?.keys.find((key) => key.id === id && key.vendor === vendor);
    if (file === null || seen === undefined) {
      return {
        id,
        vendor,
        state: 'available',
        until: null,
        group: null,
        limits: NO_LIMITS,
        reason: null,
        seenAt: null,
      };
    }
    // A pause that is over since is none; a dead key stays dead until it was seen to work.
    const over = seen.untilMs !== null && seen.untilMs <= nowMs;
    const state = seen.state === 'dead' || (seen.state === 'cooling' && !over) ? seen.state : 'available';
    const until = state === 'cooling' && seen.untilMs !== null ? new Date(seen.untilMs).toISOString() : null;
    const reason = state === 'available' ? null : seen.reason;
    return { id, vendor, state, until, group: seen.group, limits: seen.limits, reason, seenAt: file.at };
  });
}
