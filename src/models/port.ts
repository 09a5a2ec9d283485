import type { Role } from '../core/config.ts';
import type { ModelUse, Usage } from '../core/money.ts';
import type { Answer } from './ask-vendor.ts';
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
  /** The turns since the opening; the mark goes on what the vendor should cache. */
  turnsWith: (cacheMark: VendorMarks | undefined) => VendorPrompt;
}

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
  /** The whole answer, if it calls tools. */
  parts?: Answer['parts'];
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

/** The parts of a prompt as one text, with a blank line between them. */
export function promptText(parts: readonly PromptPart[]): string {
  return parts
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n\n');
}
