import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/core/clock.ts';
import { Secret } from '../src/core/secret.ts';
import { type Gateway, startGateway } from '../src/gateway/server.ts';
import { CredentialPool } from '../src/pool/pool.ts';
import { createKeyRota } from '../test/support/key-rota.ts';
import { startVendorProcess } from '../test/support/vendor/process.ts';
import { shown } from './support/row.ts';

const KEY = 'bench-key';
const REQUESTS = 400;
const STREAMS = 200;
const REPLY_CHARS = 1_000_000;
const TARGET_MS = 2;
const TARGET_MB = 8;

interface Row {
  name: string;
  value: string;
  target: string;
  ok: boolean;
}

/** What the gateway adds to a request, and what 200 streams at once cost it, before a vendor in a process of its own. */
export async function gatewayServerBench(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'agentos-bench-'));
  const script = join(folder, 'script.mjs');
  writeFileSync(
    script,
    `export default ({ text }) => text === 'long'
       ? { text: 'x'.repeat(${REPLY_CHARS}), chunkDelayMs: 20 }
       : { text: 'A short reply. '.repeat(20) };`,
  );
  const vendor = await startVendorProcess(['--keys', KEY, '--script', script, '--chunk-chars', '2000']);
  const gateway = await openGateway(vendor.url, realPool());
  // A real pool begins with few calls at once and feels its way up.
  const wide = await openGateway(vendor.url, createKeyRota([KEY]));
  try {
    return [...(await latency(vendor.url, gateway)), ...(await streams(wide))];
  } finally {
    await gateway.close();
    await wide.close();
    await vendor.stop();
    rmSync(folder, { recursive: true });
  }
}

function realPool(): CredentialPool {
  return new CredentialPool({
    keys: [{ id: 'bench', vendor: 'anthropic', secret: new Secret(KEY) }],
    clock: systemClock,
    random: Math.random,
    onEvent: () => {},
  });
}

function openGateway(upstream: string, pool: Pick<CredentialPool, 'acquire' | 'expectedWait'>): Promise<Gateway> {
  return startGateway({
    pool,
    upstreams: { anthropic: upstream },
    prices: {},
    budget: { maxCostUsd: 1_000_000, maxCostPerItemUsd: 1_000_000 },
    clock: systemClock,
  });
}

/** In turn, so that both see the same machine. */
async function latency(direct: string, gateway: Gateway): Promise<Row[]> {
  const token = gateway.issueToken({ item: '1' });
  const rows: Row[] = [];
  for (const stream of [false, true]) {
    const times: { direct: number[]; through: number[] } = { direct: [], through: [] };
    for (let n = 0; n < REQUESTS; n++) {
      const [alone, through] = [
        await timed(() => ask(direct, KEY, stream, 'short')),
        await timed(() => ask(gateway.endpointOf('anthropic'), token, stream, 'short')),
      ];
      if (n < REQUESTS / 4) continue;
      times.direct.push(alone);
      times.through.push(through);
    }
    const added = median(times.through) - median(times.direct);
    const what = stream ? 'stream' : 'whole answer';
    rows.push(
      { name: `direct, ${what}, median`, value: inMs(median(times.direct)), target: '–', ok: true },
      { name: `gateway adds, ${what}`, value: inMs(added), target: `< ${TARGET_MS} ms`, ok: added < TARGET_MS },
    );
  }
  return rows;
}

/** Memory when all streams have begun, against the most that is seen until they end. */
async function streams(gateway: Gateway): Promise<Row[]> {
  const token = gateway.issueToken({ item: '2' });
  let begun = 0;
  let bytes = 0;
  let ended = 0;
  const startedMs = performance.now();
  const all = Array.from({ length: STREAMS }, async () => {
    let first = true;
    await ask(gateway.endpointOf('anthropic'), token, true, 'long', (size) => {
      if (first) begun += 1;
      first = false;
      bytes += size;
    });
    ended += 1;
  });
  while (begun < STREAMS) await pause(20);
  const atStart = usedMb();
  const bytesAtStart = bytes;
  let most = atStart;
  let samples = 0;
  while (ended === 0) {
    await pause(500);
    most = Math.max(most, usedMb());
    samples += 1;
  }
  const passed = (bytes - bytesAtStart) / 1_048_576;
  await Promise.all(all);
  const seconds = (performance.now() - startedMs) / 1_000;
  const grown = most - atStart;
  if (samples < 2) throw new Error('the streams were over before their memory could be read');
  return [
    shown(`${STREAMS} streams at once`, `${passed.toFixed(0)} MB in ${seconds.toFixed(1)} s`),
    {
      name: 'memory before and at most, growth',
      value: `${atStart.toFixed(1)}, ${most.toFixed(1)} MB`,
      target: `< ${TARGET_MB} MB more`,
      ok: grown < TARGET_MB,
    },
  ];
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Twice: what the first collection finalises, the second one frees. */
function usedMb(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_048_576;
}

const agent = new http.Agent({ keepAlive: true });

function ask(
  base: string,
  key: string,
  stream: boolean,
  text: string,
  onBytes: (size: number) => void = () => {},
): Promise<void> {
  const body = JSON.stringify({
    model: 'claude-sonnet-4-5',
    max_tokens: 1_000,
    stream,
    messages: [{ role: 'user', content: text }],
  });
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key, 'anthropic-version': '2023-06-01' };
    const request = http.request(`${base}/v1/messages`, { method: 'POST', headers, agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.on('data', (piece: Buffer) => onBytes(piece.byteLength));
      response.once('end', resolve);
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}

async function timed(work: () => Promise<void>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

const inMs = (ms: number): string => `${ms.toFixed(3)} ms`;

if (import.meta.main) {
  for (const { name, value, target, ok } of await gatewayServerBench()) {
    process.stdout.write(`${name.padEnd(34)}${value.padStart(18)}  ${target.padEnd(8)} ${ok ? 'ok' : 'MISSED'}\n`);
  }
}
