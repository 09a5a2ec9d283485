import type { VendorName } from '../core/keys.ts';
import type { ModelSpec } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import type { CallLimits } from '../models/call-bounds.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import type { Writer } from './port.ts';
import type { OwnLogins } from './programs/own-login.ts';
import type { OpenTranscript } from './transcript.ts';

export interface WriterDependencies extends CallLimits {
  /** All that commands and agents see of the environment; they are looked for on the PATH in it. */
  env: Readonly<Record<string, string>>;
  /** Absent: commands and agents run without one. */
  sandbox?: OpenSandbox | undefined;
  /** The item's own, for agents. */
  home: string;
  /** Of package managers and compilers, shared by the items; agents with a sandbox may write there. */
  caches?: string | undefined;
  /** The item's token for the gateway. */
  token: Secret;
  /** The gateway's, for a vendor. */
  endpointOf: (vendor: VendorName) => string | undefined;
  /** Absent: all agents go through the gateway. */
  ownLogins?: OwnLogins | undefined;
  /** Called with the process group of a call, so that another process can end it should this one die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  mask: (text: string) => string;
  /** Keeps what agents do; absent: nothing is kept. */
  transcripts?: OpenTranscript | undefined;
  /** Of the built-in agent, in one call. */
  maxRounds: number;
  /** The price of what was used, or null when it is not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  offline: () => Writer;
}

/** Of the ways to write only the chosen one is loaded, when it is first asked. */
export function createWriter(spec: ModelSpec, dependencies: WriterDependencies): Writer {
  switch (spec.provider) {
    case 'offline':
      return dependencies.offline();
    case 'command':
      return loadedLater(spec.text, true, async () =>
        (await import('./programs/command.ts')).createCommandWriter(spec, dependencies),
      );
    case 'claude-code':
    case 'codex':
    case 'gemini-cli':
    case 'opencode':
    case 'acp':
      return loadedLater(spec.text, true, async () =>
        (await import('./programs/writer.ts')).createAgentWriter(spec, dependencies),
      );
    default:
      return loadedLater(spec.text, false, async () => {
        const { token: key, endpointOf, costOf } = dependencies;
        const access = { spec, key, baseUrl: endpointOf(spec.provider) };
        const { createBuiltInWriter } = await import('./loop.ts');
        return createBuiltInWriter({ ...dependencies, ...access, costOf: (usage) => costOf(spec.text, usage) });
      });
  }
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
