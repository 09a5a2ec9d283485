import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Gateway } from '../../src/gateway/server.ts';
import type { Ended } from './program.ts';

export type AgentName = 'claude' | 'codex' | 'gemini' | 'opencode';

const PACKAGES: Record<AgentName, string> = {
  claude: '@anthropic-ai/claude-code@2.1.325',
  codex: '@openai/codex@0.166.0',
  gemini: '@google/gemini-cli@0.61.0',
  opencode: 'opencode-ai@1.18.33',
};

/**
 * The folder that holds the command-line agents: the one that `AGENTOS_TEST_AGENTS_DIR` names, or with
 * `AGENTOS_TEST_AGENTS=1` one in the temporary folder, into which they are installed once. Null: neither is set.
 */
export function agentsFolder(): string | null {
  const given = process.env['AGENTOS_TEST_AGENTS_DIR'];
  if (given) return given;
  if (process.env['AGENTOS_TEST_AGENTS'] !== '1') return null;
  const folder = join(tmpdir(), 'agentos-test-agents');
  if (Object.keys(PACKAGES).every((name) => existsSync(binary(folder, name)))) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const { status, stderr } = spawnSync('npm', ['install', '--no-audit', '--no-fund', ...Object.values(PACKAGES)], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the agents could not be installed:\n${stderr}`);
  return folder;
}

export function hasAgent(folder: string, name: AgentName): boolean {
  return existsSync(binary(folder, name));
}

function binary(folder: string, name: string): string {
  return join(folder, 'node_modules', '.bin', name);
}

export interface RunningAgent {
  kill(): void;
  ended: Promise<Ended>;
}

interface AgentStart {
  folder: string;
  gateway: Gateway;
  token: string;
  prompt: string;
  /** For its home and its work. */
  place: string;
}

/** An agent as a user of the gateway starts it: its own home, the gateway's address, a token for a key. */
export async function startAgent(name: AgentName, start: AgentStart): Promise<RunningAgent> {
  const home = join(start.place, 'home');
  const work = join(start.place, 'work');
  const temporary = join(start.place, 'tmp');
  for (const each of [home, work, temporary]) await mkdir(each, { recursive: true });
  const { args, env } = await SETTINGS[name as keyof typeof SETTINGS]({ ...start, home });
  const child = spawn(binary(start.folder, name), args, {
    cwd: work,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  // Some of them are launchers: the whole group goes.
  const kill = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, 'SIGKILL');
  };
  return { ended, kill };
}

type Settings = (start: AgentStart & { home: string }) => Promise<{ args: string[]; env: Record<string, string> }>;

const SETTINGS: Record<Exclude<AgentName, 'opencode'>, Settings> = {
  claude: async ({ gateway, token, prompt }) => ({
    args: ['-p', prompt, '--model', 'claude-sonnet-4-5'],
    env: {
      ANTHROPIC_BASE_URL: gateway.endpointOf('anthropic'),
      ANTHROPIC_API_KEY: token,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  }),
  codex: async ({ gateway, token, prompt, home }) => {
    const config = [
      'model = "gpt-5"',
      'model_provider = "agentos"',
      '[model_providers.agentos]',
      'name = "agentos"',
      `base_url = "${gateway.endpointOf('openai')}/v1"`,
      'env_key = "AGENTOS_TOKEN"',
      'wire_api = "responses"',
      // By default five minutes: short enough here to see that keep-alives count as signs of life.
      'stream_idle_timeout_ms = 2000',
    ];
    await mkdir(join(home, '.codex'), { recursive: true });
    await writeFile(join(home, '.codex', 'config.toml'), `${config.join('\n')}\n`);
    return {
      args: ['exec', '--skip-git-repo-check', '--sandbox', 'read-only', prompt],
      env: { AGENTOS_TOKEN: token, CODEX_HOME: join(home, '.codex') },
    };
  },
  gemini: async ({ gateway, token, prompt, home }) => {
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true },
    };
    await mkdir(join(home, '.gemini'), { recursive: true });
    await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
    return {
      args: ['-p', prompt, '-m', 'gemini-2.5-pro'],
      env: {
        GOOGLE_GEMINI_BASE_URL: gateway.endpointOf('google'),
        GEMINI_API_KEY: token,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      },
    };
  },
};
