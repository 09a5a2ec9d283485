import type { Role } from '../core/config.ts';
import type { ModelUse, Usage } from '../core/money.ts';
import type { Answer } from './ask-vendor.ts';
import type { VendorMarks, VendorPrompt, VendorTool } from './vendors.ts';

/** One piece of the prompt. `repeats` marks pieces that stay the same over the rounds of one item: vendors can cache them. */
export interface PromptPart {
  text: string;
  repeats?: boolean;
}

/** What a call of a conversation with tools has beside its opening. */
export interface ModelRound {
  tools: readonly VendorTool[];
  /** False: they are named because of the turns that called them, and may not be called any more. */
  mayCall: boolean;
  /** What was said since the opening, with this mark on what the vendor should cache. */
  turnsWith: (cacheMark: VendorMarks | undefined) => VendorPrompt;
}

export interface ModelRequest {
  role: Role;
  system: string;
  /** Repeating parts come first. */
  parts: PromptPart[];
  /** For a provider that takes tools. */
  conversation?: ModelRound;
  /** Stable over restarts: the same question of the same item has the same id, so that a paid answer can be found again. */
  stepId: string;
  signal: AbortSignal;
  /** Called on every sign of life (a chunk, a line), so that a live call is never taken for a dead one. */
  onProgress?: (progress: { outputChars: number }) => void;
  /**
   * For providers that are programs: runs `work` in a folder with the files that the question is about. What it changes
   * there is thrown away.
   */
  inFolder: <T>(work: (directory: string) => Promise<T>) => Promise<T>;
}

export interface ModelReply {
  /** May be empty where tools are called. */
  text: string;
  /** The whole answer, where it calls tools. */
  parts?: Answer['parts'];
  /** The model as asked for and as the vendor says it answered; null where it doesn't say. */
  asked: string;
  answered: string | null;
  /** The vendor answered with another model than the one asked for (a dated snapshot of it is the same one). */
  substituted: boolean;
  usage: Usage;
  /** False where the provider reports no usage (a command): then usage is zero and means nothing. */
  metered: boolean;
  /** Where the provider knows it better than the price of its model does; null: it is not known. */
  costUsd?: number | null;
  /** Where more than one call was made: all of it by model. */
  models?: ModelUse[];
}

/**
 * Turns a prompt into a reply. It never retries: exactly one place does, or the bounds multiply. Every failure is an
 * `AgentosError` whose retry class was decided here, where the status, code and type are known. A reply that is empty,
 * truncated, filtered or an error page is a failure, never a reply.
 */
export interface Provider {
  /** `provider:model`, as in the configuration. */
  readonly spec: string;
  /** False for the recorded tour: its documents say so. */
  readonly isModel: boolean;
  /** It can be asked in a conversation with tools. */
  readonly takesTools?: boolean;
  complete(request: ModelRequest): Promise<ModelReply>;
}

/** The pieces of a prompt as one text, with a blank line between them. */
export function promptText(parts: readonly PromptPart[]): string {
  return parts
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n\n');
}
