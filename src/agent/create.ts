import type { VendorName } from '../core/keys.ts';
import type { VendorSpec, WriterSpec } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import type { CallLimits } from '../models/call-bounds.ts';
import type { Writer } from './port.ts';

export interface WriterDependencies extends CallLimits {
  /** All that commands and agents see of the environment. */
  env: Readonly<Record<string, string>>;
  /** The item's own, for agents. */
  home: string;
  /** Of package managers and compilers, shared by the items. */
  caches?: string | undefined;
  /** The item's token for the gateway. */
  token: Secret;
  /** The gateway's, for a vendor. */
  endpointOf: (vendor: VendorName) => string | undefined;
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  /** Marks what a call started. */
  tagVariable: string;
  mask: (text: string) => string;
  /** Of the built-in agent, in one call. */
  maxRounds: number;
  /** The price of what was used, or null when it is not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  offline: () => Writer;
}

/** Of the ways to write only the chosen one is loaded, when it is first asked. */
export function createWriter(spec: WriterSpec, dependencies: WriterDependencies): Writer {
  switch (spec.provider) {
    case 'offline':
      return dependencies.offline();
    case 'command':
      return loadedLater(spec.text, true, async () =>
        (await import('./programs/command.ts')).createCommandWriter({ ...dependencies, spec }),
      );
    case 'claude-code':
    case 'codex':
    case 'gemini-cli':
      return loadedLater(spec.text, true, async () =>
        (await import('./programs/writer.ts')).createAgentWriter({ ...dependencies, spec }),
      );
    case 'anthropic':
    case 'google':
    case 'openai':
    case 'openai-compatible':
      return loadedLater(spec.text, false, () => builtIn(spec, dependencies));
  }
}

async function builtIn(spec: VendorSpec, dependencies: WriterDependencies): Promise<Writer> {
  const { token, endpointOf, maxRounds, costOf, mask, idleTimeoutMs, ceilingMs } = dependencies;
  const { createBuiltInWriter } = await import('./loop.ts');
  return createBuiltInWriter({
    spec,
    key: token,
    baseUrl: endpointOf(spec.provider),
    maxRounds,
    costOf: (usage) => costOf(spec.text, usage),
    mask,
    idleTimeoutMs,
    ceilingMs,
  });
}

function loadedLater(spec: string, writesByItself: boolean, load: () => Promise<Writer>): Writer {
  let loaded: Promise<Writer> | null = null;
  return {
    spec,
    isModel: true,
    writesByItself,
    async write(request) {
      loaded ??= load();
      return (await loaded).write(request);
    },
  };
}
