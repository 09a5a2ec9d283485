import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Way, World } from './gateway-run.ts';
import type { Situation } from './gateway-situation.ts';
import { vendorSdkDelayMs } from './gateway-ways.ts';
import type { Exchange } from './gateway-wire.ts';

const RETRIES = 8;
const INSTALL_LIMIT_MS = 60_000;
const PACKAGES = ['bottleneck@2', 'p-queue@8', 'p-retry@6'];

/** Into a folder of its own. Returns why it was not possible, or null. */
export function installPeers(folder: string): string | null {
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-package-lock', ...PACKAGES];
  const { status } = spawnSync('npm', install, { cwd: folder, stdio: 'ignore', timeout: INSTALL_LIMIT_MS });
  return status === 0 ? null : `npm could not install ${PACKAGES.join(', ')}`;
}

async function load<T>(folder: string, file: string): Promise<T> {
  const module: unknown = await import(pathToFileURL(join(folder, 'node_modules', file)).href);
  return (module as { default: T }).default;
}

/** One quota as a person would tell it to a limiter that knows no tokens: as many requests as it is good for. */
interface Told {
  keys: string[];
  perMinute: number;
  concurrency: number;
}

function toldOf({ keys, situation }: World): Told[] {
  return Object.entries(situation.groups).map(([name, group]) => {
    const mean = ([low, high]: Situation['inputTokens']): number => (low + high) / 2;
    const input = mean(situation.inputTokens);
    const output = mean(situation.outputTokens);
    return {
      keys: keys.filter((_, index) => situation.keys[index]?.group === name),
      perMinute: Math.min(
        group.requestsPerMinute ?? Number.POSITIVE_INFINITY,
        (group.tokensPerMinute ?? Number.POSITIVE_INFINITY) / (input + output),
        (group.inputTokensPerMinute ?? Number.POSITIVE_INFINITY) / input,
        (group.outputTokensPerMinute ?? Number.POSITIVE_INFINITY) / output,
      ),
      concurrency: group.concurrency ?? Number.POSITIVE_INFINITY,
    };
  });
}

/** Whoever has the least waiting for what it can do. */
function leastLoaded<T extends { told: Told; waiting: () => number }>(limiters: T[]): T {
  const load = ({ told, waiting }: T): number => waiting() / told.perMinute;
  return limiters.reduce((least, one) => (load(one) < load(least) ? one : least));
}

interface BottleneckLimiter {
  schedule<T>(job: () => Promise<T>): Promise<T>;
  counts(): { RECEIVED: number; QUEUED: number; RUNNING: number; EXECUTING: number };
}

export async function bottleneckWay(folder: string): Promise<Way> {
  type Make = new (options: { minTime: number; maxConcurrent: number }) => BottleneckLimiter;
  const Bottleneck = await load<Make>(folder, 'bottleneck/lib/index.js');
  return {
    name: 'bottleneck, told the limits',
    open(world) {
      const { situation, wire, clock, signal } = world;
      const limiters = toldOf(world).map((told) => {
        const minTime = 60_000 / told.perMinute / situation.dilation;
        const limiter = new Bottleneck({ minTime, maxConcurrent: told.concurrency });
        let turn = 0;
        return {
          told,
          waiting: () => limiter.counts().QUEUED + limiter.counts().RECEIVED + limiter.counts().EXECUTING,
          send: (workflow: string, text: string) =>
            limiter.schedule(() => wire.send(told.keys[turn++ % told.keys.length] ?? '', workflow, text)),
        };
      });
      return async (workflow, text) => {
        for (let attempt = 0; attempt <= RETRIES && !signal.aborted; attempt += 1) {
          const answer = await leastLoaded(limiters).send(workflow, text);
          if (answer.status < 300) return true;
          await clock.sleep(hintMs(answer) ?? vendorSdkDelayMs(attempt, world), signal);
        }
        return false;
      };
    },
  };
}

interface Queue {
  size: number;
  pending: number;
  add<T>(job: () => Promise<T>): Promise<T>;
}

export async function queueWay(folder: string): Promise<Way> {
  type Make = new (options: { concurrency: number; interval: number; intervalCap: number }) => Queue;
  type Retry = (
    job: () => Promise<boolean>,
    options: { retries: number; minTimeout: number; signal: AbortSignal },
  ) => Promise<boolean>;
  const PQueue = await load<Make>(folder, 'p-queue/dist/index.js');
  const pRetry = await load<Retry>(folder, 'p-retry/index.js');
  return {
    name: 'p-queue + p-retry, told the limits',
    open(world) {
      const { situation, wire, signal } = world;
      const limiters = toldOf(world).map((told) => {
        const interval = 60_000 / situation.dilation;
        const intervalCap = Math.max(1, Math.floor(told.perMinute));
        const queue = new PQueue({ concurrency: told.concurrency, interval, intervalCap });
        let turn = 0;
        return {
          told,
          waiting: () => queue.size + queue.pending,
          send: (workflow: string, text: string) =>
            queue.add(() => wire.send(told.keys[turn++ % told.keys.length] ?? '', workflow, text)),
        };
      });
      return (workflow, text) =>
        pRetry(
          async () => {
            const { status } = await leastLoaded(limiters).send(workflow, text);
            if (status >= 300) throw new Error(`status ${status}`);
            return true;
          },
          { retries: RETRIES, minTimeout: 1_000 / situation.dilation, signal },
        );
    },
  };
}

function hintMs({ headers }: Exchange): number | null {
  const hint = Number(headers['retry-after']) * 1_000;
  return hint > 0 && hint < 60_000 ? hint : null;
}
