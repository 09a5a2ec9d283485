import { systemClock } from '../core/clock.ts';
import type { Role } from '../core/config.ts';
import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { type ModelUse, NO_USAGE, type Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import type { VendorMarks, VendorPrompt, VendorTool } from './vendors.ts';

/** One part of the prompt. `repeats`: it stays the same over the rounds of one item, so vendors can cache it. */
export interface PromptPart {
  text: string;
  repeats?: boolean;
}

/** The part of a call that continues a conversation with tools. */
export interface ModelRound {
  tools: readonly VendorTool[];
  /** False: the tools are listed only because earlier turns called them. */
  mayCall: boolean;
  /** Since the opening. */
  turns: VendorPrompt;
  /** Takes an answer that is empty or cut off, which is an error otherwise. */
  isWork?: boolean;
}

export interface AnswerCall {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  /** Meant to be JSON. */
  input: string;
}

/** `providerOptions`: the vendor wants them back with the next call: signatures of thoughts, ids of items. */
export type AnswerPart = (AnswerCall | { type: 'text' | 'reasoning'; text: string }) & {
  providerOptions?: VendorMarks;
};

export interface ModelRequest {
  role: Role;
  system: string;
  /** Repeating parts come first. */
  parts: PromptPart[];
  /** Only for a provider that takes tools. */
  conversation?: ModelRound;
  /** The same question of the same item has the same id after a restart, so a paid answer can be found again. */
  stepId: string;
  signal: AbortSignal;
  /** Called on every sign of life: a chunk, a line. */
  onProgress?: (progress: { outputChars: number }) => void;
  /**
   * For providers that are programs: runs `work` in a folder with the files that the question is about. Changes there are
   * discarded.
   */
  inFolder: <T>(work: (directory: string) => Promise<T>) => Promise<T>;
}

export interface ModelReply {
  /** May be empty if tools are called. */
  text: string;
  /** The whole answer, if it calls tools or is cut off. */
  parts?: AnswerPart[];
  /** It reached the limit of output tokens, so its end is missing. */
  cut?: boolean;
  /** The model that we asked for, and the one that answered; null: the vendor doesn't say. */
  asked: string;
  answered: string | null;
  /** The vendor answered with another model. A dated snapshot of the same model is not another one. */
  substituted: boolean;
  usage: Usage;
  /** False: the provider reports no usage (a command), so `usage` is meaningless. */
  metered: boolean;
  /** If the provider knows it better than the price of its model does; null: unknown. */
  costUsd?: number | null;
  /** If there was more than one call: the use by model. */
  models?: ModelUse[];
}

/**
 * Turns a prompt into a reply. It never retries: only one place does, or the bounds would multiply. Every failure is an
 * `AgentosError` with its retry class. An empty, truncated or filtered reply, or an error page, is a failure.
 */
export interface Provider {
  /** `provider:model`, as in the configuration. */
  readonly spec: string;
  /** False for the recorded tour; its documents say so. */
  readonly isModel: boolean;
  readonly takesTools?: boolean;
  complete(request: ModelRequest): Promise<ModelReply>;
}

/** The usage of a program that does not say what it used. */
export const UNMETERED = { answered: null, usage: NO_USAGE, metered: false };

/** The parts of a prompt as one text, with a blank line between them. */
export function promptText(parts: readonly PromptPart[]): string {
  return parts
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** A design has tens of kilobytes; a longer reply is a fault, and must not fill the memory. */
export const MAX_REPLY_BYTES = 8 * 1024 * 1024;

export interface CallLimits {
  /** A call without a sign of life for this long is dead. */
  idleTimeoutMs: number;
  /** A call ends after this time, even if it is alive. */
  ceilingMs: number;
}

/** What all calls of an item have in common, whether a vendor's model, a command or an agent answers. */
export interface CallOptions extends CallLimits {
  /** The item's token for the gateway. */
  token: Secret;
  /** The gateway's base URL for a vendor. */
  endpointOf: (vendor: VendorName) => string | undefined;
  /** The whole environment of commands and agents; their programs are looked up on its PATH. */
  env: Readonly<Record<string, string>>;
  /** Absent: commands and agents run without one. */
  sandbox?: OpenSandbox | undefined;
  /** Called with the process group of a call, so that another process can kill it if this one dies. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  /** Hides secrets in all text that is logged or returned. */
  mask: (text: string) => string;
}

/**
 * Runs `work` within its bounds. Its signal is aborted at a bound, or when the caller gives up; then the reason is the error of the
 * call, whatever `work` throws.
 */
export async function withinBounds<T>(
  { what, limits, signal }: { what: string; limits: CallLimits; signal: AbortSignal },
  work: (call: { signal: AbortSignal; alive: () => void }) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  const idle = systemClock.timer(Math.min(limits.idleTimeoutMs, LONGEST_MS), () =>
    controller.abort(new AgentosError({ code: 'call-idle', what, afterMs: limits.idleTimeoutMs }, { retry: 'idle' })),
  );
  const ceiling = systemClock.timer(Math.min(limits.ceilingMs, LONGEST_MS), () =>
    controller.abort(new AgentosError({ code: 'call-ceiling', what, afterMs: limits.ceilingMs }, { retry: 'ceiling' })),
  );
  try {
    return await work({ signal: controller.signal, alive: () => idle.refresh() });
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    idle.stop();
    ceiling.stop();
    signal.removeEventListener('abort', giveUp);
  }
}
