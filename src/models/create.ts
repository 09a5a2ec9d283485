import type { VendorName } from '../core/keys.ts';
import type { ModelSpec } from '../core/model-spec.ts';
import type { Secret } from '../core/secret.ts';
import type { CallLimits } from './call-bounds.ts';
import { createCommandProvider } from './command.ts';
import type { Provider } from './port.ts';
import { createVendorProvider } from './vendor.ts';

export interface ProviderDependencies extends CallLimits {
  /** Throws where there is none; a compatible server that wants none gets an empty one. */
  keyOf: (vendor: VendorName) => Secret;
  /** The base URL, where it is not the vendor's own. */
  endpointOf: (vendor: VendorName) => string | undefined;
  /** Where commands run and what they see of the environment. */
  cwd: string;
  env: Readonly<Record<string, string>>;
  onLine?: ((line: string) => void) | undefined;
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  offline: () => Provider;
}

export function createProvider(spec: ModelSpec, dependencies: ProviderDependencies): Provider {
  const { idleTimeoutMs, ceilingMs, keyOf, endpointOf, cwd, env, onLine, onGroup, offline } = dependencies;
  switch (spec.provider) {
    case 'offline':
      return offline();
    case 'command':
      return createCommandProvider({ spec, cwd, env, onLine, onGroup, idleTimeoutMs, ceilingMs });
    case 'anthropic':
    case 'google':
    case 'openai':
    case 'openai-compatible':
      return createVendorProvider({
        spec,
        key: keyOf(spec.provider),
        baseUrl: endpointOf(spec.provider),
        idleTimeoutMs,
        ceilingMs,
      });
  }
}
