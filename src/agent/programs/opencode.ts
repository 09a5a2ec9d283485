import { fieldsOf, textOf } from '../../models/json-fields.ts';
import { promptText } from '../../models/port.ts';
import { type Agent, type AgentTask, type EventReader, linesOf, shortLine, toolLine } from './agent.ts';

/** How each vendor's address is written in opencode's settings. */
const VERSIONS: Partial<Record<NonNullable<AgentTask['vendor']>, string>> = {
  anthropic: '/v1',
  openai: '/v1',
  google: '/v1beta',
};

/** Nothing is left to ask: no person is there to answer. */
const PERMISSIONS = {
  write: { edit: 'allow', bash: 'allow', webfetch: 'deny', websearch: 'deny', external_directory: 'deny' },
  read: { edit: 'deny', bash: 'deny', webfetch: 'deny', websearch: 'deny', external_directory: 'deny' },
};

export const opencode: Agent = {
  name: 'opencode',
  program: 'opencode',
  install: 'npm install -g opencode-ai',
  folder: '.config/opencode',
  permanentExits: new Set(),
  async prepare(task) {
    const { system, conventions, task: text, model } = task;
    const own = task.endpoint === null && model !== null ? ['--model', `${task.vendor}/${model}`] : [];
    return {
      // Without a title it asks a small model for one.
      args: ['run', '--format', 'json', '--title', 'agentos', ...own],
      env: {
        // These win over the files of a repository, which are not read at all.
        OPENCODE_CONFIG_CONTENT: JSON.stringify(settings(task)),
        OPENCODE_DISABLE_PROJECT_CONFIG: '1',
        OPENCODE_PURE: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_SHARE: '1',
      },
      input: promptText([{ text: system }, { text: conventions }, { text }]),
    };
  },
  createReader: createOpencodeReader,
};

function settings({ may, vendor, model, endpoint, token }: AgentTask): object {
  const common = { autoupdate: false, share: 'disabled', permission: PERMISSIONS[may] };
  if (endpoint === null || vendor === null) return common;
  const options = { baseURL: `${endpoint}${VERSIONS[vendor] ?? ''}`, apiKey: token };
  const chosen = model === null ? {} : { model: `${vendor}/${model}`, small_model: `${vendor}/${model}` };
  // Its list of models is as old as its version.
  const models = model === null ? {} : { models: { [model]: {} } };
  return { ...common, ...chosen, enabled_providers: [vendor], provider: { [vendor]: { options, ...models } } };
}

/*
 * {"type":"text","part":{"type":"text","text":"…"}}
 * {"type":"tool_use","part":{"tool":"write","state":{"status":"completed","input":{"filePath":"…"},"output":"…"}}}
 * {"type":"step_finish","part":{"reason":"tool-calls"}}   and last   {"type":"step_finish","part":{"reason":"stop"}}
 * {"type":"error","error":{"name":"…","data":{"message":"…"}}}
 */
export function createOpencodeReader(): EventReader {
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read(event) {
      const part = fieldsOf(event['part']);
      switch (event['type']) {
        case 'step_start':
          reader.lastWords = '';
          return [];
        case 'text': {
          const text = textOf(part['text']) ?? '';
          reader.lastWords += text;
          return linesOf(text);
        }
        case 'tool_use': {
          const state = fieldsOf(part['state']);
          const line = toolLine(textOf(part['tool']) ?? 'a tool', fieldsOf(state['input']));
          return state['status'] === 'error' ? [line, shortLine(`failed: ${textOf(state['error']) ?? ''}`)] : [line];
        }
        case 'step_finish':
          if (part['reason'] === 'tool-calls') return [];
          reader.verdict =
            part['reason'] === 'stop'
              ? { is: 'done' }
              : { is: 'failed', why: `it stopped: ${textOf(part['reason']) ?? 'no reason given'}` };
          return [];
        case 'error': {
          const { message } = fieldsOf(fieldsOf(event['error'])['data']);
          reader.verdict = { is: 'failed', why: textOf(message) ?? 'it ended with an error' };
          return [];
        }
        default:
          return [];
      }
    },
  };
  return reader;
}
