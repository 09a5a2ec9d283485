import type { Config } from '../core/config.ts';
import type { VendorName } from '../core/keys.ts';
import type { Fingerprint } from '../core/mask.ts';

/**
 * What one of our own tasks gets from its parent. There is no key in it: calls go to the gateway, with a token that is
 * good for this item only, and fingerprints are enough to recognise a key that a vendor echoes.
 */
export interface ItemInput {
  /** The item's own name; the coordinator may know it by another one. */
  id: string;
  repository: string;
  base: string;
  config: Omit<Config, 'keys' | 'endpoints' | 'keyVariables'>;
  token: string | null;
  endpoints: Partial<Record<VendorName, string>>;
  fingerprints: Fingerprint[];
}
