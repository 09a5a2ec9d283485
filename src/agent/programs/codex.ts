import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { type Fields, fieldsOf, listOf } from '../../core/json.ts';
import { CACHE_FOLDERS } from '../../core/paths.ts';
import { promptText } from '../../models/port.ts';
import { writeFileAtomic } from '../../process/files.ts';
import {
  AGENT_RETRIES,
  type Agent,
  type AgentAction,
  type AgentTask,
  type EventReader,
  eventReader,
  failedFor,
  stringIn,
  toolCalled,
} from './agent.ts';

/** Codex reads the key from this variable; commands that it runs don't get it. */
const TOKEN_VARIABLE = 'AGENTOS_TOKEN';

/** The task is on stdin; the session is not stored. */
const ARGUMENTS = ['exec', '--json', '--ephemeral', '--skip-git-repo-check', '--color', 'never'];

export const codex: Agent = {
  folder: '.codex',
  permanentExits: new Set([2]),
  async prepare(task) {
    const { home, endpoint } = task;
    const codexHome = join(home, '.codex');
    if (endpoint !== null) await writeFileAtomic(join(codexHome, 'config.toml'), settings(task, endpoint));
    const env = endpoint === null ? {} : { CODEX_HOME: codexHome, [TOKEN_VARIABLE]: task.token };
    // With the person's own settings it could stop at a question.
    const own = endpoint === null ? ['-c', 'approval_policy="never"'] : [];
    // Otherwise it trusts settings, MCP servers and hooks of the folder in which it starts.
    const untrusted = ['-c', `projects={${quoted(task.worktree)}={trust_level="untrusted"}}`];
    const hasSandbox = (await task.tryOut(['sandbox', '--', 'true'], env)).exitCode === 0;
    const model = task.spec.model === null ? [] : ['-m', task.spec.model];
    const within = task.may === 'write' ? 'workspace-write' : 'read-only';
    const mode = hasSandbox ? within : 'danger-full-access';
    return {
      args: [...ARGUMENTS, ...own, ...untrusted, '--sandbox', mode, '-C', task.worktree, ...model, '-'],
      env,
      input: promptText([{ text: task.system }, { text: task.conventions }, { text: task.task }]),
      notes: hasSandbox ? [] : ['The kernel refuses the sandbox of Codex: its commands run without one.'],
    };
  },
  createReader: createCodexReader,
};

/** The sandbox lets commands write to the worktree; builds and tests need their caches too. */
const CACHES = [...Object.keys(CACHE_FOLDERS), 'CARGO_TARGET_DIR'];

function settings({ home, caches, env }: AgentTask, endpoint: string): string {
  const elsewhere = CACHES.map((name) => env[name] ?? '').filter((path) => isAbsolute(path) && existsSync(path));
  const writable = [...new Set([home, ...(caches === undefined ? [] : [caches]), ...elsewhere])];
  return [
    'model_provider = "agentos"',
    'approval_policy = "never"',
    'check_for_update_on_startup = false',
    '[model_providers.agentos]',
    'name = "agentos"',
    `base_url = ${quoted(`${endpoint}/v1`)}`,
    `env_key = ${quoted(TOKEN_VARIABLE)}`,
    'wire_api = "responses"',
    // The two multiply; a broken stream is the fault that matters.
    'request_max_retries = 0',
    `stream_max_retries = ${AGENT_RETRIES}`,
    '[sandbox_workspace_write]',
    // Tests listen on loopback.
    'network_access = true',
    `writable_roots = [${writable.map(quoted).join(', ')}]`,
    '[shell_environment_policy]',
    `exclude = [${quoted(TOKEN_VARIABLE)}]`,
    '[analytics]',
    'enabled = false',
    '',
  ].join('\n');
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/*
 * {"type":"item.started","item":{"type":"command_execution","command":"/bin/bash -lc 'npm test'",…}}
 * {"type":"item.completed","item":{"type":"file_change","changes":[{"path":"…","kind":"add"}],"status":"completed"}}
 * {"type":"item.completed","item":{"type":"agent_message","text":"…"}}
 * {"type":"error","message":"Reconnecting... 1/2 (…)"}
 * {"type":"turn.completed","usage":{…}}   or   {"type":"turn.failed","error":{"message":"…"}}
 */
export function createCodexReader(): EventReader {
  return eventReader({
    'item.started': ({ item }) =>
      fieldsOf(item)['type'] === 'command_execution' ? [toolCalled('exec', fieldsOf(item))] : [],
    'item.completed'(event, reader) {
      const item = fieldsOf(event['item']);
      if (item['type'] === 'agent_message') reader.lastWords = stringIn(item['text']);
      return completed(item);
    },
    error: ({ message }) => [{ type: 'fault', text: stringIn(message) }],
    'turn.completed'(_, reader) {
      reader.verdict = { is: 'done' };
    },
    'turn.failed'({ error }, reader) {
      reader.verdict = failedFor(fieldsOf(error)['message']);
    },
  });
}

function completed(item: Fields): AgentAction[] {
  switch (item['type']) {
    case 'agent_message':
      return [{ type: 'text', text: stringIn(item['text']) }];
    case 'command_execution': {
      const { aggregated_output: output, exit_code: exitCode } = item;
      return [{ type: 'result', text: stringIn(output), failed: exitCode !== 0, exitCode: Number(exitCode) }];
    }
    case 'file_change':
      return listOf(item['changes']).map((change) => toolCalled(change['kind'] ?? 'change', change));
    case 'mcp_tool_call':
      return [toolCalled(`${stringIn(item['server'])} ${stringIn(item['tool'])}`, {})];
    case 'error':
      return [{ type: 'fault', text: stringIn(item['message']) }];
    default:
      return [];
  }
}
