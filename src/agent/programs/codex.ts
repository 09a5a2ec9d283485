import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CACHE_FOLDERS } from '../../core/paths.ts';
import { reasonIn } from '../../core/reason.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../models/json-fields.ts';
import { promptText } from '../../models/port.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { AGENT_RETRIES, type Agent, type AgentTask, type EventReader, linesOf, shortLine } from './agent.ts';

/** The provider's key is looked up here. Commands that Codex runs don't get it. */
const TOKEN_VARIABLE = 'AGENTOS_TOKEN';

/** The task is on stdin; nothing of the session is kept. */
const ARGUMENTS = ['exec', '--json', '--ephemeral', '--skip-git-repo-check', '--color', 'never'];

export const codex: Agent = {
  name: 'codex',
  program: 'codex',
  install: 'npm install -g @openai/codex',
  folder: '.codex',
  permanentExits: new Set([2]),
  async prepare(task) {
    const { home, endpoint } = task;
    const codexHome = join(home, '.codex');
    if (endpoint !== null) await writeFileAtomic(join(codexHome, 'config.toml'), settings(task, endpoint));
    const env = endpoint === null ? {} : { CODEX_HOME: codexHome, [TOKEN_VARIABLE]: task.token };
    // Its own settings are the person's; these would stop at a question.
    const own = endpoint === null ? ['-c', 'approval_policy="never"'] : [];
    // Otherwise it trusts the folder that it is started in: its settings, MCP servers and hooks.
    const untrusted = ['-c', `projects={${quoted(task.worktree)}={trust_level="untrusted"}}`];
    const hasSandbox = (await task.tryOut(['sandbox', '--', 'true'], env)).exitCode === 0;
    const model = task.model === null ? [] : ['-m', task.model];
    const within = task.may === 'write' ? 'workspace-write' : 'read-only';
    const mode = hasSandbox ? within : 'danger-full-access';
    return {
      args: [...ARGUMENTS, ...own, ...untrusted, '--sandbox', mode, '-C', task.worktree, ...model, '-'],
      env,
      input: promptText([{ text: task.system }, { text: task.conventions }, { text: task.task }]),
      notes: hasSandbox ? [] : ['Codex has no sandbox here (the kernel refuses it): its commands run without one.'],
    };
  },
  createReader: createCodexReader,
};

/** The sandbox lets commands write to the worktree; builds and tests need their caches too, wherever these are. */
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
    // The two multiply; a stream that broke off is the fault that matters.
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
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read(event) {
      const item = fieldsOf(event['item']);
      switch (event['type']) {
        case 'item.started':
          return item['type'] === 'command_execution' ? [shortLine(`exec ${textOf(item['command']) ?? ''}`)] : [];
        case 'item.completed':
          if (item['type'] === 'agent_message') reader.lastWords = textOf(item['text']) ?? '';
          return completed(item);
        case 'error':
          return [shortLine(textOf(event['message']) ?? 'a fault')];
        case 'turn.completed':
          reader.verdict = { is: 'done' };
          return [];
        case 'turn.failed':
          reader.verdict = { is: 'failed', why: textOf(fieldsOf(event['error'])['message']) ?? 'the turn failed' };
          return [];
        default:
          return [];
      }
    },
  };
  return reader;
}

function completed(item: Fields): string[] {
  switch (item['type']) {
    case 'agent_message':
      return linesOf(textOf(item['text']) ?? '');
    case 'command_execution':
      return item['exit_code'] === 0
        ? []
        : [shortLine(`failed (${String(item['exit_code'])}): ${reasonIn(textOf(item['aggregated_output']) ?? '')}`)];
    case 'file_change':
      return listOf(item['changes']).map((change) =>
        shortLine(`${textOf(change['kind']) ?? 'change'} ${textOf(change['path']) ?? ''}`),
      );
    case 'error':
      return [shortLine(textOf(item['message']) ?? 'a fault')];
    default:
      return [];
  }
}
