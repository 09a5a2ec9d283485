import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Absence, type Contestant, concurrently, gnuParallel, timeOf } from './support/contestant.ts';
import { withFolder } from './support/folder.ts';
import { createRepository } from './support/repository.ts';
import { type BenchRow, below, inMb, inMs, median, shown } from './support/row.ts';
import { createSleepProgram, type SleepProgram } from './support/sleep-program.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const ROUNDS = 3;
const ITEMS = 60;
const PARALLEL = 10;
const STEPS = 5;
const STEP_MS = 100;
const IDEAL_MS = (ITEMS / PARALLEL) * STEPS * STEP_MS;
const BACKLOG = 10_000;
/** Ten node processes that do nothing but sleep make 1.053 × of it on two cores: starting them is most of the rest. */
const MOST_OVER_IDEAL = 1.12;

/** How near a batch comes to the ideal, what its peers make of it, and what a long backlog costs. */
export function coordinatorBench(): Promise<BenchRow[]> {
  return withFolder(async (folder) => {
    const program = await createSleepProgram(folder);
    return [
      ...(await makespan(program, folder)),
      ...(await speedUp(program)),
      ...(await workers(program)),
      ...(await backlog(program, folder)),
    ];
  });
}

/** In turns, so that what else the machine does hits all alike; the best of each counts, since nothing makes one faster. */
async function makespan(program: SleepProgram, folder: string): Promise<BenchRow[]> {
  const item = `${process.execPath} ${program.item}`;
  const commands = Array.from({ length: ITEMS }, (_, index) => `${item} ${index} ${STEPS} ${STEP_MS}`);
  const peers: [string, Contestant | Absence, string[]][] = [
    ['GNU parallel', gnuParallel(), ['--jobs', `${PARALLEL}`, '--line-buffer', '--tag', ':::', ...commands]],
    ['concurrently', concurrently(folder), ['--no-color', '--max-processes', `${PARALLEL}`, ...commands]],
  ];
  const batch = { items: ITEMS, parallel: PARALLEL, steps: STEPS, ms: STEP_MS };
  let own = Number.POSITIVE_INFINITY;
  const best = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    own = Math.min(own, (await program.run(batch)).wallMs);
    for (const [name, peer, args] of peers) {
      if ('absent' in peer) continue;
      const work = { command: '', count: ITEMS, folder };
      const { seconds } = await timeOf({ file: peer.file, args: () => args }, work);
      best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, seconds * 1000));
    }
  }
  const ratio = own / IDEAL_MS;
  const what = `${ITEMS} items of ${STEPS} × ${STEP_MS} ms, ${PARALLEL} workers`;
  return [
    shown(what, inMs(own)),
    {
      name: '  over the ideal',
      value: `${ratio.toFixed(3)} ×`,
      target: `≤ ${MOST_OVER_IDEAL.toFixed(2)} ×`,
      ok: ratio <= MOST_OVER_IDEAL,
    },
    ...peers.flatMap(([name, peer]): BenchRow[] => {
      if ('absent' in peer) return [shown(`  ${name}`, `skipped: ${peer.absent}`)];
      const ms = best.get(name) ?? Number.NaN;
      return [{ name: `  ${name}`, value: inMs(ms), target: '≥ ours', ok: ms >= own }];
    }),
  ];
}

async function speedUp(program: SleepProgram): Promise<BenchRow[]> {
  const batch = { items: 6, steps: STEPS, ms: STEP_MS };
  const { wallMs: sequential } = await program.run({ ...batch, parallel: 1 });
  const { wallMs: three } = await program.run({ ...batch, parallel: 3 });
  return [below('6 items, 3 workers over 1', three / sequential, 0.4, (ratio) => `${(ratio * 100).toFixed(0)} %`)];
}

async function workers(program: SleepProgram): Promise<BenchRow[]> {
  const trivial = { parallel: 1, steps: 0, ms: 0, warmMs: 1_500 };
  const starts: number[] = [];
  for (let round = 0; round < 5; round++) starts.push((await program.run({ ...trivial, items: 1 })).firstStartMs);
  const { dispatchMs } = await program.run({ ...trivial, items: 200 });
  const { busyWorkerBytes } = await program.run({ ...trivial, parallel: 3, items: 10_000, stopAfterMs: 2_000 });
  const { warmWorkerBytes } = await program.run({ ...trivial, items: 0, ownTask: true });
  return [
    below('a warm worker starts an item', median(starts), 10, inMs),
    below('dispatch, end of an item to start of the next', dispatchMs, 5, inMs),
    below('a worker with trivial items, private memory', busyWorkerBytes ?? Number.NaN, 30e6, inMb),
    below('a warm worker for LLDs, private memory', warmWorkerBytes ?? Number.NaN, 35e6, inMb),
  ];
}

async function backlog(program: SleepProgram, folder: string): Promise<BenchRow[]> {
  const root = join(folder, 'repository');
  await createRepository(root, issues());
  const plan = ['lld', '--all', '--dry-run', '--offline'];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    await promisify(execFile)(PROGRAM, plan, {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      maxBuffer: 100e6,
    });
    times.push(performance.now() - began);
  }
  const batch = { items: BACKLOG, parallel: PARALLEL, steps: 0, ms: 0, stopAfterMs: 8_000 };
  const { peakBytes, succeeded } = await program.run(batch);
  const count = BACKLOG.toLocaleString('en');
  return [
    below(`planning ${count} issues`, median(times), 2_000, inMs),
    below(`coordinator with ${count} items, private memory, peak`, peakBytes, 100e6, inMb),
    shown('  of these done within 8 s', succeeded.toLocaleString('en')),
  ];
}

function* issues(): Generator<[string, string]> {
  for (let id = 1; id <= BACKLOG; id++) {
    yield [
      String(id),
      `# Add a number ${id}\n\nCallers want it.\n\n## Acceptance criteria\n- \`item${id}(1)\` returns ${id + 1}.\n`,
    ];
  }
}
