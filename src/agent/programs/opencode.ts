import { fieldsOf } from '../../core/json.ts';
import type { VendorName } from '../../core/keys.ts';
import { promptText } from '../../models/port.ts';
import { type Agent, type AgentTask, type EventReader, eventReader, failedFor, stringIn, toolCalled } from './agent.ts';

/** The end of each vendor's address in opencode's settings. */
const VERSIONS: Partial<Record<VendorName, string>> = {
  anthropic: '/v1',
  openai: '/v1',
  google: '/v1beta',
};

/** Every permission is decided: no person is there to answer a question. */
const PERMISSIONS = {
  write: { edit: 'allow', bash: 'allow', webfetch: 'deny', websearch: 'deny', external_directory: 'deny' },
  read: { edit: 'deny', bash: 'deny', webfetch: 'deny', websearch: 'deny', external_directory: 'deny' },
};

export const opencode: Agent = {
  folder: '.config/opencode',
  permanentExits: new Set(),
  async prepare(task) {
    const { system, conventions, task: text, spec } = task;
    const own = task.endpoint === null && spec.model !== null ? ['--model', `${spec.vendor}/${spec.model}`] : [];
    return {
      // Without a title it asks a small model for one.
      args: ['run', '--format', 'json', '--title', 'agentos', ...own],
      env: {
        // These settings take precedence; files of the repository are not read at all.
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

function settings({ spec: { vendor, model }, may, endpoint, token }: AgentTask): object {
  const common = { autoupdate: false, share: 'disabled', permission: PERMISSIONS[may] };
  if (endpoint === null || vendor === null) return common;
  const options = { baseURL: `${endpoint}${VERSIONS[vendor] ?? ''}`, apiKey: token };
  const chosen = model === null ? {} : { model: `${vendor}/${model}`, small_model: `${vendor}/${model}` };
  // Its own list of models may be older than this one.
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
  return eventReader({
    step_start(_, reader) {
      reader.lastWords = '';
    },
    text({ part }, reader) {
      const text = stringIn(fieldsOf(part)['text']);
      reader.lastWords += text;
      return [{ type: 'text', text }];
    },
    tool_use(event) {
      const { tool, state } = fieldsOf(event['part']);
      const { status, input, error, output } = fieldsOf(state);
      const failed = status === 'error';
      return [toolCalled(tool, input), { type: 'result', text: stringIn(failed ? error : output), failed }];
    },
    step_finish({ part }, reader) {
      const { reason } = fieldsOf(part);
      if (reason === 'tool-calls') return;
      reader.verdict = reason === 'stop' ? { is: 'done' } : failedFor(`it stopped: ${stringIn(reason)}`);
    },
    error({ error }, reader) {
      reader.verdict = failedFor(fieldsOf(fieldsOf(error)['data'])['message']);
    },
  });
}
