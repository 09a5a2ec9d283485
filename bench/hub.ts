import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveConfig } from '../src/core/config.ts';
import { registerRun, submitItems } from '../src/hub/backlog.ts';
import { startTestHub, type TestHub, type TestMachine } from '../test/support/hub.ts';
import { ISSUE, script, vendorEnv } from '../test/support/models.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from '../test/support/postgres.ts';
import { agentos } from '../test/support/program.ts';
import { repositoryIn, type TestRepository } from '../test/support/repository.ts';
import { startVendor, type Vendor } from '../test/support/vendor/index.ts';
import { withFolder } from './support/folder.ts';
import { childrenMs, treeMs } from './support/processor-time.ts';
import { type BenchRow, below, inMs, median, quantile, shown } from './support/row.ts';

const ITEMS = Number(process.env['HUB_ITEMS'] ?? 200);
const WORKERS = 10;
/** Each item asks twice; two cores start, serve and end ten of them a second apart. */
const LATENCY_MS = Number(process.env['HUB_LATENCY_MS'] ?? 2_000);
const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const DISPATCHED = 60;

/** Several machines against one, how soon an item is taken, and how soon a dead machine's items are. All with a real PostgreSQL. */
export async function hubBench(): Promise<BenchRow[]> {
  if (!hasPostgres()) return [shown('several machines', 'no PostgreSQL here')];
  const postgres = await testPostgres();
  const vendor = await startVendor({ script: script(), latencyMs: LATENCY_MS });
  try {
    return await withFolder(async (folder) => {
      const rows: BenchRow[] = [];
      rows.push(...(await twoAgainstOne(postgres, vendor, folder)));
      rows.push(...(await dispatch(postgres, vendor, join(folder, 'dispatch'))));
      rows.push(...(await killed(postgres, vendor, join(folder, 'killed'))));
      return rows;
    });
  } finally {
    await vendor.close();
    await postgres.stop();
  }
}

async function hubOn(postgres: TestPostgres, vendor: Vendor, folder: string, lease = '45s'): Promise<TestHub> {
  await mkdir(folder, { recursive: true });
  return startTestHub({ url: await freshDatabase(postgres), folder, env: vendorEnv(vendor.url), lease });
}

async function backlogIn(folder: string, count: number): Promise<TestRepository> {
  await mkdir(folder, { recursive: true });
  return repositoryIn(folder, Object.fromEntries(Array.from({ length: count }, (_, n) => [String(n + 1), ISSUE])));
}

const SETUPS = { one: [WORKERS], two: [WORKERS / 2, WORKERS / 2] };
/** Half of the items at a time, in an order that spreads the machine's other load evenly. */
const BATCHES = ['one', 'two', 'two', 'one'] as const;

/** The same items on one machine with ten workers, and on two with five. */
async function twoAgainstOne(postgres: TestPostgres, vendor: Vendor, folder: string): Promise<BenchRow[]> {
  const wallMs = { one: 0, two: 0 };
  const processor = { one: 0, two: 0 };
  const calls = vendor.calls.length;
  for (const [number, name] of BATCHES.entries()) {
    const at = join(folder, `batch-${number}`);
    const hub = await hubOn(postgres, vendor, at);
    try {
      const programs = [hub.program().child.pid, postgres.pid];
      for (const [index, parallel] of SETUPS[name].entries())
        programs.push((await hub.machine(`m${index}`, { parallel })).program.child.pid);
      const spentMs = (): number => programs.reduce<number>((sum, pid) => sum + treeMs(pid ?? 0), childrenMs());
      const repository = await backlogIn(join(at, 'submitter'), ITEMS / 2);
      const began = { at: performance.now(), spent: spentMs() };
      const env = { HOME: repository.home, AGENTOS_DATABASE_URL: hub.url };
      const { code, stdout, stderr } = await agentos(['lld', '--all', '--quiet', ...MODELS], {
        cwd: repository.root,
        env,
      });
      if (code !== 0) throw new Error(stdout + stderr);
      wallMs[name] += performance.now() - began.at;
      processor[name] += spentMs() - began.spent;
    } finally {
      await hub.close();
    }
  }
  const made = vendor.calls.length - calls;
  if (made !== 2 * 2 * ITEMS) throw new Error(`${made} calls were made for ${2 * ITEMS} items`);
  const ratio = wallMs.two / wallMs.one;
  const ideal = (ITEMS / WORKERS) * 2 * LATENCY_MS;
  return [
    shown(
      `${ITEMS} LLDs of 2 × ${LATENCY_MS / 1000} s on 1 machine × ${WORKERS} workers (ideal ${inMs(ideal)})`,
      inMs(wallMs.one),
    ),
    shown(`  on 2 machines × ${WORKERS / 2} workers`, inMs(wallMs.two)),
    { name: '  two machines over one', value: `${ratio.toFixed(3)} ×`, target: '< 1.10 ×', ok: ratio < 1.1 },
    shown(
      '  processor time of an item in all programs, 1 machine / 2 machines',
      `${inMs(processor.one / ITEMS)} / ${inMs(processor.two / ITEMS)}`,
    ),
  ];
}

/** From the moment at which an item may be taken to its claim, by the database's clock, while machines are idle. */
async function dispatch(postgres: TestPostgres, vendor: Vendor, folder: string): Promise<BenchRow[]> {
  const hub = await hubOn(postgres, vendor, folder);
  try {
    const repository = await backlogIn(join(folder, 'submitter'), 1);
    await hub.machine('one', { parallel: WORKERS });
    const env = { HOME: repository.home, AGENTOS_DATABASE_URL: hub.url };
    await agentos(['lld', '--all', '--quiet', ...MODELS], { cwd: repository.root, env });
    const [first] = await hub.database.rows<{ repository: string; documents: string; settings: never }>(
      'SELECT repository, documents, settings FROM agentos.runs',
    );
    if (first === undefined) throw new Error('no run');
    const { bounds, prices } = resolveConfig({}, {}, {});
    const waits: number[] = [];
    for (let n = 0; n < DISPATCHED; n++) {
      const run = {
        id: `bench-${n}`,
        repository: first.repository,
        checkout: `bench-${n}`,
        token: `bench-${n}`,
        version: '0.1.0',
        settings: Object.assign({}, first.settings, { bounds: { ...bounds, maxRetries: 0 }, prices }),
        record: {},
      };
      await registerRun(hub.database, run);
      // No such issue: the item ends at once, and the next one finds the machine idle again.
      const item = {
        key: `lld-no${n}`,
        hash: '',
        stage: 0,
        needs: [],
        after: [],
        exclusive: [],
        input: {},
        paidUsd: 0,
      };
      await submitItems(hub.database, run, first.documents, [item], async () => undefined);
      for (;;) {
        const [row] = await hub.database.rows<{ ms: number; state: string }>(
          `SELECT (extract(epoch FROM claimed_at - since) * 1000)::float8 AS ms, state FROM agentos.items WHERE key = $1`,
          [item.key],
        );
        if (row?.state === 'ended') {
          waits.push(row.ms);
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    return [
      below('an item that may start is claimed by an idle machine, median', median(waits), 30, inMs),
      shown('  95th percentile', inMs(quantile(waits, 0.95))),
    ];
  } finally {
    await hub.close();
  }
}

/** From the kill to the moment at which the last of its items runs elsewhere; with the lease that is the default. */
async function killed(postgres: TestPostgres, vendor: Vendor, folder: string): Promise<BenchRow[]> {
  const hub = await hubOn(postgres, vendor, folder);
  try {
    const repository = await backlogIn(join(folder, 'submitter'), 6);
    const calls = vendor.calls.length;
    const first = await hub.machine('first', { parallel: 6 });
    const env = { HOME: repository.home, AGENTOS_DATABASE_URL: hub.url };
    const batch = agentos(['lld', '--all', '--quiet', ...MODELS], { cwd: repository.root, env });
    while (vendor.calls.length - calls < 6) await new Promise((resolve) => setTimeout(resolve, 50));
    const second: TestMachine = await hub.machine('second', { parallel: 6 });
    const began = performance.now();
    first.program.child.kill('SIGKILL');
    const isMoved = (): boolean => second.program.stdout().split(' claimed').length > 6;
    while (!isMoved()) await new Promise((resolve) => setTimeout(resolve, 50));
    const took = performance.now() - began;
    const { code, stdout } = await batch;
    if (code !== 0) throw new Error(stdout);
    const made = vendor.calls.length - calls;
    return [
      below('kill -9 of a machine: its 6 items run elsewhere after', took, 30_000, inMs),
      { name: '  model calls for them (12 are needed)', value: String(made), target: '12', ok: made === 12 },
    ];
  } finally {
    await hub.close();
  }
}
