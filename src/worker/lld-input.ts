import type { Config } from '../core/config.ts';
import type { VendorName } from '../core/keys.ts';
import { Secret } from '../core/secret.ts';

/** What the LLD task needs from its parent. */
export interface LldInput {
  repository: string;
  base: string;
  config: Config;
}

interface SealedInput {
  repository: string;
  base: string;
  config: Omit<Config, 'keys'>;
  keys: { id: string; vendor: VendorName; value: string }[];
}

/** Keys travel over the private channel to the worker, never in its environment or arguments. */
export function sealInput({ repository, base, config }: LldInput): SealedInput {
  const { keys, ...rest } = config;
  return {
    repository,
    base,
    config: rest,
    keys: keys.map(({ id, vendor, secret }) => ({ id, vendor, value: secret.reveal() })),
  };
}

export function openInput(input: unknown): LldInput {
  const { repository, base, config, keys } = input as SealedInput;
  return {
    repository,
    base,
    config: { ...config, keys: keys.map(({ id, vendor, value }) => ({ id, vendor, secret: new Secret(value) })) },
  };
}
