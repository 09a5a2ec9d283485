import { join } from 'node:path';
import { fieldsOf, textOf } from '../../models/json-fields.ts';
import { promptText } from '../../models/port.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { AGENT_RETRIES, type Agent, type EventReader, linesOf, shortLine, toolLine } from './agent.ts';

const ARGUMENTS = ['--output-format', 'stream-json', '--approval-mode'];
/** Headless, the default mode refuses every tool that needs a person's yes: those that write files or run commands. */
const APPROVAL = { write: 'yolo', read: 'default' };

const SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    maxAttempts: AGENT_RETRIES + 1,
    sessionRetention: { enabled: false },
  },
};

/** Its own: not logged in, unusable input, no sandbox, unusable settings. */
const PERMANENT_EXITS = new Set([41, 42, 44, 52]);

export const geminiCli: Agent = {
  name: 'gemini-cli',
  program: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  permanentExits: PERMANENT_EXITS,
  async prepare({ may, model, system, task, home, endpoint, token }) {
    const folder = join(home, '.gemini');
    if (endpoint !== null)
      await writeFileAtomic(join(folder, 'settings.json'), `${JSON.stringify(SETTINGS, null, 2)}\n`);
    return {
      args: [...ARGUMENTS, APPROVAL[may], ...(model === null ? [] : ['--model', model])],
      env: {
        ...(endpoint === null
          ? {}
          : {
              GOOGLE_GEMINI_BASE_URL: endpoint,
              GEMINI_API_KEY: token,
              // It would win over the other one.
              GOOGLE_API_KEY: '',
            }),
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      },
      input: promptText([{ text: system }, { text: task }]),
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
  let unlogged = '';
  /** Text comes in pieces that end anywhere: a line is logged when its end is there. */
  const logged = (upTo: number): string[] => {
    const lines = linesOf(unlogged.slice(0, upTo));
    unlogged = unlogged.slice(upTo);
    return lines;
  };
  const rest = (): string[] => logged(unlogged.length);
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read(event) {
      switch (event['type']) {
        case 'message': {
          if (event['role'] !== 'assistant') return [];
          const text = textOf(event['content']) ?? '';
          reader.lastWords += text;
          unlogged += text;
          return event['delta'] === true ? logged(unlogged.lastIndexOf('\n') + 1) : rest();
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
