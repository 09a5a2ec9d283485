import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';
import { untilAborted } from '../models/call-bounds.ts';
import { detailOf } from '../models/detail.ts';
import { fieldsOf } from '../models/json-fields.ts';
import type { AnswerCall } from './answer.ts';
import { failed, type Tool, type ToolContext, type ToolResult } from './tool.ts';
import { edit } from './tools/edit.ts';
import { list } from './tools/list.ts';
import { read } from './tools/read.ts';
import { remove } from './tools/remove.ts';
import { search } from './tools/search.ts';
import { write } from './tools/write.ts';

const TOOLS: readonly Tool[] = [list, read, search, write, edit, remove];

/** The tools as the vendors' packages want them. */
export const TOOL_DEFINITIONS = TOOLS.map(({ name, description, schema }) => {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' });
  return { type: 'function' as const, name, description, inputSchema };
});

/** One call of the model's. What is wrong with it is a result like any other; only a bound or a broken disk is thrown. */
export async function runTool(call: AnswerCall, context: ToolContext): Promise<ToolResult> {
  const { worktree, signal } = context;
  signal.throwIfAborted();
  const tool = TOOLS.find(({ name }) => name === call.toolName);
  if (tool === undefined) {
    const known = TOOLS.map(({ name }) => name).join(', ');
    return failed(detailOf(call.toolName), `there is no such tool; there are ${known}`);
  }
  const args = argumentsOf(call.input);
  if (args === null) return failed(tool.name, 'the arguments are not a JSON object');
  const parsed = tool.schema.safeParse(args);
  if (!parsed.success) return failed(tool.name, detailOf(z.prettifyError(parsed.error)));
  try {
    const running = tool.run(parsed.data, context);
    return await (tool.changes ? running : untilAborted(signal, running));
  } catch (error) {
    const reason = systemCode(error);
    if (reason === null) throw error;
    throw new AgentosError({ code: 'worktree-unusable', path: worktree.given, reason }, { cause: error });
  }
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
