import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';
import { untilAborted } from '../models/call-bounds.ts';
import { detailOf } from '../models/detail.ts';
import { fieldsOf } from '../models/json-fields.ts';

/** What the model gets back, and what the log says. Never thrown: a tool that can't do what was asked says why. */
export interface ToolResult {
  ok: boolean;
  text: string;
  line: string;
}

/**
 * Something that the model may do. The same call on the same files has the same result, to the letter: a killed loop
 * resumes by doing its calls again, and finds the answers that were paid for by what it then asks.
 */
export interface Tool<Schema extends z.ZodType = z.ZodType> {
  name: string;
  description: string;
  schema: Schema;
  /** It changes files, so it is never left half done. */
  changes: boolean;
  run(input: z.output<Schema>, signal: AbortSignal): Promise<ToolResult>;
}

export function failed(line: string, why: string): ToolResult {
  return { ok: false, text: `Not done: ${why}.`, line: `${line}: ${why}` };
}

/** A call as the model wrote it. */
export interface ToolCall {
  toolName: string;
  /** JSON, or what the model takes for JSON. */
  input: string;
}

/** What a model may do in one conversation. */
export interface ToolSet {
  /** As the vendors' packages want them; part of a step's inputs. */
  definitions: { type: 'function'; name: string; description: string; inputSchema: Record<string, unknown> }[];
  /** What is wrong with a call is a result like any other; only a bound or a broken disk is thrown. */
  run(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
}

/** `directory`: where the tools work, for the error that says that it can't be used. */
export function createToolSet(tools: readonly Tool[], directory: string): ToolSet {
  return {
    definitions: tools.map(({ name, description, schema }) => {
      const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' });
      return { type: 'function', name, description, inputSchema };
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
      const parsed = tool.schema.safeParse(args);
      if (!parsed.success) return failed(tool.name, detailOf(z.prettifyError(parsed.error)));
      try {
        const running = tool.run(parsed.data, signal);
        return await (tool.changes ? running : untilAborted(signal, running));
      } catch (error) {
        const reason = systemCode(error);
        if (reason === null) throw error;
        throw new AgentosError({ code: 'worktree-unusable', path: directory, reason }, { cause: error });
      }
    },
  };
}

/** Models say null for what they leave out. */
function argumentsOf(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = json.trim() === '' ? {} : JSON.parse(json);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.fromEntries(Object.entries(fieldsOf(value)).filter(([, member]) => member !== null));
  } catch {
    return null;
  }
}
