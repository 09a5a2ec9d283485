import { delimiter } from 'node:path';
import { type AgentName, agentsFolder, hasAgent } from './agents.ts';
import type { Answer } from './vendor/index.ts';
import type { Script } from './vendor/options.ts';

type VendorCall = Parameters<Script>[0];

/** A command-line agent as implementer, with a model whose price is known. */
export interface AgentUnderTest {
  spec: 'claude-code' | 'codex' | 'gemini-cli' | 'opencode' | 'acp';
  program: AgentName;
  /** Or the command, of an agent that is started by one. */
  model: string;
  /** As the vendor is asked for it. */
  asks: string;
}

export const AGENTS_UNDER_TEST: readonly AgentUnderTest[] = [
  { spec: 'claude-code', program: 'claude', model: 'claude-sonnet-4-5', asks: 'claude-sonnet-4-5' },
  { spec: 'codex', program: 'codex', model: 'gpt-5', asks: 'gpt-5' },
  { spec: 'gemini-cli', program: 'gemini', model: 'gemini-2.5-pro', asks: 'gemini-2.5-pro' },
  { spec: 'opencode', program: 'opencode', model: 'anthropic/claude-sonnet-4-5', asks: 'claude-sonnet-4-5' },
  { spec: 'acp', program: 'gemini', model: 'gemini --acp --model gemini-2.5-pro', asks: 'gemini-2.5-pro' },
  {
    spec: 'acp',
    program: 'opencode',
    model: `OPENCODE_CONFIG_CONTENT='${JSON.stringify({
      model: 'anthropic/claude-sonnet-4-5',
      small_model: 'anthropic/claude-sonnet-4-5',
      provider: { anthropic: { options: { baseURL: '{env:ANTHROPIC_BASE_URL}/v1' } } },
    })}' opencode acp`,
    asks: 'claude-sonnet-4-5',
  },
];

/** Why it can't be tested here; null: it can. */
export function whyAgentMissing({ program }: AgentUnderTest): string | null {
  const folder = agentsFolder();
  if (folder === null)
    return 'set AGENTOS_TEST_AGENTS=1 to install it, or AGENTOS_TEST_AGENTS_DIR to the folder where it is';
  return hasAgent(folder, program) ? null : `${folder} does not hold it`;
}

/** A PATH with the installed agents in front. */
export function pathWithAgents(path: string = process.env['PATH'] ?? ''): string {
  const folder = agentsFolder();
  return folder === null ? path : `${folder}/node_modules/.bin${delimiter}${path}`;
}

/** What an agent's model does with one task: it reads and writes these files, runs these commands, and is done. */
export interface Deed {
  reads?: readonly string[];
  files: Readonly<Record<string, string>>;
  commands?: readonly string[];
  words: string;
}

type ToolCall = NonNullable<Answer['toolCalls']>[number];

interface Tools {
  read: (path: string) => ToolCall;
  write: (path: string, content: string) => ToolCall[];
  run: (command: string) => ToolCall;
}

/** In each agent's own tools. */
const TOOLS: Record<AgentName, Tools> = {
  claude: {
    read: (path) => ({ name: 'Read', input: { file_path: path } }),
    // It refuses to write over a file that it has not read.
    write: (path, content) => [
      { name: 'Read', input: { file_path: path } },
      { name: 'Write', input: { file_path: path, content } },
    ],
    run: (command) => ({ name: 'Bash', input: { command, description: 'Runs a command' } }),
  },
  codex: {
    read: (path) => ({ name: 'exec_command', input: { cmd: `cat '${path}'` } }),
    write: (path, content) => [{ name: 'exec_command', input: { cmd: shellWrite(path, content) } }],
    run: (command) => ({ name: 'exec_command', input: { cmd: command } }),
  },
  gemini: {
    read: (path) => ({ name: 'read_file', input: { file_path: path } }),
    write: (path, content) => [{ name: 'write_file', input: { file_path: path, content } }],
    run: (command) => ({ name: 'run_shell_command', input: { command, description: 'Runs a command' } }),
  },
  opencode: {
    read: (path) => ({ name: 'read', input: { filePath: path } }),
    // It refuses to write over a file that it has not read.
    write: (path, content) => [
      { name: 'read', input: { filePath: path } },
      { name: 'write', input: { filePath: path, content } },
    ],
    run: (command) => ({ name: 'bash', input: { command, description: 'Runs a command' } }),
  },
};

function shellWrite(path: string, content: string): string {
  const encoded = Buffer.from(content).toString('base64');
  return `mkdir -p "$(dirname '${path}')" && printf %s ${encoded} | base64 -d > '${path}'`;
}

/**
 * The vendor's side of an agent's session: one tool call in each answer, the next when its result came back, and last the
 * words. `deedOf` reads the task out of the call, which holds the whole conversation.
 */
export function agentScript({ program }: AgentUnderTest, deedOf: (call: VendorCall) => Deed): Script {
  return (call) => {
    if (program === 'gemini' && isSideCall(call)) return { text: SIDE_ANSWER };
    // The title of a session.
    if (program === 'opencode' && call.tools.length === 0) return { text: 'A title' };
    const { reads = [], files, commands = [], words } = deedOf(call);
    const { read, write, run } = TOOLS[program];
    const steps = [
      ...reads.map(read),
      ...Object.entries(files).flatMap(([path, content]) => write(path, content)),
      ...commands.map(run),
    ];
    const next = steps[call.toolResults.length];
    return next === undefined ? { text: words } : { text: 'On with it.', toolCalls: [next] };
  };
}

/** Gemini CLI asks a small model how hard the task is, unless it is told which model to use. */
function isSideCall({ path, tools }: VendorCall): boolean {
  return path.endsWith(':generateContent') && tools.length === 0;
}

const SIDE_ANSWER = JSON.stringify({ complexity_reasoning: 'It is a test.', complexity_score: 10 });
