import type { VendorName } from '../core/keys.ts';
import type { CommandSpec, ModelSpec } from '../core/model-spec.ts';
import { NO_USAGE, type Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import type { CallLimits } from '../models/call-bounds.ts';
import { type CommandOptions, runCommand } from '../models/command.ts';
import { accessOf } from '../models/create.ts';
import { promptText } from '../models/port.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import type { Writer } from './port.ts';
import type { OwnLogins } from './programs/own-login.ts';
import type { OpenTranscript } from './transcript.ts';

export interface WriterDependencies extends CallLimits {
  /** The whole environment of commands and agents; their programs are looked up on its PATH. */
  env: Readonly<Record<string, string>>;
  /** Absent: commands and agents run without one. */
  sandbox?: OpenSandbox | undefined;
  /** Of the item. */
  home: string;
  /** Of package managers and compilers, shared by the items; agents with a sandbox may write there. */
  caches?: string | undefined;
  /** The item's token for the gateway. */
  token: Secret;
  /** Of the gateway, for a vendor. */
  endpointOf: (vendor: VendorName) => string | undefined;
  /** Absent: all agents go through the gateway. */
  ownLogins?: OwnLogins | undefined;
  /** Called with the process group of a call, so that another process can kill it if this one dies. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  mask: (text: string) => string;
  /** Absent: no transcripts are written. */
  transcripts?: OpenTranscript | undefined;
  /** Of the built-in agent, in one call. */
  maxRounds: number;
  /** The price of what was used; null: not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  offline: () => Writer;
}

/** The module of the writer is loaded on its first call. */
export function createWriter(spec: ModelSpec, dependencies: WriterDependencies): Writer {
  switch (spec.provider) {
    case 'offline':
      return dependencies.offline();
    case 'command':
      return createCommandWriter(spec, dependencies);
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
        const { createBuiltInWriter } = await import('./loop.ts');
        const costOf = (usage: Usage): number | null => dependencies.costOf(spec.text, usage);
        return createBuiltInWriter({ ...dependencies, ...accessOf(spec, dependencies), costOf });
      });
  }
}

function loadedLater(spec: string, writesByItself: boolean, load: () => Promise<Writer>): Writer {
  return { spec, isModel: true, writesByItself, write: async (request) => (await load()).write(request) };
}

/** A shell command as implementer: the task on stdin; the files that it changes are its work. */
export function createCommandWriter(spec: CommandSpec, options: CommandOptions): Writer {
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: true,
    async write({ worktree, system, task, item, phase, signal, onProgress, onLine }) {
      await runCommand(spec, options, {
        may: 'write',
        cwd: worktree,
        env: { ...options.env, AGENTOS_PHASE: phase, AGENTOS_ITEM: item },
        prompt: promptText([{ text: system }, { text: task }]),
        signal,
        // Its output is logged line by line.
        keepBytes: 0,
        onProgress,
        onLine,
      });
      return { text: '', answered: null, usage: NO_USAGE, metered: false, costUsd: null };
    },
  };
}
