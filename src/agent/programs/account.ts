import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError, revived } from '../../core/errors.ts';
import { definedOnly } from '../../core/json.ts';
import type { AgentName } from '../../core/model-spec.ts';
import type { Usage } from '../../core/money.ts';
import { detailOf } from '../../core/reason.ts';
import { ACCOUNT_PATH, type Account } from '../../gateway/ledger.ts';
import { makeFolder } from '../../process/files.ts';
import { tryLock } from '../../process/lock.ts';
import type { OwnLogins } from '../create.ts';
import type { WriteReply } from '../port.ts';

/*
 * What pays for the calls of an agent: the gateway's account of its item, or the login of the person who runs us.
 */

/** A program whose calls go to the gateway with this token. */
interface Caller {
  endpoint: string;
  token: string;
  idleTimeoutMs: number;
  signal: AbortSignal;
  /** A request is in flight, or waits for quota. */
  onBusy: () => void;
}

const LONGEST_INTERVAL_MS = 2_000;

/**
 * Runs a program, and says by the gateway's account what its calls used (null: it made none), and why the last one failed. A
 * program prints nothing while it waits for an answer or, for up to an hour, for quota; the gateway knows, and limits these
 * waits. `until` is aborted when the gateway has refused a request and a retry is useless.
 */
export async function metered<End>(caller: Caller, run: (until: AbortSignal) => Promise<End>) {
  const before = await settled(caller);
  const refused = new AbortController();
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      const account = await read(caller);
      if (account.inFlight > 0) return caller.onBusy();
      const refusal = newRefusal(before, account);
      if (refusal?.code === 'over-budget' || refusal?.retry === 'quota') refused.abort(refusal);
    } catch {
      // No sign of life: the idle timeout ends the call.
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(() => void look(), Math.min(LONGEST_INTERVAL_MS, Math.max(20, caller.idleTimeoutMs / 4)));
  const end = await run(AbortSignal.any([caller.signal, refused.signal])).finally(() => clearInterval(timer));
  const after = await settled(caller);
  const used = after.calls === before.calls ? null : usedBetween(before, after);
  return { end, used, refusal: newRefusal(before, after) };
}

const MOST_MS = 10_000;

async function read({ endpoint, token, signal }: Caller): Promise<Account> {
  try {
    const response = await fetch(new URL(ACCOUNT_PATH, endpoint), {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]),
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return (await response.json()) as Account;
  } catch (error) {
    signal.throwIfAborted();
    const detail = detailOf(error instanceof Error ? error.message : String(error), token);
    const problem = { code: 'provider-unreachable', provider: 'gateway', detail } as const;
    throw new AgentosError(problem, { retry: 'transient', cause: error });
  }
}

/** The gateway counts a call shortly after its client has gone. */
const COUNTING_MS = 2_000;
const LOOK_EVERY_MS = 20;

/** Waits until no call is in flight, or too long. */
async function settled(caller: Caller): Promise<Account> {
  let account = await read(caller);
  for (let waitedMs = 0; account.inFlight > 0 && waitedMs < COUNTING_MS; waitedMs += LOOK_EVERY_MS) {
    await sleep(LOOK_EVERY_MS, undefined, { signal: caller.signal });
    account = await read(caller);
  }
  return account;
}

function usedBetween(before: Account, after: Account): Omit<WriteReply, 'text' | 'metered'> {
  return {
    answered: after.answered,
    usage: usageBetween(before.usage, after.usage),
    costUsd: after.unpriced > before.unpriced ? null : after.costUsd - before.costUsd,
    models: after.models.flatMap((use) => {
      const known = before.models.find(({ model }) => model === use.model);
      if (known === undefined) return [use];
      if (known.calls === use.calls) return [];
      const costUsd = use.costUsd === null || known.costUsd === null ? null : use.costUsd - known.costUsd;
      return [{ ...use, calls: use.calls - known.calls, usage: usageBetween(known.usage, use.usage), costUsd }];
    }),
  };
}

function usageBetween(before: Usage, after: Usage): Usage {
  return {
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    cacheReadTokens: after.cacheReadTokens - before.cacheReadTokens,
    cacheWriteTokens: after.cacheWriteTokens - before.cacheWriteTokens,
  };
}

/** The gateway's last refusal, if it is newer than `before`. */
function newRefusal(before: Account, after: Account): AgentosError | null {
  return after.refusal === null || after.refusals === before.refusals ? null : revived(after.refusal);
}

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
  return definedOnly({ ...env, ...own });
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

const TRY_EVERY_MS = 200;

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
    await sleep(TRY_EVERY_MS, undefined, { signal });
  }
}
