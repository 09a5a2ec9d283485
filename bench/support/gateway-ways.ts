import { Secret } from '../../src/core/secret.ts';
import { CredentialPool } from '../../src/pool/pool.ts';
import type { Way, World } from './gateway-run.ts';
import type { Exchange } from './gateway-wire.ts';

const RETRIES = 8;

/** Ours, told nothing about limits. What the provider fails at is retried by the caller, with full jitter. */
export const poolWay: Way = {
  name: 'agentos pool',
  open({ situation, keys, clock, wire, random, signal }) {
    const pool = new CredentialPool({
      keys: keys.map((key) => ({ id: key, vendor: situation.wire, secret: new Secret(key) })),
      clock,
      random,
      onEvent: () => undefined,
    });
    return async (workflow, text) => {
      const estimatedInputTokens = Math.ceil(text.length / 4);
      const asked = { vendor: situation.wire, model: wire.model, item: workflow, estimatedInputTokens, signal };
      let isRetry = false;
      for (let failures = 0; failures <= RETRIES; ) {
        const lease = await pool.acquire({ ...asked, isRetry, deadlineMs: Number.POSITIVE_INFINITY });
        isRetry = true;
        const answer = await wire.send(lease.key.reveal(), workflow, text);
        const { action } = lease.answered(answer);
        if (action === 'fail') return false;
        if (action === 'retry') continue;
        lease.finished(answer.usage);
        if (answer.status < 300) return true;
        failures += 1;
        await clock.sleep(random() * Math.min(60_000, 1_000 * 2 ** (failures - 1)), signal);
      }
      return false;
    };
  },
};

/** Keys in turn; retries by the rules that an SDK has, with the same key. */
function roundRobin(name: string, retries: number, delayMs: (attempt: number, world: World) => number): Way {
  return {
    name,
    open(world) {
      let turn = 0;
      return async (workflow, text) => {
        const key = world.keys[turn++ % world.keys.length] ?? '';
        return retrying(world, retries, delayMs, () => world.wire.send(key, workflow, text));
      };
    },
  };
}

async function retrying(
  world: World,
  retries: number,
  delayMs: (attempt: number, world: World) => number,
  send: () => Promise<Exchange>,
): Promise<boolean> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await send();
    if (answer.status < 300) return true;
    const passing = answer.status === 429 || answer.status === 408 || answer.status >= 500;
    if (!passing || attempt >= retries || world.signal.aborted) return false;
    const hint = Number(answer.headers['retry-after']) * 1_000;
    await world.clock.sleep(hint > 0 && hint < 60_000 ? hint : delayMs(attempt, world), world.signal);
  }
}

export const aiSdkWay = roundRobin('round-robin, AI SDK retries (2)', 2, (attempt) => 2_000 * 2 ** attempt);

export const vendorSdkDelayMs = (attempt: number, { random }: World): number =>
  Math.min(8_000, 500 * 2 ** attempt) * (1 - 0.25 * random());

export const vendorSdkWay = roundRobin('round-robin, vendor SDK retries (8)', RETRIES, vendorSdkDelayMs);

const COOL_DOWN_MS = 60_000;

/** A workflow holds one key for itself, calls one after the other, and after a 429 the key rests for a minute. */
export const leaseWay: Way = {
  name: 'lease per workflow, 60 s cool-down',
  open(world) {
    const { keys, clock, wire, signal } = world;
    const restsUntilMs = new Map<string, number>();
    const holders = new Map<string, string>();
    const turns = new Map<string, Promise<unknown>>();

    async function keyFor(workflow: string): Promise<string | null> {
      while (!signal.aborted) {
        const held = holders.get(workflow);
        const free =
          held ??
          keys.find((key) => ![...holders.values()].includes(key) && (restsUntilMs.get(key) ?? 0) <= clock.now());
        if (free !== undefined) {
          holders.set(workflow, free);
          return free;
        }
        await clock.sleep(500, signal);
      }
      return null;
    }

    async function callOnce(workflow: string, text: string): Promise<boolean> {
      for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
        const key = await keyFor(workflow);
        if (key === null) return false;
        const { status } = await wire.send(key, workflow, text);
        if (status < 300) return true;
        if (status === 429 || status === 401) {
          restsUntilMs.set(key, clock.now() + COOL_DOWN_MS);
          holders.delete(workflow);
        } else {
          await clock.sleep(vendorSdkDelayMs(attempt, world), signal);
        }
      }
      return false;
    }

    return (workflow, text) => {
      const turn = (turns.get(workflow) ?? Promise.resolve()).then(() => callOnce(workflow, text));
      turns.set(
        workflow,
        turn.catch(() => false),
      );
      return turn;
    };
  },
};
