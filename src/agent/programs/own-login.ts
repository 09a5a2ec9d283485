import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentName } from '../../core/model-spec.ts';
import { makeFolder } from '../../process/files.ts';
import { tryLock } from '../../process/lock.ts';
import type { OwnLogins } from '../create.ts';

/** Variables that move an agent's settings. */
const MOVED = ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GEMINI_CLI_HOME', 'OPENCODE_CONFIG_DIR'];
/** They say where an agent has its login. */
const VARIABLES = [
  ...'HOME USERPROFILE XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME DBUS_SESSION_BUS_ADDRESS'.split(' '),
  ...MOVED,
];

/** An item's environment with these variables of the person, and without our own values of them. */
export function withOwnHome(env: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
  const all = Object.entries({ ...env, ...own });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** The usual places of the login and settings of an agent that is started by this command. */
export function placesOfLogin(command: string): string[] {
  const home = process.env['HOME'] ?? '';
  const words = command.split(/\s+/).filter((word) => !word.includes('='));
  const program = basename(words[0] ?? '');
  // `claude-code-acp` has the login of `claude`.
  const names = [...new Set([program, program.replace(/-.*$/, '')])].filter((name) => name !== '' && name !== 'npx');
  const kinds = ['.', '.config/', '.local/share/', '.local/state/', '.cache/'];
  const below = names.flatMap((name) => [...kinds.map((kind) => `${kind}${name}`), `.${name}.json`]);
  return [...below.map((path) => join(home, path)), ...MOVED.flatMap((name) => process.env[name] ?? [])];
}

const LOOK_EVERY_MS = 200;

/** Waits for the account without a limit, since it serves one call at a time. */
export async function withLogin<End>(
  { locks }: OwnLogins,
  agent: AgentName,
  { signal, alive }: { signal: AbortSignal; alive: () => void },
  run: () => Promise<End>,
): Promise<End> {
  await makeFolder(locks);
  const path = join(locks, `login-${agent}.lock`);
  for (;;) {
    // The first call removes a stale lock.
    const lock = tryLock(path) ?? tryLock(path);
    if (lock !== null) return await run().finally(() => lock.release());
    alive();
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
