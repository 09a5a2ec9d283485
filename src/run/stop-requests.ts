import { appendFile } from 'node:fs/promises';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { isHolderAlive } from '../process/lock.ts';
import type { CancelRequest } from './follow-cancels.ts';
import { type RunRecord, readRecord, readSummary } from './run-history.ts';

/** Stops a run, in whichever terminal it is: like Ctrl+C there, and the second time too. */
export async function stopRun(paths: Paths, runId: string): Promise<void> {
  const record = await runUnderWay(paths, runId);
  if (isAlive(record)) return void process.kill(record.pid, 'SIGINT');
  // It was left at a hub: what follows it now asks there for the end of its items.
  for (const { id } of record.items) await requestCancel(paths, runId, parseItemId(id), 'the dashboard');
}

/**
 * Asks a run to cancel one item. A line in the run's folder is all there is to it: only those can write it who could as well
 * stop the whole run, and nothing of it outlives the run.
 */
export async function requestCancel(paths: Paths, runId: string, id: ItemId, by: string): Promise<void> {
  await runUnderWay(paths, runId);
  const request: CancelRequest = { at: new Date().toISOString(), type: 'cancel', item: id, by };
  await appendFile(paths.run(runId).requests, `${JSON.stringify(request)}\n`, { mode: 0o600 });
}

/** Its process is the one that began it: another one may have been given its number since. */
async function runUnderWay(paths: Paths, runId: string): Promise<RunRecord> {
  const record = await readRecord(paths, runId);
  if (record === null) throw new AgentosError({ code: 'run-missing', run: runId });
  const isLeft = record.hub?.isSubmitted === true && (await readSummary(paths, runId)) === null;
  if (!isAlive(record) && !isLeft) throw new AgentosError({ code: 'run-ended', run: runId });
  return record;
}

function isAlive(record: RunRecord): boolean {
  return isHolderAlive({ ...record, since: record.startedAt });
}
