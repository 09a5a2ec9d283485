import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fieldsOf, textOf } from '../../core/json.ts';
import { promptText } from '../../models/port.ts';
import { writeFileAtomic } from '../../process/files.ts';
import {
  AGENT_RETRIES,
  type Agent,
  CONVENTIONS,
  type EventReader,
  eventReader,
  failedFor,
  stringIn,
  toolCalled,
} from './agent.ts';

const ARGUMENTS = ['--output-format', 'stream-json'];
/** Without a terminal, the default mode refuses every tool that needs approval: those that write files or run commands. */
const READS = ['--approval-mode', 'default'];
const WRITES = ['--approval-mode', 'yolo'];
/** In an untrusted folder that mode is refused; a rule that allows every tool does the same. */
const ALLOW_ALL = `[[rule]]
toolName = "*"
decision = "allow"
priority = 999
allowRedirection = true
`;

const SETTINGS = {
  // Trust is set for each call; with this on, an untrusted folder would be refused.
  security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  // Files of the repository and of every parent folder.
  advanced: { ignoreLocalEnv: true },
  context: { fileName: CONVENTIONS },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    maxAttempts: AGENT_RETRIES + 1,
    sessionRetention: { enabled: false },
  },
};

/**
 * Settings that it would read from the worktree, or an environment file of a parent folder; null: none exist. Only an
 * untrusted folder keeps it from them; then it runs no git commands either.
 */
function ownSettings(worktree: string, around: boolean): string | null {
  if (existsSync(join(worktree, '.gemini'))) return '.gemini';
  // With its own login, parent folders belong to the person.
  if (!around) return null;
  for (let folder = worktree; dirname(folder) !== folder; folder = dirname(folder)) {
    const file = join(dirname(folder), '.gemini', '.env');
    if (existsSync(file)) return file;
  }
  return null;
}

/** Not logged in, invalid input, no sandbox, invalid settings. */
const PERMANENT_EXITS = new Set([41, 42, 44, 52]);

export const geminiCli: Agent = {
  folder: '.gemini',
  permanentExits: PERMANENT_EXITS,
  async prepare({ spec: { model }, may, system, conventions, task, worktree, home, endpoint, token }) {
    const folder = join(home, '.gemini');
    if (endpoint !== null)
      await writeFileAtomic(join(folder, 'settings.json'), `${JSON.stringify(SETTINGS, null, 2)}\n`);
    const policy = join(folder, 'allow.toml');
    await writeFileAtomic(policy, ALLOW_ALL);
    const settings = ownSettings(worktree, endpoint !== null);
    const readsGuides = settings === null && endpoint !== null;
    const mode = may === 'read' ? READS : settings === null ? WRITES : [...READS, '--policy', policy];
    return {
      args: [...ARGUMENTS, ...mode, ...(model === null ? [] : ['--model', model])],
      env: {
        ...(endpoint === null
          ? {}
          : {
              GOOGLE_GEMINI_BASE_URL: endpoint,
              GEMINI_API_KEY: token,
              // It would take precedence over the other one.
              GOOGLE_API_KEY: '',
            }),
        GEMINI_CLI_TRUST_WORKSPACE: String(settings === null),
      },
      input: promptText([{ text: system }, { text: readsGuides ? '' : conventions }, { text: task }]),
      notes: settings === null ? [] : [`Gemini CLI does not use ${settings}; it runs no git commands here.`],
    };
  },
  createReader: createGeminiReader,
};

/*
 * {"type":"message","role":"assistant","content":"a piece of text","delta":true}
 * {"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"…",…}}
 * {"type":"tool_result","tool_id":"…","status":"error","error":{"message":"…"}}
 * {"type":"error","severity":"warning","message":"…"}
 * {"type":"result","status":"success",…}   or   {"type":"result","status":"error","error":{"message":"…"}}
 */
export function createGeminiReader(): EventReader {
  return eventReader({
    message({ role, content, delta }, reader) {
      if (role !== 'assistant') return [];
      const text = stringIn(content);
      reader.lastWords += text;
      return [{ type: delta === true ? 'piece' : 'text', text }];
    },
    tool_use({ tool_name: name, parameters }, reader) {
      reader.lastWords = '';
      return [toolCalled(name, parameters)];
    },
    tool_result: ({ error, output, status }) => {
      const text = textOf(fieldsOf(error)['message']) ?? stringIn(output);
      return [{ type: 'result', text, failed: status === 'error' }];
    },
    error: ({ message }) => [{ type: 'fault', text: stringIn(message) }],
    result({ status, error }, reader) {
      reader.verdict = status === 'success' ? { is: 'done' } : failedFor(fieldsOf(error)['message']);
    },
  });
}
