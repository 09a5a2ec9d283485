import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { AnswerCall } from '../models/ask-vendor.ts';
import { untilAborted } from '../models/call-bounds.ts';
import { detailOf } from '../models/detail.ts';
import type { VendorTool } from '../models/vendors.ts';
import { argumentsOf } from './conversation.ts';

/**
 * Something that the model may do. The same call on the same files has the same result, to the letter (or one that is
 * stored): a killed loop resumes by doing its calls again, and finds the answers that were paid for by what it then asks.
 */
export interface Tool<Schema extends z.ZodType = z.ZodType> {
  name: string;
  description: string;
  schema: Schema;
  /** It changes files, so it is never left half done. */
  changes: boolean;
  /** What it was asked to work on, for the log. */
  about(input: z.output<Schema>): string;
  /** `note`: what came of it, for the log. */
  run(input: z.output<Schema>, signal: AbortSignal): Promise<{ text: string; note?: string }>;
}

/** Why a tool can't do what it was asked to. It is told to the model, and leaves no tool set. */
export class NotDone extends Error {}

/** What the model gets back, and what the log says. */
export interface ToolResult {
  ok: boolean;
  text: string;
  line: string;
}

export function failed(line: string, why: string): ToolResult {
  return { ok: false, text: `Not done: ${why}.`, line: `${line}: ${why}` };
}

/** What a model may do in one conversation. */
export interface ToolSet {
  /** As the vendors' packages want them; part of a step's inputs. */
  definitions: VendorTool[];
  /** What is wrong with a call is a result like any other; only a bound or a broken disk is thrown. */
  run(call: Pick<AnswerCall, 'toolName' | 'input'>, signal: AbortSignal): Promise<ToolResult>;
}

/** `directory`: where the tools work, for the error that says that it can't be used. */
export function createToolSet(tools: readonly Tool[], directory: string): ToolSet {
  return {
    definitions: tools.map(({ name, description, schema }) => {
      const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' });
      return { type: 'function', name, description, inputSchema: inputSchema as VendorTool['inputSchema'] };
    }),
    async run(call, signal) {
      signal.throwIfAborted();
      const tool = tools.find(({ name }) => name === call.toolName);
      if (tool === undefined) {
        const known = tools.map(({ name }) => name).join(', ');
        return failed(detailOf(call.toolName), `there is no such tool; there are ${known}`);
      }
      const args = argumentsOf(call.input);
      if (args === null) return failed(tool.name, 'the arguments are not a JSON object');
      // Models say null for what they leave out.
      const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
      const parsed = tool.schema.safeParse(given);
      if (!parsed.success) return failed(tool.name, detailOf(z.prettifyError(parsed.error)));
      const line = `${tool.name} ${tool.about(parsed.data)}`;
      try {
        const running = tool.run(parsed.data, signal);
        const { text, note } = await (tool.changes ? running : untilAborted(signal, running));
        return { ok: true, text, line: note === undefined ? line : `${line} ${note}` };
      } catch (error) {
        if (error instanceof NotDone) return failed(line, error.message);
        const reason = systemCode(error);
        if (reason === null) throw error;
        throw new AgentosError({ code: 'worktree-unusable', path: directory, reason }, { cause: error });
      }
    },
  };
}
