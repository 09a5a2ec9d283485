import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { pathsOf } from '../../core/paths.ts';
import { paidSince, readPastCosts } from './past-costs.ts';

const MODELS = { drafter: 'anthropic:a', reviewer: 'google:b' };
const answered = (item: string, role: string, costUsd: number | null, metered = true) => ({
  type: 'model-answered',
  workflow: 'lld',
  item,
  role,
  costUsd,
  metered,
});
const finished = (item: string, status: string) => ({ type: 'item-finished', workflow: 'lld', item, status });

async function place(runs: (object | string)[][], models: Record<string, string> = MODELS) {
  const folder = await testFolder();
  const paths = pathsOf(folder, join(folder, '.agentos'));
  for (const [index, events] of runs.entries()) {
    const run = paths.run(`2026010${index + 1}T000000000Z-00000000`);
    await mkdir(join(run.events, '..'), { recursive: true });
    await writeFile(
      run.record,
      JSON.stringify({
        runId: 'r',
        workflow: 'lld',
        startedAt: '',
        pid: 1,
        models,
        items: [{ id: '9', title: 'Nine', state: index === 0 ? 'new' : 'resumed' }],
      }),
    );
    const lines = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
    await writeFile(run.events, `${lines.join('\n')}\n`);
  }
  return paths;
}

test('the average of items that succeeded, by workflow, role and model', async () => {
  const paths = await place([
    [answered('1', 'drafter', 0.1), answered('1', 'drafter', 0.1), answered('1', 'reviewer', 0.01)],
    // The first item needed another run.
    [answered('1', 'drafter', 0.2), finished('1', 'succeeded'), answered('2', 'drafter', 0.2), '{"type":"model-answ'],
    [finished('2', 'succeeded')],
  ]);
  const past = await readPastCosts(paths, {});
  const drafter = past.usual('lld', 'drafter', 'anthropic:a');
  expect(drafter).toMatchObject({ items: 2 });
  expect(drafter?.usd).toBeCloseTo(0.3);
  expect(past.usual('lld', 'reviewer', 'google:b')).toEqual({ usd: 0.01, items: 1 });
  expect(past.usual('lld', 'drafter', 'anthropic:other')).toBeNull();
  expect(past.usual('implement', 'reviewer', 'google:b')).toBeNull();
  expect(past.begunUsd('lld', '1')).toBe(0);
});

test('what was paid for an item that has not succeeded is known, and no average comes from it', async () => {
  const past = await readPastCosts(
    await place([
      [answered('1', 'drafter', 0.5), finished('1', 'failed')],
      [answered('1', 'reviewer', 0.25), finished('1', 'discuss')],
    ]),
    {},
  );
  expect(past.begunUsd('lld', '1')).toBe(0.75);
  expect(past.usual('lld', 'drafter', 'anthropic:a')).toBeNull();
});

test('an unknown cost is no sample; what nobody meters costs nothing', async () => {
  const past = await readPastCosts(
    await place([
      [answered('1', 'drafter', null), answered('1', 'reviewer', null, false), finished('1', 'succeeded')],
      [answered('2', 'drafter', null), answered('2', 'drafter', 0.1), finished('2', 'succeeded')],
    ]),
    {},
  );
  expect(past.usual('lld', 'drafter', 'anthropic:a')).toBeNull();
  expect(past.usual('lld', 'reviewer', 'google:b')).toEqual({ usd: 0, items: 1 });
});

test('all that was paid for an item since it was new is known, also for calls whose work was lost', async () => {
  const call = (item: string, costUsd: number | null) => ({
    type: 'gateway-call',
    workflow: 'implement',
    item,
    vendor: 'anthropic',
    status: 200,
    costUsd,
    usage: { inputTokens: 0, outputTokens: 100_000, cacheReadTokens: 0, cacheWriteTokens: 0 },
  });
  const done = { ...finished('8', 'succeeded'), goesOnWith: 'implement' };
  const past = await readPastCosts(
    await place([
      [call('9', 1), finished('9', 'over-budget'), call('8', 2), done],
      [call('9', 2), call('9', null), finished('9', 'failed'), call('8', 1)],
    ]),
    {},
  );
  // The dearest of the vendor writes a million tokens for $75.
  expect(past.paidUsd('9')).toBeCloseTo(1 + 2 + 7.5);
  expect(past.paidUsd('8')).toBeCloseTo(3);
  expect(past.paidUsd('7')).toBe(0);
});

test('what a finished or restarted item has cost no longer counts', async () => {
  const call = { type: 'gateway-call', workflow: 'lld', item: '9', vendor: 'google', costUsd: 1, usage: null };
  const ended = await readPastCosts(await place([[call, finished('9', 'succeeded')]]), {});
  expect(ended.paidUsd('9')).toBe(0);
  const paths = await place([[call, finished('9', 'failed')], [call]]);
  const record = { models: MODELS, items: [{ id: '9', state: 'new' }] };
  await writeFile(paths.run('20260102T000000000Z-00000000').record, JSON.stringify(record));
  expect((await readPastCosts(paths, {})).paidUsd('9')).toBe(1);
});

test('without any run nothing is known', async () => {
  const past = await readPastCosts(await place([]), {});
  expect(past.usual('lld', 'drafter', 'anthropic:a')).toBeNull();
  expect(past.begunUsd('lld', '1')).toBe(0);
});

test('what was paid since a moment is counted over all runs, killed ones too, and unknown prices at the vendor’s dearest', async () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const call = (at: string, costUsd: number | null, vendor = 'anthropic') => ({
    type: 'gateway-call',
    item: '1',
    workflow: 'lld',
    vendor,
    status: 200,
    at,
    costUsd,
    usage,
  });
  const paths = await place([
    [call('2026-01-01T23:59:59.999Z', 4), call('2026-01-02T00:00:00.000Z', 1)],
    [call('2026-01-02T10:00:00.000Z', 0.5), answered('1', 'drafter', 9), '{"type":"gateway-call","at":"2026-01-'],
    [call('2026-01-02T11:00:00.000Z', null)],
  ]);
  const since = Date.parse('2026-01-02T00:00:00.000Z');
  const price = { input: 2, output: 2 };
  expect(
    await paidSince(paths, { 'anthropic:a': price, 'anthropic:b': { input: 3, output: 3 } }, since),
  ).toBeGreaterThanOrEqual(4.5);
  expect(await paidSince(paths, {}, Date.parse('2026-01-02T11:00:00.001Z'))).toBe(0);
});
