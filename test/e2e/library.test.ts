import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { type BatchEvent, type BatchOptions, type BatchResult, runBatch } from '../../src/index.ts';
import type { Behaviour } from '../support/batch-tasks.ts';
import { testFolder } from '../support/folder.ts';
import { eventually, isAlive, processesWith, workersOf } from '../support/processes.ts';
import { PROJECT } from '../support/program.ts';

type Tasks = typeof import('../support/batch-tasks.ts');

const TASKS = new URL('../support/batch-tasks.ts', import.meta.url);
const task = (name: keyof Tasks): BatchOptions['task'] => ({ module: TASKS, export: name });

/** A base directory of the test's own, and everything that happened. */
async function place(): Promise<{ folder: string; baseDir: string; events: BatchEvent[] }> {
  const folder = await testFolder();
  return { folder, baseDir: join(folder, 'state'), events: [] };
}

function outputs(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

async function behaves(
  items: Record<string, Behaviour>,
  options: Partial<BatchOptions> & { baseDir: string },
): Promise<BatchResult> {
  return runBatch({
    items: Object.entries(items).map(([id, input]) => ({ id, input })),
    task: task('behave'),
    parallel: 4,
    maxRetries: 0,
    ...options,
  });
}

const statuses = ({ items }: BatchResult): Record<string, string> =>
  Object.fromEntries(items.map(({ id, status }) => [id, status]));

test('results come back in the order of the items, and nothing is left behind', async () => {
  const { baseDir, events } = await place();
  const result = await behaves(
    { b: 'return', a: 'nothing', c: 'return' },
    { baseDir, onEvent: (event) => events.push(event) },
  );
  expect(result.items).toMatchObject([
    { id: 'b', status: 'succeeded', attempts: 1, result: { from: 'b' }, error: null },
    { id: 'a', status: 'succeeded', attempts: 1, result: null, error: null },
    { id: 'c', status: 'succeeded', attempts: 1, result: { from: 'c' }, error: null },
  ]);
  expect(result.counts).toEqual({ total: 3, succeeded: 3 });
  expect(events.filter(({ type }) => type === 'item-finished')).toHaveLength(3);
  const own = join(baseDir, 'batches', 'behave');
  for (const folder of ['checkpoints', 'results', 'locks']) expect(await readdir(join(own, folder))).toEqual([]);
  expect(await readFile(join(baseDir, '.gitignore'), 'utf8')).toBe('*\n');
  expect(workersOf(process.pid)).toEqual([]);
});

test('a task that throws, exits, is killed or loses a rejection fails its own item only', async () => {
  const { baseDir } = await place();
  const result = await behaves(
    { ok: 'return', throws: 'throw', exits: 'exit', killed: 'kill', rejects: 'reject', cycle: 'return a cycle' },
    { baseDir },
  );
  expect(result.items).toMatchObject([
    { id: 'ok', status: 'succeeded' },
    { id: 'throws', status: 'failed', result: null, error: { code: 'task-failed', retry: 'transient' } },
    { id: 'exits', status: 'crashed', error: { problem: { code: 'worker-crashed', exitCode: 3 } } },
    { id: 'killed', status: 'crashed', error: { problem: { code: 'worker-crashed', signal: 'SIGKILL' } } },
    { id: 'rejects', status: 'crashed', error: { code: 'worker-crashed' } },
    { id: 'cycle', status: 'failed', error: { code: 'task-failed', retry: 'permanent' } },
  ]);
  const [, throws, , , rejects] = result.items;
  expect(throws?.error?.message).toBe('Its task failed: no luck with throws.');
  expect(rejects?.error?.message).toContain('nobody listens');
  expect(result.counts).toEqual({ total: 6, succeeded: 1, failed: 2, crashed: 3 });
});

test('a failure that may pass is tried again, one that may not is not', async () => {
  const { baseDir, events } = await place();
  const result = await behaves(
    { later: 'throw once', never: 'give up' },
    { baseDir, maxRetries: 2, onEvent: (event) => events.push(event) },
  );
  expect(result.items).toMatchObject([
    { id: 'later', status: 'succeeded', attempts: 2, result: 2 },
    { id: 'never', status: 'failed', attempts: 1, error: { problem: { reason: 'it will never work' } } },
  ]);
  expect(events).toContainEqual(expect.objectContaining({ item: 'later', type: 'item-retrying', attempt: 2 }));
});

test('a task without a sign of life is ended, even in a loop; one that gives signs is not', async () => {
  const { baseDir } = await place();
  const result = await behaves({ hangs: 'hang', spins: 'spin', beats: 'beat' }, { baseDir, idleTimeoutMs: 2_000 });
  expect(statuses(result)).toEqual({ hangs: 'stalled', spins: 'stalled', beats: 'succeeded' });
  expect(workersOf(process.pid)).toEqual([]);
});

test('the time for an item and for the whole batch is bounded', async () => {
  const { baseDir } = await place();
  const item = await behaves({ hangs: 'hang', ok: 'return' }, { baseDir, timeoutMs: 1_500 });
  expect(statuses(item)).toEqual({ hangs: 'timed-out', ok: 'succeeded' });
  expect(item.items[0]?.error?.code).toBe('item-timeout');
  const batch = await behaves({ hangs: 'hang', waits: 'return' }, { baseDir, parallel: 1, globalTimeoutMs: 500 });
  expect(statuses(batch)).toEqual({ hangs: 'timed-out', waits: 'cancelled' });
});

test('a process out of memory fails its own item only', async () => {
  const { folder, baseDir } = await place();
  const env = { ...process.env, NODE_OPTIONS: '--max-old-space-size=40' };
  const result = await behaves({ eats: 'eat memory', ok: 'return' }, { baseDir, env, cwd: folder });
  expect(statuses(result)).toEqual({ eats: 'crashed', ok: 'succeeded' });
});

test('tasks see the environment that they are given', async () => {
  const { baseDir } = await place();
  const { items } = await behaves({ a: 'environment' }, { baseDir, env: { ...process.env, BATCH_TEST: 'yes' } });
  expect(items[0]?.result).toBe('yes');
});

test('haltAfter starts nothing new after so many failures', async () => {
  const { baseDir } = await place();
  const items: Record<string, Behaviour> = { a: 'throw', b: 'throw', c: 'return' };
  const halted = await behaves(items, { baseDir, parallel: 1, haltAfter: 2 });
  expect(statuses(halted)).toEqual({ a: 'failed', b: 'failed', c: 'cancelled' });
  const { items: all } = await behaves({ d: 'throw', e: 'throw', f: 'throw', g: 'return' }, { baseDir, parallel: 1 });
  expect(all.at(-1)).toMatchObject({ id: 'g', status: 'succeeded' });
});

test('never more than ten processes, whatever is asked for', async () => {
  const { folder, baseDir } = await place();
  const meeting = join(folder, 'meeting');
  await mkdir(meeting);
  let running = 0;
  let most = 0;
  let workers = 0;
  const result = await runBatch({
    items: Array.from({ length: 14 }, (_, index) => ({ id: `i${index}`, input: { folder: meeting, others: 10 } })),
    task: task('meet'),
    parallel: 50,
    baseDir,
    onEvent: ({ type }) => {
      if (type === 'item-started') running += 1;
      if (type === 'item-finished') running -= 1;
      most = Math.max(most, running);
      workers = Math.max(workers, workersOf(process.pid).length);
    },
  });
  expect(result.counts).toEqual({ total: 14, succeeded: 14 });
  expect(result.parallel).toBe(10);
  expect(most).toBe(10);
  expect(workers).toBe(10);
});

test('lines that tasks print at the same time arrive whole, each behind its id, in their order', async () => {
  const { folder, baseDir } = await place();
  const meeting = join(folder, 'meeting');
  await mkdir(meeting);
  const { stream, text } = outputs();
  const ids = ['one', 'two', 'three'];
  await runBatch({
    items: ids.map((id) => ({ id, input: { folder: meeting, others: ids.length } })),
    task: task('chatter'),
    parallel: 3,
    baseDir,
    output: stream,
  });
  const lines = text().split('\n').slice(0, -1);
  for (const id of ids) {
    const own = lines.filter((line) => line.startsWith(`[${id}] `));
    const printed = Array.from({ length: 100 }, (_, index) => `[${id}] ${id} prints line ${index + 1}`);
    expect(own.filter((line) => line.includes('prints'))).toEqual(printed);
    expect(own).toContain(`[${id}] here`);
  }
  expect(lines).toHaveLength(303);
  const turns = lines.filter((line, index) => line.slice(0, 5) !== lines[index - 1]?.slice(0, 5));
  expect(turns.length).toBeGreaterThan(20);
});

test('run again, the batch goes on where it stopped; when all is well, the next run begins anew', async () => {
  const { folder, baseDir, events } = await place();
  const { stream, text } = outputs();
  const run = (): Promise<BatchResult> =>
    runBatch({
      items: ['a', 'b'].map((id) => ({ id, input: { folder } })),
      task: task('twoSteps'),
      parallel: 2,
      baseDir,
      onEvent: (event) => events.push(event),
      output: stream,
      secrets: ['hunter2-hunter2'],
    });
  const linesOf = async (file: string): Promise<number> =>
    (await readFile(join(folder, file), 'utf8')).split('\n').length - 1;

  await writeFile(join(folder, 'a.open'), '');
  await writeFile(join(folder, 'b.closed'), '');
  expect(statuses(await run())).toEqual({ a: 'succeeded', b: 'failed' });
  expect(await readdir(join(baseDir, 'batches', 'twoSteps', 'checkpoints'))).toContain('b.db');
  expect(existsSync(join(baseDir, 'batches', 'twoSteps', 'checkpoints', 'a.db'))).toBe(false);

  await rm(join(folder, 'b.closed'));
  await writeFile(join(folder, 'b.open'), '');
  events.length = 0;
  expect(await run()).toMatchObject({
    items: [
      { id: 'a', status: 'skipped', attempts: 0, result: 'second of a', error: null },
      { id: 'b', status: 'succeeded', attempts: 1, result: 'second of b' },
    ],
    counts: { total: 2, skipped: 1, succeeded: 1 },
  });
  expect(events).toContainEqual(expect.objectContaining({ type: 'step-finished', step: 'first', replayed: true }));
  for (const file of ['a.first', 'a.second', 'b.first', 'b.second']) expect(await linesOf(file)).toBe(1);
  expect(text()).toContain('[b] {"secret":"********","at":"1970-01-01T00:00:00.000Z"}');
  expect(text()).not.toContain('hunter2');

  expect(statuses(await run())).toEqual({ a: 'succeeded', b: 'succeeded' });
  expect(await linesOf('a.first')).toBe(2);
});

test('a finished item with another input is not skipped', async () => {
  const { baseDir } = await place();
  expect(statuses(await behaves({ a: 'return', b: 'throw' }, { baseDir }))).toEqual({ a: 'succeeded', b: 'failed' });
  const again = await behaves({ a: 'nothing', b: 'throw' }, { baseDir });
  expect(again.items[0]).toMatchObject({ id: 'a', status: 'succeeded', result: null });
});

test('an abort ends what runs, starts nothing new, and is gone on from', async () => {
  const { folder, baseDir } = await place();
  const controller = new AbortController();
  let done = 0;
  const options: BatchOptions = {
    items: ['a', 'b', 'c'].map((id) => ({ id, input: { folder } })),
    task: task('twoSteps'),
    parallel: 2,
    baseDir,
  };
  const stopped = await runBatch({
    ...options,
    signal: controller.signal,
    onEvent: ({ type }) => {
      if (type === 'step-finished') done += 1;
      if (done === 2) controller.abort();
    },
  });
  expect(statuses(stopped)).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' });
  expect(stopped.items[2]).toMatchObject({ attempts: 0, reason: 'not started' });
  expect(workersOf(process.pid)).toEqual([]);

  for (const id of ['a', 'b', 'c']) await writeFile(join(folder, `${id}.open`), '');
  expect((await runBatch(options)).counts).toEqual({ total: 3, succeeded: 3 });
  for (const id of ['a', 'b', 'c']) expect(await readFile(join(folder, `${id}.first`), 'utf8')).toBe('done\n');
  expect((await runBatch({ ...options, signal: AbortSignal.abort() })).counts).toEqual({ total: 3, cancelled: 3 });
});

test('kill -9 of the program leaves no process, and the next run repeats no finished step', async () => {
  const { folder, baseDir } = await place();
  const program = join(folder, 'program.mjs');
  await writeFile(
    program,
    `import { runBatch } from ${JSON.stringify(pathToFileURL(join(PROJECT, 'dist/index.js')).href)};
     const { counts } = await runBatch({
       items: ['a', 'b'].map((id) => ({ id, input: { folder: ${JSON.stringify(folder)} } })),
       task: { module: ${JSON.stringify(TASKS.href)}, export: 'twoSteps' },
       parallel: 2,
       baseDir: ${JSON.stringify(baseDir)},
       output: process.stdout,
     });
     process.stdout.write(JSON.stringify(counts));`,
  );
  const start = () => {
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return { child, stdout: () => stdout };
  };
  const first = start();
  await eventually('both first steps are done', () => ['[a]', '[b]'].every((label) => first.stdout().includes(label)));
  const workers = workersOf(first.child.pid);
  expect(workers).toHaveLength(2);
  first.child.kill('SIGKILL');
  await eventually('no worker is left', () => !workers.some(isAlive));

  for (const id of ['a', 'b']) await writeFile(join(folder, `${id}.open`), '');
  const second = start();
  await once(second.child, 'close');
  expect(second.stdout()).toContain('{"total":2,"succeeded":2}');
  for (const id of ['a', 'b']) expect(await readFile(join(folder, `${id}.first`), 'utf8')).toBe('done\n');
  expect(processesWith(folder)).toEqual([]);
});

test('two batches never work on one item at the same time', async () => {
  const { folder, baseDir } = await place();
  const options: BatchOptions = { items: [{ id: 'a', input: { folder } }], task: task('twoSteps'), baseDir };
  const { promise: firstStepDone, resolve } = Promise.withResolvers<void>();
  const first = runBatch({
    ...options,
    onEvent: ({ type }) => {
      if (type === 'step-finished') resolve();
    },
  });
  await firstStepDone;
  const second = await runBatch(options);
  expect(second).toMatchObject({ items: [{ status: 'failed', error: { code: 'item-locked' } }] });
  await writeFile(join(folder, 'a.open'), '');
  expect(statuses(await first)).toEqual({ a: 'succeeded' });
});

test('an onEvent that throws stops the batch, and runBatch rejects with what was thrown', async () => {
  const { baseDir } = await place();
  const onEvent = (): void => {
    throw new RangeError('mine');
  };
  await expect(behaves({ a: 'hang', b: 'return' }, { baseDir, onEvent })).rejects.toThrow(new RangeError('mine'));
  expect(workersOf(process.pid)).toEqual([]);
});

test('a module that does not load, and one without the export, fail their items with the reason', async () => {
  const { folder, baseDir } = await place();
  const broken = join(folder, 'broken.mjs');
  await writeFile(broken, 'export const = 1;');
  const loading = await runBatch({ items: [{ id: 'a' }], task: { module: broken }, baseDir });
  expect(loading.items[0]).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'task-failed' } });
  const missing = await runBatch({ items: [{ id: 'a' }], task: task('notATask'), baseDir });
  expect(missing.items[0]).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'task-missing' } });
});

test('what can’t work is refused before any file is touched', async () => {
  const { folder, baseDir } = await place();
  const good = { items: [{ id: 'a' }], task: task('behave'), baseDir };
  const refused: [object, string][] = [
    [{ items: [{ id: '../a' }] }, 'bad-id'],
    [{ items: [{ id: 'a' }, { id: 'a' }] }, 'usage'],
    [{ items: [{ id: 7 }] }, 'usage'],
    [{ items: [{ id: 'a', input: 1n }] }, 'usage'],
    [{ name: '../elsewhere' }, 'bad-id'],
    [{ parallel: 0 }, 'usage'],
    [{ parallel: Number.NaN }, 'usage'],
    [{ timeoutMs: 2 ** 31 }, 'usage'],
    [{ timeout: 5 }, 'usage'],
    [{ task: { module: './batch-tasks.ts' } }, 'usage'],
    [{ task: { module: join(folder, 'missing.mjs') } }, 'usage'],
    [{ task: undefined }, 'usage'],
  ];
  for (const [change, code] of refused) {
    await expect(runBatch({ ...good, ...change }), JSON.stringify(Object.keys(change))).rejects.toMatchObject({ code });
  }
  expect(existsSync(baseDir)).toBe(false);
});
