import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ItemEnd, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { acquireLock } from '../coordinator/lock.ts';
import type { AgentosError } from '../core/errors.ts';
import type { AgentosEvent, ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import { exitCodeOf } from '../core/exit-code.ts';
import { parseItemId } from '../core/ids.ts';
import { labelOf } from '../core/paths.ts';
import type { Plan, PlannedItem } from '../core/plan.ts';
import { countsOf, createTally, type ItemTally, retryCommandOf, type Summary } from '../core/summary.ts';
import type { People } from '../output/people.ts';
import { openRunFiles } from '../output/run-files.ts';
import { writeFileAtomic } from '../workspace/atomic-file.ts';
import { packageRoot } from '../workspace/package-root.ts';
import type { Project } from '../workspace/project.ts';
import { prepareStateFolder } from '../workspace/state-folder.ts';
import type { Batch } from './batch.ts';
import { openRunGateway, type RunGateway } from './run-gateway.ts';
import { runIdOf, runRecord, summaryOf } from './run-record.ts';

export interface RunOptions {
  project: Project;
  batch: Batch;
  plan: Plan;
  haltAfter: number | null;
  /** What the command line said, for `resume`. */
  request: Record<string, unknown>;
  /** The run that this one goes on with, if any. */
  resumes: string | null;
  /** Flags that the line to copy for a retry has to repeat. */
  retryFlags: string[];
  interrupt: Interruption;
  subscribers: Subscriber[];
  /** Shows what workers print; each line is also given to `onLine`. */
  prefixer: People['prefixer'];
  version: string;
}

/** How a person stops a run: once politely, twice at once. */
export interface Interruption {
  /** Aborted with an `interrupted` error at the first signal. */
  polite: AbortSignal;
  /** Aborted at the second. */
  now: AbortSignal;
  by: () => NodeJS.Signals | null;
}

/** Ends of an attempt after which an answer may still be on its way to the gateway. */
const DIED: ReadonlySet<string> = new Set(['worker-crashed', 'item-stalled']);

/** The parent's composition root: records the run, hands its items to the coordinator, and sums up. */
export async function runPlan(options: RunOptions): Promise<Summary> {
  const { project, batch, plan, subscribers, interrupt } = options;
  const { paths, config, mask } = project;
  const { workflow } = batch;
  const startedAt = new Date();
  const warnings = plan.items.some((item) => item.state === 'new' || item.state === 'resumed')
    ? batch.requirements(project)
    : [];

  await prepareStateFolder(paths.base);
  const runId = runIdOf(startedAt, paths.base);
  const runPaths = paths.run(runId);
  await writeFileAtomic(runPaths.record, `${mask(JSON.stringify(runRecord(options, runId, startedAt), null, 2))}\n`);
  const files = openRunFiles(runPaths, mask, (text) => {
    for (const subscriber of subscribers) subscriber({ at: now(), type: 'warning', text });
  });
  const idOf = new Map(plan.items.map(({ id }) => [labelOf(workflow, id), id]));
  const prefixer = options.prefixer((label, _stream, line) => {
    const id = idOf.get(label);
    if (id !== undefined) files.printed(workflow, id, line);
  });
  const tallies = new Map<string, ItemTally>(plan.items.map((item) => [item.id, createTally(item.title)]));
  let gateway: RunGateway | null = null;
  const publish = (event: AgentosEvent): void => {
    files.subscriber(event);
    for (const subscriber of subscribers) subscriber(event);
  };
  const emitRun = (event: RunEvent): void => publish({ at: now(), ...event });
  const emitItem = (id: string, event: ItemEvent): void => {
    const full = { at: now(), item: id, workflow, ...event };
    if (event.type === 'step-finished' && event.replayed) gateway?.addSpent(id, event.costUsd ?? 0);
    // A retry asks anew, unless its worker died with the answer on its way.
    if (event.type === 'item-retrying' && !DIED.has(event.error.problem.code)) gateway?.forget(id);
    if (event.type === 'item-finished') gateway?.end(id);
    tallies.get(id)?.add(full);
    publish(full);
  };

  emitRun({
    type: 'run-started',
    runId,
    workflow,
    items: plan.items.map((item) => item.id),
    parallel: plan.parallel,
    models: plan.models,
  });
  for (const text of warnings) emitRun({ type: 'warning', text });

  gateway = await openRunGateway({ project, emitRun, emitItem, onChange: () => coordinator.poke() });
  const coordinator = new ParallelCoordinator({
    task: batch.task,
    parallel: plan.parallel,
    worker: {
      script: join(packageRoot(), 'dist', 'worker.js'),
      env: project.childEnv,
      cwd: paths.repository,
      compileCache: join(paths.base, 'compile-cache'),
    },
    maxRetries: config.bounds.maxRetries,
    timeoutMs: config.bounds.timeoutMs,
    idleTimeoutMs: config.bounds.idleTimeoutMs,
    globalTimeoutMs: config.bounds.globalTimeoutMs,
    haltAfter: options.haltAfter,
    onEvent: emitItem,
    onHalt: ({ failures, cause }) =>
      emitRun({ type: 'warning', text: `${failures} failure(s), the last one ${cause}: nothing new is started.` }),
    claim: (id) => {
      const lock = acquireLock(paths.lock(workflow, parseItemId(id)), { workflow, id }, now());
      return () => lock.release();
    },
    isWaiting: (id) => gateway?.isWaiting(id) ?? false,
    mayStart: () => gateway?.hasQuota() ?? true,
    attachOutput: (id, { stdout, stderr }) => prefixer.attach(labelOf(workflow, parseItemId(id)), stdout, stderr),
    runTag: runId,
  });
  coordinator.warmUp(plan.items.filter((item) => item.state === 'new' || item.state === 'resumed').length);
  const onInterrupt = (): void => {
    emitRun({ type: 'interrupted', signal: interrupt.by() ?? 'SIGINT' });
    coordinator.stop(interrupt.polite.reason as AgentosError);
  };
  interrupt.polite.addEventListener('abort', onInterrupt, { once: true });
  interrupt.now.addEventListener('abort', () => coordinator.kill(), { once: true });
  if (interrupt.polite.aborted) onInterrupt();

  const ends = new Map<string, ItemEnd>();
  for (const item of plan.items) {
    const end = await endedAlready(item, project, batch);
    if (end === null) continue;
    ends.set(item.id, end);
    emitItem(item.id, { type: 'item-finished', ...end });
  }
  const open = plan.items.filter((item) => !ends.has(item.id));
  const coordinated = open.map(({ id }) => ({
    id,
    checkpoint: paths.checkpoint(workflow, id),
    input: () => batch.input(project, gateway?.access(id) ?? null),
  }));
  try {
    for (const end of await coordinator.run(coordinated)) ends.set(end.id, end);
  } finally {
    await gateway?.close();
  }

  const finishedAt = new Date();
  const items = plan.items.flatMap((item) => {
    const end = ends.get(item.id);
    const tally = tallies.get(item.id);
    return end && tally ? [summaryOf(end, tally, paths.repository)] : [];
  });
  const exitCode = exitCodeOf(
    items.map((item) => item.status),
    interrupt.by(),
  );
  const summary: Summary = {
    runId,
    workflow,
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt.toISOString(),
    parallel: plan.parallel,
    exitCode,
    counts: countsOf(items),
    retryCommand: retryCommandOf(workflow, items, options.retryFlags),
    items,
  };
  emitRun({ type: 'run-finished', runId, exitCode, durationMs: finishedAt.getTime() - startedAt.getTime() });
  files.close();
  await writeFileAtomic(runPaths.summary, mask(`${JSON.stringify(summary, null, 2)}\n`));
  return summary;
}

/** What needs no worker: an item that is done, and one that can't be read. */
async function endedAlready(item: PlannedItem, { paths }: Project, { workflow }: Batch): Promise<ItemEnd | null> {
  const plain = { id: item.id, attempts: 0, durationMs: 0, reason: null, error: item.error, outputs: [] };
  if (item.state === 'unreadable') return { ...plain, status: 'failed' };
  if (item.state !== 'done') return null;
  // A run that was killed between its last file and the end of its journal leaves a checkpoint that nobody needs.
  for (const suffix of ['', '-wal', '-shm'])
    await rm(`${paths.checkpoint(workflow, item.id)}${suffix}`, { force: true });
  return {
    ...plain,
    status: 'skipped',
    reason: 'approved already, for what the issue says now',
    outputs: [paths.lld(item.id)],
  };
}

function now(): string {
  return new Date().toISOString();
}
