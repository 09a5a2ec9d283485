import { existsSync } from 'node:fs';
import { type Problem, toErrorRecord } from '../core/errors.ts';
import { exitCodeOf, isFailure } from '../core/exit-code.ts';
import type { ItemId } from '../core/ids.ts';
import type { RunPaths } from '../core/paths.ts';
import { retryOf } from '../core/retry.ts';
import type { ItemState, RunState } from '../core/run-state.ts';
import { type Asked, countsOf, type ItemSummary, type Summary, summaryOf } from '../core/summary.ts';
import { writeFileAtomic } from '../process/files.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import { keptOf, placeOf } from './kept.ts';
import { isOpen, stagesAhead } from './pipeline.ts';
import type { RunOptions } from './run.ts';

/** What the state of a run that has ended comes to. */
export async function outcomeOf(
  options: RunOptions,
  state: RunState,
  { runId, startedAt }: { runId: string; startedAt: Date },
): Promise<Summary> {
  const { plan, interrupt, retryFlags } = options;
  const items: ItemSummary[] = [];
  for (const { id } of plan.items) {
    const item = state.items.get(id);
    if (item !== undefined && item.ends.length > 0) items.push(await itemSummary(options, id, item));
  }
  const retry = retryOf(
    items
      .filter((item) => isFailure(item.status))
      .map(({ id }) => ({ id, problem: state.items.get(id)?.ends.at(-1)?.error?.problem ?? null })),
    {
      workflow: plan.workflow,
      flags: retryFlags,
      models: plan.models,
      anySucceeded: items.some(({ status }) => status === 'succeeded'),
    },
  );
  return {
    runId,
    workflow: plan.workflow,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    parallel: plan.parallel,
    exitCode: exitCodeOf(
      items.map((item) => item.status),
      interrupt.by(),
    ),
    counts: countsOf(items),
    retryCommand: retry.command,
    changeFirst: retry.changeFirst,
    items,
  };
}

async function itemSummary(options: RunOptions, id: ItemId, item: ItemState): Promise<ItemSummary> {
  const { project, pipeline, plan, retryFlags } = options;
  const last = item.ends.at(-1);
  const isAhead = stagesAhead(pipeline, plan.items.filter(isOpen)).some(({ workflow }) => workflow === 'implement');
  const kept = isAhead && last ? keptOf(project, id, last, retryFlags) : null;
  return summaryOf(item, { kept, question: last?.status === 'discuss' ? await questionOf(options, id, item) : null });
}

async function questionOf(
  { project, retryFlags }: RunOptions,
  id: ItemId,
  { workflow }: ItemState,
): Promise<Asked | null> {
  const { askedOf, waitingItem } = await import('./waiting-item.ts');
  const waiting = workflow && waitingItem(project.paths, id, [workflow]);
  return waiting && askedOf(project.paths, waiting, placeOf(retryFlags));
}

/**
 * Returns why it could not be stored, or null: what was done is done. The folder may have been deleted meanwhile; without its
 * record the run could not be looked at.
 */
export async function storeSummary(
  base: string,
  run: RunPaths,
  record: string,
  summary: string,
): Promise<Problem | null> {
  try {
    await prepareStateFolder(base);
    if (!existsSync(run.record)) await writeFileAtomic(run.record, record);
    await writeFileAtomic(run.summary, summary);
    return null;
  } catch (error) {
    return toErrorRecord(error).problem;
  }
}
