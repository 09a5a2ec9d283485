import type { Config } from '../core/config.ts';
import type { Fingerprint } from '../core/fingerprint.ts';
import type { VendorName } from '../core/keys.ts';

/**
 * What the LLD task gets from its parent. There is no key in it: calls go to the gateway, with a token that is good for
 * this item only, and fingerprints are enough to recognise a key that a vendor echoes.
 */
export interface LldInput {
  repository: string;
  base: string;
  config: Omit<Config, 'keys' | 'endpoints' | 'keyVariables'>;
  token: string | null;
  endpoints: Partial<Record<VendorName, string>>;
  fingerprints: Fingerprint[];
}
