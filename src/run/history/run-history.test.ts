import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { parseItemId } from '../../core/ids.ts';
import { type Paths, pathsOf } from '../../core/paths.ts';
import { runIds } from './run-files.ts';
import { itemHistories, newestLogs, readRun, runUnderWay } from './run-history.ts';

const ID = parseItemId('42');
/** No process has it: numbers of processes are below 2^22. */
const NOBODY = 2 ** 30;

interface Run {
  pid?: number;
  processStart?: string;
  startedAt?: string;
  events?: (object | string)[];
  summary?: object;
  log?: string;
}

async function pathsWith(runs: Record<string, Run | null>): Promise<Paths> {
  const root = await testFolder();
  const paths = pathsOf(root, join(root, '.agentos'));
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  for (const [runId, run] of Object.entries(runs)) {
    const files = paths.run(runId);
    await mkdir(files.directory, { recursive: true });
    if (run === null) continue;
    const { pid = process.pid, processStart = null, startedAt = new Date().toISOString() } = run;
    const items = [
      { id: '42', title: 'One' },
      { id: '43', title: 'Two' },
    ];
    await write(files.record, JSON.stringify({ runId, workflow: 'lld', startedAt, pid, processStart, items }));
    const lines = (run.events ?? []).map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
    await write(files.events, lines.join('\n'));
    if (run.summary) await write(files.summary, JSON.stringify(run.summary));
    if (run.log !== undefined) await write(files.log('lld', ID), run.log);
  }
  return paths;
}

const ofItem = { at: '2026-01-01T00:00:00.000Z', item: '42', workflow: 'lld' };
const started = { ...ofItem, type: 'item-started', title: 'One', attempt: 1, reusedSteps: 0 };
const begun = { ...ofItem, type: 'step-started', step: 'draft' };
const ended = { ...ofItem, type: 'item-finished', status: 'succeeded', attempts: 1, durationMs: 1, outputs: [] };

test('a run goes on while its process lives: one item is at a step, the other waits', async () => {
  const paths = await pathsWith({
    r1: { events: [{ type: 'run-started', at: '', items: ['42', '43'] }, started, begun] },
  });
  expect(await readRun(paths, 'r1')).toMatchObject({
    state: 'running',
    items: [
      { id: '42', title: 'One', status: 'running', step: 'draft' },
      { id: '43', status: 'waiting', step: null },
    ],
  });
  expect(await runUnderWay(paths, ID)).toBe('r1');
});

test('a run whose process is gone was interrupted, and a half-written last line is passed over', async () => {
  const paths = await pathsWith({ r1: { pid: NOBODY, events: [started, begun, '{"type":"item-fin'] } });
  expect(await readRun(paths, 'r1')).toMatchObject({ state: 'interrupted', items: [{ status: 'interrupted' }, {}] });
  expect(await runUnderWay(paths, ID)).toBeNull();
});

test.runIf(process.platform === 'linux')(
  'a process that began at another time than the run’s is another one',
  async () => {
    const paths = await pathsWith({ r1: { processStart: '1', events: [started, begun] } });
    expect(await readRun(paths, 'r1')).toMatchObject({ state: 'interrupted' });
  },
);

test('an item that ended is no longer under way, though its run goes on', async () => {
  const paths = await pathsWith({ r1: { events: [started, begun, ended] } });
  expect(await readRun(paths, 'r1')).toMatchObject({ state: 'running', items: [{ status: 'succeeded' }, {}] });
  expect(await runUnderWay(paths, ID)).toBeNull();
  expect(await runUnderWay(paths, parseItemId('43'))).toBe('r1');
});

test('an item of a pipeline that ended one stage is not done: it is at the next one', async () => {
  const stage = { ...ended, workflow: 'lld', goesOnWith: 'implement' };
  const paths = await pathsWith({ r1: { events: [started, begun, stage] } });
  expect(await readRun(paths, 'r1')).toMatchObject({
    items: [{ status: 'running', workflow: 'implement', step: null }, {}],
  });
  expect(await runUnderWay(paths, ID)).toBe('r1');
  const killed = await pathsWith({ r1: { pid: NOBODY, events: [started, begun, stage] } });
  expect(await readRun(killed, 'r1')).toMatchObject({ items: [{ status: 'interrupted' }, {}] });
});

test('a finished run is told by its summary', async () => {
  const summary = { finishedAt: 'later', items: [{ id: '42', status: 'failed', costUsd: 0.5 }] };
  const paths = await pathsWith({ r1: { pid: NOBODY, events: [started, begun], summary } });
  expect(await readRun(paths, 'r1')).toMatchObject({
    state: 'finished',
    items: [{ status: 'failed', step: 'draft', costUsd: 0.5 }, { status: 'waiting' }],
  });
});

test('runs are listed newest first; one without a record is not read', async () => {
  const paths = await pathsWith({ '20260101T000000000Z-a': {}, '20260102T000000000Z-b': null });
  await writeFile(join(paths.runs, 'stray-file'), '');
  expect(await runIds(paths)).toEqual(['20260102T000000000Z-b', '20260101T000000000Z-a']);
  expect(await readRun(paths, '20260102T000000000Z-b')).toBeNull();
  expect(await readRun(paths, 'nothing')).toBeNull();
});

test('without a state folder there are no runs', async () => {
  const paths = pathsOf('/nonexistent', '/nonexistent/.agentos');
  expect(await runIds(paths)).toEqual([]);
  expect(await newestLogs(paths, ID, null)).toBeNull();
});

test('the newest log of an item is found, or that of one run', async () => {
  const paths = await pathsWith({ r1: { log: 'old' }, r2: { log: 'new' }, r3: {} });
  expect((await newestLogs(paths, ID, null))?.runId).toBe('r2');
  expect((await newestLogs(paths, ID, 'r1'))?.runId).toBe('r1');
  expect(await newestLogs(paths, ID, 'r3')).toBeNull();
  expect(await newestLogs(paths, parseItemId('2'), null)).toBeNull();
});

test('a pipeline has a log for each stage, in the order of the stages', async () => {
  const paths = await pathsWith({ r1: { log: 'designed' } });
  const run = paths.run('r1');
  await writeFile(run.log('implement', ID), 'implemented');
  expect((await newestLogs(paths, ID, null))?.files).toEqual([run.log('lld', ID), run.log('implement', ID)]);
});

test.each([
  [0, 'finished'],
  [1, 'failed'],
  [3, 'waiting'],
  [75, 'paused'],
  [130, 'interrupted'],
  [143, 'interrupted'],
])('a run that ended with %i is %s', async (exitCode, state) => {
  const summary = { exitCode, finishedAt: '2026-01-01T00:00:00.000Z', items: [] };
  expect(await readRun(await pathsWith({ r1: { summary } }), 'r1')).toMatchObject({ state });
});

test('of an item all runs count: the newest says where it is, and what each of them paid is added up', async () => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const answered = (costUsd: number | null): object => ({
    ...ofItem,
    type: 'gateway-call',
    keyId: null,
    usage: costUsd === null ? null : usage,
    costUsd,
  });
  const summary = {
    workflow: 'lld',
    exitCode: 1,
    finishedAt: '2026-01-01T00:00:00.000Z',
    items: [
      {
        id: '42',
        status: 'failed',
        reason: null,
        error: { message: 'no quota' },
        costUsd: 0.5,
        steps: [{ name: 'draft' }],
      },
      { id: '43', status: 'discuss', reason: 'who pays?', error: null, costUsd: null, steps: [] },
    ],
  };
  const paths = await pathsWith({
    r1: { summary },
    r2: { pid: NOBODY, events: [started, begun, answered(0.25), answered(null), { ...begun, step: 'review-1' }] },
  });
  const histories = await itemHistories(paths);
  expect(histories.get('42')).toMatchObject({
    last: { runId: 'r2', status: 'interrupted', step: 'review-1' },
    isUnderWay: false,
    costUsd: 0.75,
    runs: 2,
  });
  // The second run never came to it.
  expect(histories.get('43')).toMatchObject({ last: { runId: 'r1', status: 'discuss', reason: 'who pays?' }, runs: 1 });
  const waiting = { ...begun, type: 'quota-waiting', reason: 'quota' };
  const running = await pathsWith({ r1: { summary }, r2: { events: [started, begun, waiting] } });
  expect((await itemHistories(running)).get('42')).toMatchObject({ isUnderWay: true, needsQuota: true });
});

test('a run that was stopped before it started an item says nothing about it', async () => {
  const asked = { id: '42', status: 'discuss', reason: 'who pays?', attempts: 1, steps: [{ name: 'decision-1' }] };
  const notStarted = { id: '42', status: 'cancelled', reason: 'not started', attempts: 0, steps: [] };
  const dependent = { ...notStarted, id: '43', reason: 'not started: it depends on 42, which ended as discuss' };
  const end = { workflow: 'lld', finishedAt: '2026-01-01T00:00:00.000Z' };
  const paths = await pathsWith({
    r1: { summary: { ...end, exitCode: 3, items: [asked] } },
    r2: { summary: { ...end, exitCode: 130, items: [notStarted, dependent] } },
  });
  const histories = await itemHistories(paths);
  expect(histories.get('42')).toMatchObject({ last: { runId: 'r1', status: 'discuss' }, runs: 1 });
  expect(histories.get('43')).toMatchObject({ last: { runId: 'r2', status: 'cancelled', reason: dependent.reason } });
});

test('the items of a landing are its branches', async () => {
  const items = [
    { id: '7', title: 'Seven', workflow: 'land', status: 'failed', error: { message: 'its tests fail' } },
    { id: '8', title: 'Eight', workflow: 'land', status: 'succeeded' },
  ];
  const paths = await pathsWith({ r1: { summary: { exitCode: 1, finishedAt: 'now', items } } });
  const record = JSON.parse(await readFile(paths.run('r1').record, 'utf8'));
  await writeFile(paths.run('r1').record, JSON.stringify({ ...record, workflow: 'land' }));
  expect((await readRun(paths, 'r1'))?.items).toMatchObject([
    { id: '7', title: 'Seven', status: 'failed', reason: 'its tests fail' },
    { id: '8', title: 'Eight', status: 'succeeded', reason: null },
  ]);
});
