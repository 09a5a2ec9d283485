import { parseJson } from '../../core/json.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../models/json-fields.ts';
import { createPieces, linesOf, shortLine, toolLine } from './agent.ts';

const MOST_LINES = 40;

/**
 * A transcript for people: what the agent said, `>` what it read, wrote and ran, `<` what came back. The events of all agents are
 * known by their types, which differ; others are skipped.
 */
export function transcriptLines(events: readonly Fields[]): string[] {
  const { add, rest } = createPieces();
  const acpCalls = new Map<unknown, Fields>();
  const lines = events.flatMap((event) => {
    const piece = pieceOf(event);
    if (piece !== null) return add(piece);
    const update = acpUpdate(event);
    return [...rest(), ...(update === null ? linesOfEvent(event) : acpCall(update, acpCalls))];
  });
  return [...lines, ...rest()];
}

/** Text of Gemini CLI and of ACP agents comes in pieces. */
function pieceOf(event: Fields): string | null {
  if (event['type'] === 'message' && event['role'] === 'assistant') return said(event['content']);
  const update = acpUpdate(event);
  return update?.['sessionUpdate'] === 'agent_message_chunk' ? said(fieldsOf(update['content'])['text']) : null;
}

function acpUpdate(event: Fields): Fields | null {
  const params = fieldsOf(event['params']);
  return event['method'] === 'session/update' ? fieldsOf(params['update']) : null;
}

/** What is known of a call comes bit by bit; it is told when it has ended. */
function acpCall(update: Fields, calls: Map<unknown, Fields>): string[] {
  if (!said(update['sessionUpdate']).startsWith('tool_call')) return [];
  const call = { ...calls.get(update['toolCallId']), ...update };
  calls.set(update['toolCallId'], call);
  const { status } = call;
  if (status !== 'completed' && status !== 'failed') return [];
  const path = listOf(call['locations']).map((place) => said(place['path']))[0];
  const back = listOf(call['content']).map((part) => said(fieldsOf(part['content'])['text']));
  return [
    ...tool(said(call['title']), { path, ...fieldsOf(call['rawInput']) }),
    ...result(back.join('\n'), status === 'failed'),
  ];
}

function linesOfEvent(event: Fields): string[] {
  switch (event['type']) {
    case 'agentos-start':
      return [`== ${said(event['step'])} by ${said(event['agent'])}, ${said(event['at'])}`];
    case 'agentos-line':
      return linesOf(said(event['text']));
    case 'agentos-answer':
      return [...linesOf(said(event['text'])), ...listOf(event['calls']).flatMap(calledTool)];
    case 'agentos-result':
      return result(said(event['text']), event['ok'] !== true);
    case 'agentos-end': {
      const { exitCode, signal } = event;
      return [`== ended with ${typeof exitCode === 'number' ? `exit code ${exitCode}` : said(signal)}`];
    }
    // Claude Code
    case 'assistant':
    case 'user':
      return listOf(fieldsOf(event['message'])['content']).flatMap(claudeBlock);
    // Codex
    case 'item.completed':
      return codexItem(fieldsOf(event['item']));
    case 'turn.failed':
      return [`! ${shortLine(said(fieldsOf(event['error'])['message']))}`];
    // opencode, and Gemini CLI
    case 'text':
      return linesOf(said(fieldsOf(event['part'])['text']));
    case 'tool_use':
      return 'part' in event
        ? opencodeTool(fieldsOf(event['part']))
        : tool(said(event['tool_name']), fieldsOf(event['parameters']));
    case 'tool_result': {
      const isError = event['status'] === 'error';
      return result(textOf(event['output']) ?? said(fieldsOf(event['error'])['message']), isError);
    }
    case 'error': {
      const { message } = fieldsOf(fieldsOf(event['error'])['data']);
      return [`! ${shortLine(textOf(event['message']) ?? said(message))}`];
    }
    default:
      return [];
  }
}

function opencodeTool(part: Fields): string[] {
  const state = fieldsOf(part['state']);
  const isError = state['status'] === 'error';
  return [
    ...tool(said(part['tool']), fieldsOf(state['input'])),
    ...result(said(isError ? state['error'] : state['output']), isError),
  ];
}

function claudeBlock(block: Fields): string[] {
  switch (block['type']) {
    case 'text':
      return linesOf(said(block['text']));
    case 'tool_use':
      return tool(said(block['name']), fieldsOf(block['input']));
    case 'tool_result': {
      const { content } = block;
      const text =
        textOf(content) ??
        listOf(content)
          .map((part) => said(part['text']))
          .join('\n');
      return result(text, block['is_error'] === true);
    }
    default:
      return [];
  }
}

function codexItem(item: Fields): string[] {
  switch (item['type']) {
    case 'agent_message':
      return linesOf(said(item['text']));
    case 'command_execution':
      return [...tool('exec', item), ...result(said(item['aggregated_output']), item['exit_code'] !== 0)];
    case 'file_change':
      return listOf(item['changes']).map((change) => `> ${said(change['kind'])} ${said(change['path'])}`);
    case 'mcp_tool_call':
      return [`> ${said(item['server'])} ${said(item['tool'])}`];
    case 'error':
      return [`! ${shortLine(said(item['message']))}`];
    default:
      return [];
  }
}

function calledTool(call: Fields): string[] {
  return tool(said(call['name']), fieldsOf(parseJson(said(call['input']))));
}

/** What is written stands below the line that names the file. */
const WRITTEN = ['content', 'old_string', 'new_string', 'search', 'replace'];

function tool(name: string, input: Fields): string[] {
  const written = WRITTEN.flatMap((field) => block('|', textOf(input[field]) ?? ''));
  return [`> ${toolLine(name, input)}`, ...written];
}

function result(text: string, isError: boolean): string[] {
  return block(isError ? '< !' : '<', text);
}

function block(mark: string, text: string): string[] {
  const lines = linesOf(text);
  const more = lines.length > MOST_LINES ? [`… ${lines.length - MOST_LINES} more lines`] : [];
  return [...lines.slice(0, MOST_LINES), ...more].map((line) => `  ${mark} ${line}`);
}

function said(value: unknown): string {
  return textOf(value) ?? '';
}
