import { join } from 'node:path';
import { type Fields, fieldsOf, listOf, textOf } from '../../models/json-fields.ts';
import { promptText } from '../../models/port.ts';
import {
  AGENT_RETRIES,
  type Agent,
  type AgentVerdict,
  type EventReader,
  linesOf,
  shortLine,
  toolLine,
} from './agent.ts';

/**
 * Edits inside the working directory are accepted by the mode; commands run because they are allowed by name. Skipping all
 * permissions would do both, but is refused to root and lets the file tools out of the worktree.
 */
const PERMISSIONS = {
  write: ['--permission-mode', 'acceptEdits', '--allowedTools', 'Bash,Edit,Write,NotebookEdit,Read'],
  // Not its plan mode: that ends with a plan to approve, and a document is asked for.
  read: ['--tools', 'Read,Grep,Glob'],
};

export const claudeCode: Agent = {
  name: 'claude-code',
  program: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  folder: '.claude',
  permanentExits: new Set(),
  prepare: async ({ may, model, system, conventions, task, home, endpoint, token, ceilingMs }) => {
    const known = promptText([{ text: system }, { text: conventions }]);
    return {
      args: [
        '-p',
        '--output-format',
        'stream-json',
        '--verbose',
        ...PERMISSIONS[may],
        '--strict-mcp-config',
        // Not the repository's: they name addresses, commands that give keys, hooks and plugins.
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
              // A token beside the key would win over it.
              ANTHROPIC_AUTH_TOKEN: '',
              CLAUDE_CONFIG_DIR: join(home, '.claude'),
            }),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        // Nothing would look at what still runs after the answer.
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
        CLAUDE_CODE_DISABLE_CRON: '1',
        CLAUDE_CODE_MAX_RETRIES: String(AGENT_RETRIES),
        // The gateway bounds each call, waits for quota included.
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
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read(event) {
      switch (event['type']) {
        case 'assistant':
          reader.lastWords = contentOf(event)
            .map((block) => textOf(block['text']) ?? '')
            .join('');
          return contentOf(event).flatMap(said);
        case 'user':
          return contentOf(event).flatMap(failedTool);
        case 'system':
          return event['subtype'] === 'api_retry' ? [`asks again: ${textOf(event['error']) ?? 'a fault'}`] : [];
        case 'result':
          reader.lastWords = textOf(event['result']) ?? '';
          reader.verdict =
            event['subtype'] === 'success' && event['is_error'] !== true ? { is: 'done' } : failure(event);
          return [];
        default:
          return [];
      }
    },
  };
  return reader;
}

function contentOf(event: Fields): Fields[] {
  return listOf(fieldsOf(event['message'])['content']);
}

function said(block: Fields): string[] {
  if (block['type'] === 'text') return linesOf(textOf(block['text']) ?? '');
  if (block['type'] !== 'tool_use') return [];
  return [toolLine(textOf(block['name']) ?? 'a tool', fieldsOf(block['input']))];
}

function failedTool(block: Fields): string[] {
  if (block['type'] !== 'tool_result' || block['is_error'] !== true) return [];
  const content = block['content'];
  const text =
    textOf(content) ??
    listOf(content)
      .map((part) => textOf(part['text']) ?? '')
      .join(' ');
  return [shortLine(`failed: ${text}`)];
}

function failure(event: Fields): AgentVerdict {
  const errors = Array.isArray(event['errors']) ? event['errors'].filter((error) => typeof error === 'string') : [];
  const why = textOf(event['result']) ?? (errors.join('; ') || textOf(event['subtype']));
  return { is: 'failed', why: why ?? 'it ended with an error' };
}
