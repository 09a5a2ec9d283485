import { resolveConfig } from '../src/core/config.ts';
import { claimItem, endItem, registerRun, submitItems } from '../src/hub/backlog.ts';
import { openDatabase } from '../src/hub/database.ts';
import { openHubLink, readHub } from '../src/hub/hub-link.ts';
import { appendEvents } from '../src/hub/item-events.ts';
import { joinMachine } from '../src/hub/machines.ts';
import { startRelay } from '../src/hub/relay.ts';
import { postgresSteps } from '../src/journal/postgres.ts';
import { startTestHub, type TestHub } from '../test/support/hub.ts';
import { freshDatabase, hasPostgres, testPostgres } from '../test/support/postgres.ts';
import { startVendor } from '../test/support/vendor/index.ts';
import { withFolder } from './support/folder.ts';
import { type Simulated, simulateHub } from './support/hub-simulation.ts';
import { treeMs } from './support/processor-time.ts';
import { type BenchRow, below, inMs, shown } from './support/row.ts';

const LARGE = { machines: 100, workers: 10, keys: 1_000, items: 100_000 };
const SMALL = { machines: 10, workers: 10, keys: 100, items: 2_000 };
const SITUATION = {
  // Keys and workers allow nearly the same number of calls: neither hides the other.
  requestsPerMinute: 1.5,
  calls: [2, 6] as [number, number],
  callMs: [15_000, 60_000] as [number, number],
  deathEveryMs: 6 * 3_600_000,
  backAfterMs: 300_000,
  seed: 1,
};
const MEASURED_MS = 6_000;
const STREAMS = 100;
const VERSION = '0.1.0';

/** What one hub carries: simulated at a size that two cores can't reach, and its parts measured at the largest that they can. */
export async function hubScaleBench(): Promise<BenchRow[]> {
  const real = await simulateHub({ ...SITUATION, ...SMALL, pool: 'real' });
  const modelled = await simulateHub({ ...SITUATION, ...SMALL, pool: 'model' });
  const began = performance.now();
  const large = await simulateHub({ ...SITUATION, ...LARGE, pool: 'model' });
  const tookMs = performance.now() - began;
  const error = Math.abs(modelled.goodput / real.goodput - 1);
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const rows: BenchRow[] = [
    shown('simulated, 10 machines, 100 keys, 2,000 items: goodput of the real pool', percent(real.goodput)),
    { name: '  the model of the pool is off by', value: percent(error), target: '< 3 %', ok: error < 0.03 },
    shown(
      `simulated, 100 machines, 1,000 keys, 100,000 items: ${large.hours.toFixed(1)} h, ${large.deaths} machines died; goodput`,
      percent(large.goodput),
    ),
    shown('  calls a second / in flight', `${large.callsPerSecond.toFixed(1)} / ${large.streams}`),
    shown(
      '  transactions a second / in the busiest second',
      `${Math.round(large.transactionsPerSecond)} / ${large.mostTransactions}`,
    ),
    below('  the simulation took', tookMs, 60_000, inMs),
  ];
  if (!hasPostgres()) return [...rows, shown('measured', 'no PostgreSQL here')];
  return [...rows, ...(await measured(large))];
}

async function measured(needed: Simulated): Promise<BenchRow[]> {
  const postgres = await testPostgres();
  const vendor = await startVendor({});
  try {
    return await withFolder(async (folder) => {
      const keys = Array.from({ length: LARGE.keys }, (_, n) => `sk-${n}`).join(',');
      const env = { ANTHROPIC_API_KEYS: keys, ANTHROPIC_BASE_URL: vendor.url };
      const hub = await startTestHub({ url: await freshDatabase(postgres), folder, env, lease: '45s' });
      try {
        const statements = await statementsOf(hub, postgres.pid);
        const calls = await callsPerSecond(hub);
        const full = [
          { what: 'a core of the database', share: (needed.transactionsPerSecond * statements.processorMs) / 1_000 },
          { what: 'the core of the hub', share: (needed.callsPerSecond * calls.hubMs) / 1_000 },
        ].sort((a, b) => b.share - a.share);
        const [first] = full;
        return [
          shown(
            'measured here: statements of items a second, 8 connections / processor time of each in the database',
            `${Math.round(statements.perSecond).toLocaleString('en')} / ${inMs(statements.processorMs)}`,
          ),
          shown('  calls through relay and hub a second, 1,000 keys', calls.perSecond.toFixed(0)),
          shown('  processor time of the hub for a call', inMs(calls.hubMs)),
          shown('  full first', `${first?.what} (${Math.round(100 * (first?.share ?? 0))} % of one)`),
          {
            name: '  one hub carries the simulated load',
            value: full.every(({ share }) => share < 1) ? 'yes' : 'no',
            target: 'yes',
            ok: full.every(({ share }) => share < 1),
          },
        ];
      } finally {
        await hub.close();
      }
    });
  } finally {
    await vendor.close();
    await postgres.stop();
  }
}

const REPOSITORY = 'a'.repeat(40);

async function placeItems(hub: TestHub, run: string, count: number): Promise<void> {
  const { bounds, prices } = resolveConfig({}, {}, {});
  const stage = { workflow: 'lld', models: ['anthropic:claude-opus-5'], needs: ['bench'], input: {} } as const;
  const settings = {
    pipeline: 'lld',
    stages: [stage],
    parallel: null,
    haltAfter: null,
    bounds,
    prices,
    base: REPOSITORY,
    identity: null,
  } as const;
  const submitted = {
    id: run,
    repository: REPOSITORY,
    checkout: run,
    token: run,
    version: VERSION,
    settings,
    record: {},
  };
  await registerRun(hub.database, submitted);
  const items = Array.from({ length: count }, (_, n) => ({
    key: `lld-${run}-${n}`,
    hash: '',
    stage: 0,
    needs: ['bench'],
    after: [],
    exclusive: [],
    input: {},
    paidUsd: 0,
  }));
  await submitItems(hub.database, submitted, REPOSITORY, items, async () => undefined);
}

/** What an item costs the database, over and over, by a few machines at once. */
async function statementsOf(hub: TestHub, postmaster: number): Promise<{ perSecond: number; processorMs: number }> {
  await placeItems(hub, 'statements', 6_000);
  const database = openDatabase(hub.url, { application: 'bench', connections: 8 });
  const until = performance.now() + MEASURED_MS;
  let count = 0;
  const machine = async (n: number): Promise<void> => {
    const id = `machine-${n}`;
    await joinMachine(database, { id, token: id, name: id, tags: ['bench'], parallel: 10, version: VERSION });
    while (performance.now() < until) {
      const claim = await claimItem(database, {
        machine: id,
        version: VERSION,
        tags: ['bench'],
        token: `${id} ${count}`,
        leaseMs: 45_000,
      });
      if (claim === null) throw new Error('the items did not suffice');
      const store = postgresSteps(database, { ...claim, claim: { item: claim.id, fence: claim.fence } });
      await store.open();
      for (let step = 1; step <= 4; step++) {
        const started = { id: `s#${step}`, name: 's', number: step, starts: 1, startedAt: '' };
        await store.put({ ...started, end: null });
        await store.put({
          ...started,
          end: { finishedAt: '', order: step, result: JSON.stringify('x'.repeat(8_000)) },
        });
        await appendEvents(database, id, [
          { item: claim.id, fence: claim.fence, number: step, events: [{ at: '', type: 'notice', text: 'x' }] },
        ]);
      }
      await store.remove();
      const end = { status: 'succeeded', attempts: 1, durationMs: 1, reason: null, error: null, outputs: [] } as const;
      await endItem(database, claim, { end: { ...end, outputs: [] }, at: '', result: null });
      // A claim, the opening, the steps with their events, the removal, the end.
      count += 1 + 1 + 4 * 3 + 1 + 1;
    }
  };
  const before = treeMs(postmaster);
  const began = performance.now();
  await Promise.all(Array.from({ length: 8 }, (_, n) => machine(n)));
  const tookMs = performance.now() - began;
  const processor = (treeMs(postmaster) - before) / count;
  await database.close();
  return { perSecond: (count * 1_000) / tookMs, processorMs: processor };
}

/** Streams through a relay and the hub, a hundred at a time. */
async function callsPerSecond(hub: TestHub): Promise<{ perSecond: number; hubMs: number }> {
  await placeItems(hub, 'calls', 1);
  const identity = { id: 'caller', token: 'caller-token' };
  await joinMachine(hub.database, { ...identity, name: 'caller', tags: ['bench'], parallel: 1, version: VERSION });
  await hub.database.rows(`UPDATE agentos.items SET state = 'ended', is_handled = true WHERE run = 'statements'`);
  const claim = await claimItem(hub.database, {
    machine: identity.id,
    version: VERSION,
    tags: ['bench'],
    token: 'item-token',
    leaseMs: 600_000,
  });
  if (claim === null) throw new Error('nothing to claim');
  const link = openHubLink(() => readHub(hub.database), identity);
  const relay = await startRelay(link);
  const body = JSON.stringify({
    model: 'claude-opus-5',
    max_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: 'x'.repeat(24_000) }],
  });
  const headers = { 'x-api-key': 'item-token', 'content-type': 'application/json' };
  const until = performance.now() + MEASURED_MS;
  const before = treeMs(hub.program().child.pid ?? 0);
  const began = performance.now();
  let count = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      const response = await fetch(`${relay.url}/anthropic/v1/messages`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: STREAMS }, caller));
  const took = performance.now() - began;
  const spent = treeMs(hub.program().child.pid ?? 0) - before;
  await relay.close();
  link.close();
  return { perSecond: (count * 1_000) / took, hubMs: spent / count };
}
