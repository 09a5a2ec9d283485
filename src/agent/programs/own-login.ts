import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentName } from '../../core/model-spec.ts';
import { makeFolder } from '../../process/files.ts';
import { tryLock } from '../../process/lock.ts';

/** Agents that use a login of the person who runs us, instead of a key. */
export interface OwnLogins {
  agents: readonly AgentName[];
  /** A folder of this person's: an account is for one call at a time, whichever repository it is for. */
  locks: string;
}

/** Where an agent keeps its login: in the home of the person, or where the person moved it. */
const VARIABLES = [
  'HOME USERPROFILE XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME',
  'CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME OPENCODE_CONFIG_DIR DBUS_SESSION_BUS_ADDRESS',
].flatMap((names) => names.split(' '));

/** An item's environment with the person's home. What the person has not set must not be ours either. */
export function withOwnHome(env: Readonly<Record<string, string>>): Record<string, string> {
  const others = Object.entries(env).filter(([name]) => !VARIABLES.includes(name));
  const own = VARIABLES.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries([...others, ...own]);
}

/** Variables by which a person moves an agent's settings. */
const MOVED = ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GEMINI_CLI_HOME', 'OPENCODE_CONFIG_DIR'];

/** Where an agent that is started so keeps its login and what belongs to it, by what agents usually do. */
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

/** Waits for the account, however long that takes. Returns what releases it. */
export async function takeLogin(
  { locks }: OwnLogins,
  agent: AgentName,
  { signal, alive }: { signal: AbortSignal; alive: () => void },
): Promise<() => void> {
  await makeFolder(locks);
  const path = join(locks, `login-${agent}.lock`);
  for (;;) {
    // The first removes a lock that is stale.
    const lock = tryLock(path) ?? tryLock(path);
    if (lock !== null) return () => lock.release();
    alive();
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
