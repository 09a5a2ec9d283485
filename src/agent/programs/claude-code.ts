import { join } from 'node:path';
import { type Fields, fieldsOf, listOf, textOf } from '../../core/json.ts';
import { promptText } from '../../models/port.ts';
import {
  AGENT_RETRIES,
  type Agent,
  type AgentAction,
  type EventReader,
  eventReader,
  failedFor,
  stringIn,
  toolCalled,
} from './agent.ts';

/**
 * The mode accepts edits in the working directory; commands are allowed by name. Skipping all permissions would do both, but
 * does not work as root, and lets the file tools out of the worktree.
 */
const PERMISSIONS = {
  write: ['--permission-mode', 'acceptEdits', '--allowedTools', 'Bash,Edit,Write,NotebookEdit,Read'],
  // Not its plan mode, which ends with a plan to approve instead of the document.
  read: ['--tools', 'Read,Grep,Glob'],
};

export const claudeCode: Agent = {
  folder: '.claude',
  permanentExits: new Set(),
  prepare: async ({ spec: { model }, may, system, conventions, task, home, endpoint, token, ceilingMs }) => {
    const known = promptText([{ text: system }, { text: conventions }]);
    return {
      args: [
        '-p',
        '--output-format',
        'stream-json',
        '--verbose',
        ...PERMISSIONS[may],
        '--strict-mcp-config',
        // Not the repository's settings: they can set addresses, commands that print keys, hooks and plugins.
        '--setting-sources',
        'user',
        '--no-session-persistence',
        ...(model === null ? [] : ['--model', model]),
        ...(known === '' ? [] : ['--append-system-prompt', known]),
      ],
      env: {
        ...(endpoint === null
          ? {}
          : {
              ANTHROPIC_BASE_URL: endpoint,
              ANTHROPIC_API_KEY: token,
              // A token would take precedence over the key.
              ANTHROPIC_AUTH_TOKEN: '',
              CLAUDE_CONFIG_DIR: join(home, '.claude'),
            }),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        // They would run on after the answer.
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
        CLAUDE_CODE_DISABLE_CRON: '1',
        CLAUDE_CODE_MAX_RETRIES: String(AGENT_RETRIES),
        // The gateway limits each call, including waits for quota.
        API_TIMEOUT_MS: String(Math.min(ceilingMs, 2 ** 31 - 1)),
      },
      input: task,
    };
  },
  createReader: createClaudeReader,
};

/*
 * {"type":"assistant","message":{"content":[{"type":"text",…},{"type":"tool_use","name":"Write","input":{…}}]}}
 * {"type":"user","message":{"content":[{"type":"tool_result","content":"…","is_error":true}]}}
 * {"type":"system","subtype":"api_retry","error":"overloaded",…}
 * {"type":"result","subtype":"success","is_error":false,"result":"…"}
 */
export function createClaudeReader(): EventReader {
  return eventReader({
    assistant(event, reader) {
      const blocks = blocksIn(event);
      reader.lastWords = blocks.map((block) => stringIn(block['text'])).join('');
      return blocks.flatMap(actionsIn);
    },
    user: (event) => blocksIn(event).flatMap(actionsIn),
    system: ({ subtype, error }) =>
      subtype === 'api_retry' ? [{ type: 'fault', text: `asks again: ${textOf(error) ?? 'a fault'}` }] : [],
    result({ subtype, is_error: isError, result, errors }, reader) {
      reader.lastWords = stringIn(result);
      const said = Array.isArray(errors) ? errors.filter((error) => typeof error === 'string') : [];
      const isDone = subtype === 'success' && isError !== true;
      reader.verdict = isDone ? { is: 'done' } : failedFor(textOf(result) ?? (said.join('; ') || subtype));
    },
  });
}

function blocksIn(event: Fields): Fields[] {
  return listOf(fieldsOf(event['message'])['content']);
}

function actionsIn({ type, text, name, input, content, is_error: isError }: Fields): AgentAction[] {
  switch (type) {
    case 'text':
      return [{ type, text: stringIn(text) }];
    case 'tool_use':
      return [toolCalled(name, input)];
    case 'tool_result': {
      const parts = listOf(content).map((part) => stringIn(part['text']));
      return [{ type: 'result', text: textOf(content) ?? parts.join('\n'), failed: isError === true }];
    }
    default:
      return [];
  }
}
