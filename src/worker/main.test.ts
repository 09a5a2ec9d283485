import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ParallelCoordinator } from '../coordinator/coordinator.ts';

const TASKS = new URL('../../test/support/coordinated-task.ts', import.meta.url).href;

test('garbage is collected once in a long call of a model, and in nothing else', { timeout: 30_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agentos-worker-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const coordinator = new ParallelCoordinator({
    task: { module: TASKS, export: 'callTask' },
    parallel: 3,
    worker: { script: join(import.meta.dirname, 'main.ts'), env: {}, cwd: folder, compileCache: null },
    maxRetries: 0,
    timeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    globalTimeoutMs: null,
    haltAfter: null,
    runTag: `test-${folder.slice(-6)}`,
    onEvent: () => undefined,
  });
  const item = (id: string, model: string | null, callMs: number, restMs: number) => {
    return { id, checkpoint: join(folder, `${id}.db`), input: { model, callMs, restMs } };
  };
  const ends = await coordinator.run([
    item('long', 'anthropic:x', 6_400, 0),
    item('short', 'anthropic:x', 1_000, 3_500),
    item('without-a-model', null, 3_500, 0),
  ]);
  expect(ends.map(({ reason }) => reason)).toEqual(['1 collections', '0 collections', '0 collections']);
});
