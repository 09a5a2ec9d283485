import type { CommandSpec, ModelSpec } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import { type CommandOptions, runCommand } from '../models/command.ts';
import { accessOf } from '../models/create.ts';
import { type CallOptions, promptText, UNMETERED } from '../models/port.ts';
import type { Writer } from './port.ts';
import type { OwnLogins } from './programs/own-login.ts';
import type { OpenTranscript } from './transcript.ts';

/** What agents need in addition. */
export interface AgentOptions extends CallOptions {
  /** The item's home. */
  home: string;
  /** The caches of package managers and compilers, which the items share; agents with a sandbox may write there. */
  caches?: string | undefined;
  /** Absent: all agents go through the gateway. */
  ownLogins?: OwnLogins | undefined;
  /** Absent: no transcripts are written. */
  transcripts?: OpenTranscript | undefined;
}

interface WriterOptions extends AgentOptions {
  /** The most rounds of the built-in agent in one call. */
  maxRounds: number;
  /** The price of what was used; null: not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  offline: () => Writer;
}

/** The module of the writer is loaded on its first call. */
export function createWriter(spec: ModelSpec, options: WriterOptions): Writer {
  switch (spec.provider) {
    case 'offline':
      return options.offline();
    case 'command':
      return createCommandWriter(spec, options);
    case 'claude-code':
    case 'codex':
    case 'gemini-cli':
    case 'opencode':
    case 'acp':
      return loadedLater(spec.text, true, async () =>
        (await import('./programs/writer.ts')).createAgentWriter(spec, options),
      );
    default:
      return loadedLater(spec.text, false, async () => {
        const { createBuiltInWriter } = await import('./loop.ts');
        const costOf = (usage: Usage): number | null => options.costOf(spec.text, usage);
        return createBuiltInWriter({ ...options, ...accessOf(spec, options), costOf });
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
      return { text: '', ...UNMETERED, costUsd: null };
    },
  };
}
