import type { z } from 'zod';
import type { Worktree } from './worktree-path.ts';

export interface ToolContext {
  worktree: Worktree;
  signal: AbortSignal;
}

/** What the model is told, and what the log says. Never thrown: a tool that can't do what was asked says why. */
export interface ToolResult {
  ok: boolean;
  text: string;
  line: string;
}

/**
 * Something that the model may do. The same call on the same files has the same result, to the letter: a killed loop goes
 * on by doing its calls again, and finds the answers that were paid for by what it then asks.
 */
export interface Tool<Schema extends z.ZodType = z.ZodType> {
  name: string;
  description: string;
  schema: Schema;
  /** It changes files, so it is never left half done. */
  changes: boolean;
  run(input: z.output<Schema>, context: ToolContext): Promise<ToolResult>;
}

export function failed(line: string, why: string): ToolResult {
  return { ok: false, text: `Not done: ${why}.`, line: `${line}: ${why}` };
}
