import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import type { CoordinatedEnd } from '../coordinator/coordinator.ts';
import { parseItemId } from '../core/ids.ts';
import type { ItemStatus } from '../core/item.ts';
import { pathsOf, type WorkflowName } from '../core/paths.ts';
import type { PlannedItem } from '../core/plan.ts';
import { isOpen, stagesAhead } from './pipeline.ts';
import { pipelineNamed } from './plan-batch.ts';
import type { Project } from './project.ts';
import { createRunItems, endedAlready, type RunItems, type RunItemsOptions } from './run-items.ts';

const ID = parseItemId('42');
const BOTH = pipelineNamed('run');

function planned(part: Partial<PlannedItem> = {}): PlannedItem {
  return {
    id: ID,
    workflow: 'lld',
    title: 'Add a number',
    state: 'new',
    fromStep: null,
    reusedSteps: 0,
    error: null,
    files: [],
    after: [],
    exclusive: [],
    replaces: null,
    solved: null,
    forecast: [],
    ...part,
  };
}

async function options(lld: string | null): Promise<RunItemsOptions> {
  const root = await testFolder();
  const paths = pathsOf(root, join(root, '.agentos'));
  await mkdir(dirname(paths.lld(ID)), { recursive: true });
  if (lld !== null) await writeFile(paths.lld(ID), lld);
  const shared = { runId: 'r', prompts: [], isSelected: false, sandbox: null };
  const project = { paths } as Project;
  return { project, pipeline: BOTH, ...shared, onRead: () => undefined, accessOf: () => null };
}

async function items(lld: string | null): Promise<RunItems> {
  return createRunItems(await options(lld));
}

const end = (workflow: WorkflowName, status: ItemStatus): CoordinatedEnd => ({
  id: `${workflow}-42`,
  status,
  attempts: 1,
  durationMs: 0,
  reason: null,
  error: null,
  outputs: [],
});

test('stages that all items have passed are not ahead', () => {
  const ahead = (...items: PlannedItem[]): string[] => stagesAhead(BOTH, items).map(({ workflow }) => workflow);
  expect(ahead(planned())).toEqual(['lld', 'implement']);
  expect(ahead(planned({ workflow: 'implement' }))).toEqual(['implement']);
  expect(ahead(planned({ workflow: 'implement' }), planned())).toEqual(['lld', 'implement']);
  expect(ahead()).toEqual([]);
});

test('a stage announces the stage that follows, so that other items can wait for it', async () => {
  const stages = await items(null);
  expect(stages.stage(planned(), planned({ after: ['7'] }))).toMatchObject({
    id: 'lld-42',
    after: ['lld-7'],
    announces: 'implement-42',
  });
  const last = stages.stage(planned({ workflow: 'implement' }), planned({ after: ['7'] }));
  expect(last).toMatchObject({ id: 'implement-42', after: ['implement-7'] });
  expect(last.announces).toBeUndefined();
});

test('an implementation may start depending on the files and items that its design names', async () => {
  const lld = '# 42\n\n### 2.1 Files Changed\n\n| File | Change Type |\n| --- | --- |\n| `src/a.ts` | Modify |\n';
  const stages = await items(lld);
  expect(stages.next(end('lld', 'succeeded'))).toMatchObject([{ id: 'implement-42', exclusive: ['src/a.ts'] }]);
  for (const status of ['discuss', 'failed', 'cancelled', 'skipped'] as const)
    expect(stages.next(end('lld', status))).toEqual([]);
  expect(stages.next(end('implement', 'succeeded'))).toEqual([]);
});

test('a design that can’t be read holds no other item up', async () => {
  expect((await items(null)).next(end('lld', 'succeeded'))).toMatchObject([{ exclusive: [], after: [] }]);
});

test('items that need no worker have their end from the plan', async () => {
  const { project, pipeline } = await options(null);
  const error = { problem: { code: 'internal', detail: 'x' }, retry: 'permanent' } as const;
  expect(await endedAlready(planned({ state: 'unreadable', error }), project, pipeline)).toMatchObject({
    status: 'failed',
    attempts: 0,
    error,
  });
  expect(await endedAlready(planned({ state: 'dropped' }), project, pipeline)).toMatchObject({ status: 'skipped' });
  expect(await endedAlready(planned({ state: 'done' }), project, pipeline)).toMatchObject({
    status: 'skipped',
    outputs: [project.paths.lld(ID)],
  });
  expect(await endedAlready(planned(), project, pipeline)).toBeNull();
  expect([planned(), planned({ state: 'resumed' }), planned({ state: 'done' })].map(isOpen)).toEqual([
    true,
    true,
    false,
  ]);
});
