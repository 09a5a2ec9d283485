import { z } from 'zod';
import { untilAborted } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { detailOf } from '../core/reason.ts';
import type { AnswerCall } from '../models/ask-vendor.ts';
import type { VendorTool } from '../models/vendors.ts';

/**
 * A tool of a model. The same call on the same files has exactly the same result: a loop that was killed repeats its calls, and
 * finds the stored answers by the prompts that follow from them.
 */
export interface Tool<Schema extends z.ZodType = z.ZodType> {
  name: string;
  description: string;
  schema: Schema;
  /** It changes files, and is not aborted half way. */
  changes: boolean;
  /** What it works on, for the log. */
  about(input: z.output<Schema>): string;
  /** `note`: for the log. */
  run(input: z.output<Schema>, signal: AbortSignal): Promise<{ text: string; note?: string }>;
}

/** Why a tool can't do something: a result for the model. */
export class NotDone extends Error {}

export interface ToolResult {
  ok: boolean;
  text: string;
  line: string;
}

export function failed(line: string, why: string): ToolResult {
  return { ok: false, text: `Not done: ${why}.`, line: `${line}: ${why}` };
}

export interface ToolSet {
  /** For the vendors' packages; part of a step's inputs. */
  definitions: VendorTool[];
  /** A wrong call is a result for the model; only a timeout or a disk error is thrown. */
  run(call: Pick<AnswerCall, 'toolName' | 'input'>, signal: AbortSignal): Promise<ToolResult>;
}

/** `directory`: for the error of a folder that can't be used. */
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
      // Models write null for an optional argument.
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

/** Null if the input is not a JSON object. */
export function argumentsOf(input: string): Record<string, unknown> | null {
  const value = parseJson(input.trim() === '' ? '{}' : input);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}
