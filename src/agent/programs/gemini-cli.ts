import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fieldsOf, textOf } from '../../models/json-fields.ts';
import { promptText } from '../../models/port.ts';
import { writeFileAtomic } from '../../process/files.ts';
import {
  AGENT_RETRIES,
  type Agent,
  CONVENTIONS,
  createPieces,
  type EventReader,
  shortLine,
  toolLine,
} from './agent.ts';

const ARGUMENTS = ['--output-format', 'stream-json'];
/** Headless, the default mode refuses every tool that needs a person's yes: those that write files or run commands. */
const READS = ['--approval-mode', 'default'];
const WRITES = ['--approval-mode', 'yolo'];
/** That mode is refused in a folder that is not trusted. A rule that allows every tool does the same. */
const ALLOW_ALL = `[[rule]]
toolName = "*"
decision = "allow"
priority = 999
allowRedirection = true
`;

const SETTINGS = {
  // Who is trusted is said for each call; with this on, a folder that is not would be refused.
  security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  // Of the repository and of every folder around it.
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
 * The settings that it would take from the worktree, or an environment from a folder around it; null: there are none. It can be
 * kept from them only as a whole, by not trusting the folder; then it runs no git commands either.
 */
function ownSettings(worktree: string, around: boolean): string | null {
  if (existsSync(join(worktree, '.gemini'))) return '.gemini';
  // With a login of its own, what is around is the person's.
  if (!around) return null;
  for (let folder = worktree; dirname(folder) !== folder; folder = dirname(folder)) {
    const file = join(dirname(folder), '.gemini', '.env');
    if (existsSync(file)) return file;
  }
  return null;
}

/** Its own: not logged in, unusable input, no sandbox, unusable settings. */
const PERMANENT_EXITS = new Set([41, 42, 44, 52]);

export const geminiCli: Agent = {
  name: 'gemini-cli',
  program: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  folder: '.gemini',
  permanentExits: PERMANENT_EXITS,
  async prepare({ may, model, system, conventions, task, worktree, home, endpoint, token }) {
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
              // It would win over the other one.
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
  const { add, rest } = createPieces();
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read(event) {
      switch (event['type']) {
        case 'message': {
          if (event['role'] !== 'assistant') return [];
          const text = textOf(event['content']) ?? '';
          reader.lastWords += text;
          return [...add(text), ...(event['delta'] === true ? [] : rest())];
        }
        case 'tool_use':
          reader.lastWords = '';
          return [...rest(), toolLine(textOf(event['tool_name']) ?? 'a tool', fieldsOf(event['parameters']))];
        case 'tool_result': {
          if (event['status'] !== 'error') return [];
          return [shortLine(`failed: ${textOf(fieldsOf(event['error'])['message']) ?? textOf(event['output']) ?? ''}`)];
        }
        case 'error':
          return [...rest(), shortLine(textOf(event['message']) ?? 'a fault')];
        case 'result':
          reader.verdict =
            event['status'] === 'success'
              ? { is: 'done' }
              : { is: 'failed', why: textOf(fieldsOf(event['error'])['message']) ?? 'it ended with an error' };
          return rest();
        default:
          return [];
      }
    },
  };
  return reader;
}
