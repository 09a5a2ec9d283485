import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CoordinatedItem, type ItemEnd, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { endOf } from '../coordinator/item-end.ts';
import { systemClock } from '../core/clock.ts';
import { type AgentosError, isDiskReason, toErrorRecord } from '../core/errors.ts';
import type { AgentosEvent, ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import { exitCodeOf, isFailure } from '../core/exit-code.ts';
import type { ItemId } from '../core/ids.ts';
import type { WorkflowName } from '../core/paths.ts';
import { cycleNote, type Plan, replacementLines } from '../core/plan.ts';
import { retryOf } from '../core/retry.ts';
import { type Asked, countsOf, createTally, type ItemSummary, type ItemTally, type Summary } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import type { People } from '../output/people.ts';
import { openRunFiles } from '../output/run-files.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import { compiledCodeFolder } from '../process/compiled-code.ts';
import { acquireLock } from '../process/lock.ts';
import { packageRoot } from '../process/package-root.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
import { type Pipeline, rolesOf } from './batch.ts';
import { createDiskWatch } from './disk-watch.ts';
import { keptOf, placeOf } from './kept.ts';
import type { Project } from './project.ts';
import { openRunGateway, type RunGateway } from './run-gateway.ts';
import { outputsIn, runIdOf, runRecord, storeSummary, summaryOf } from './run-record.ts';
import { openTrace } from './run-tracing.ts';
import { createSequel } from './sequel.ts';
import { doneElsewhere, endedAlready, goesOnWith, isOpen, type StagedItem, stagedItem, stagesAhead } from './stages.ts';
import { sweep } from './sweep.ts';

export interface RunOptions {
  project: Project;
  pipeline: Pipeline;
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
  /** Whom to suspend while the program itself is (Ctrl+Z), and to resume with it. */
  onStopped: (suspension: Suspension) => void;
}

export interface Suspension {
  suspend(): void;
  resume(): void;
}

/** A shorter suspension is not worth a word. */
const NOTABLE_SUSPENSION_MS = 5_000;

/** Ends of an attempt after which an answer may still be on its way to the gateway. */
const DIED: ReadonlySet<string> = new Set(['worker-crashed', 'item-stalled']);

/** After the second signal nothing is waited for that takes longer: what is known by then is summed up. */
const LAST_WORDS_MS = 700;

/** The parent's composition root: records the run, hands its items to the coordinator, and sums up. */
export async function runPlan(options: RunOptions): Promise<Summary> {
  const trace = await openTrace(options);
  try {
    return await trace.within(() => runTraced(options, trace));
  } finally {
    await trace.close({ exitCode: null, giveUp: options.interrupt.now });
  }
}

async function runTraced(options: RunOptions, trace: RunTrace): Promise<Summary> {
  const { project, pipeline, plan, subscribers, interrupt } = options;
  const { paths, config, mask } = project;
  const startedAt = new Date();
  const startedMs = systemClock.now();
  const open = plan.items.filter(isOpen);
  const ahead = stagesAhead(pipeline, open);
  const warnings = await Promise.all(ahead.map((stage) => stage.requirements(project)));

  await prepareStateFolder(paths.base);
  await project.designs.save();
  await sweep(project, plan);
  const runId = runIdOf(startedAt, paths.base);
  const runPaths = paths.run(runId);
  const recordText = `${mask(JSON.stringify(runRecord(options, runId, startedAt, trace.context), null, 2))}\n`;
  await writeFileAtomic(runPaths.record, recordText);
  const files = openRunFiles(runPaths, mask, ({ path, reason }) => {
    if (isDiskReason(reason)) disk.refused(path, reason);
    else emitRun({ type: 'warning', text: wordingOf({ code: 'output-unwritable', path, reason }).message });
  });
  /** Every stage of every item, by key and by label. */
  const staged = new Map<string, StagedItem>();
  for (const { id } of plan.items) {
    for (const { workflow } of pipeline.stages) {
      const item = stagedItem(workflow, id);
      staged.set(item.key, item);
      staged.set(item.label, item);
    }
  }
  const prefixer = options.prefixer((label, _stream, line) => {
    const item = staged.get(label);
    if (item !== undefined) files.printed(item.workflow, item.id, line);
  });
  const tallies = new Map<string, ItemTally>(plan.items.map((item) => [item.id, createTally(item.title)]));
  let gateway: RunGateway | null = null;
  const publish = (event: AgentosEvent): void => {
    files.subscriber(event);
    trace.subscriber(event);
    for (const subscriber of subscribers) subscriber(event);
  };
  const emitRun = (event: RunEvent): void => publish({ at: now(), ...event });
  const current = new Map<string, StagedItem>(
    plan.items.map(({ id, workflow }) => [id, stagedItem(workflow, id)] as const),
  );
  const emitStage = ({ id, workflow }: StagedItem, given: ItemEvent): void => {
    const event =
      given.type === 'item-finished' ? { ...given, outputs: outputsIn(paths.repository, given.outputs) } : given;
    const full = { at: now(), item: id, workflow, ...event, ...goesOnWith(pipeline, workflow, event) };
    gateway?.heard(id, event);
    // A retry asks anew, unless its worker died with the answer on its way.
    if (event.type === 'item-retrying' && !DIED.has(event.error.problem.code)) gateway?.forget(id);
    if (event.type === 'item-finished') gateway?.end(id);
    tallies.get(id)?.add(full);
    publish(full);
    if (event.type === 'item-finished' && event.error !== null && isFailure(event.status)) disk.failed(event.error);
  };
  /** Keys of stages whose end is known. A worker that was killed may say its last word later. */
  const ended = new Set<string>();
  const byKey = (key: string): StagedItem => {
    const item = staged.get(key);
    if (item === undefined) throw new TypeError(`${key} is not part of the run`);
    return item;
  };

  const coordinator = new ParallelCoordinator({
    task: pipeline.stages[0].task,
    parallel: plan.parallel,
    worker: {
      script: join(packageRoot(), 'dist', 'worker.js'),
      env: { ...project.childEnv, ...trace.environment },
      cwd: paths.repository,
      compileCache: compiledCodeFolder(),
    },
    maxRetries: config.bounds.maxRetries,
    timeoutMs: config.bounds.timeoutMs,
    idleTimeoutMs: config.bounds.idleTimeoutMs,
    globalTimeoutMs: config.bounds.globalTimeoutMs,
    haltAfter: options.haltAfter,
    onEvent: (key, event) => {
      if (!ended.has(key)) emitStage(byKey(key), event);
    },
    onHalt: ({ failures, cause }) =>
      emitRun({ type: 'warning', text: `${failures} failure(s), the last one ${cause}: nothing new is started.` }),
    claim: (key) => {
      const { workflow, id } = byKey(key);
      const lock = acquireLock(paths.lock(workflow, id), { workflow, id }, now());
      return () => lock.release();
    },
    // Of several items, one that another run is at can wait its turn; for one alone a person should know at once.
    claimWaitMs: open.length > 1 ? config.bounds.timeoutMs : 0,
    alreadyDone: (key) => doneElsewhere(byKey(key), project, pipeline),
    isWaiting: (key) => gateway?.isWaiting(byKey(key).id) ?? false,
    mayStart: () => gateway?.hasQuota() ?? true,
    attachOutput: (key, { stdout, stderr }) => prefixer.attach(byKey(key).label, stdout, stderr),
    nameOf: (key) => byKey(key).id,
    traceAttempt: (key, attempt) => trace.attempt(byKey(key), attempt),
    runTag: runId,
  });
  const disk = createDiskWatch([paths.base, paths.repository], (problem) => {
    const { message, hint } = wordingOf(problem);
    emitRun({ type: 'warning', text: `${message} Nothing new is started. ${hint ?? ''}`.trimEnd() });
    coordinator.halt({ problem, retry: 'permanent' });
  });

  emitRun({
    type: 'run-started',
    runId,
    workflow: plan.workflow,
    items: plan.items.map((item) => item.id),
    parallel: plan.parallel,
    models: plan.models,
    groups: plan.groups,
  });
  const warned = new Set<string>();
  const warn = (text: string): void => {
    if (!warned.has(text)) emitRun({ type: 'warning', text });
    warned.add(text);
  };
  for (const text of [...plan.notes, ...warnings.flat(), ...trace.warnings]) warn(text);
  for (const text of replacementLines(open)) emitRun({ type: 'warning', text });
  trace.onProblem((text) => emitRun({ type: 'warning', text }));

  gateway = await openRunGateway({
    project,
    roles: rolesOf(ahead),
    emitRun,
    emitItem: (id, event) => {
      const item = current.get(id);
      if (item !== undefined) emitStage(item, event);
    },
    onChange: () => coordinator.poke(),
    traceRequest: (request, work) => trace.request(request, work),
  });
  const resumed = gateway === null ? [] : open.filter(({ state }) => state === 'resumed');
  if (resumed.length > 0) {
    const { readPastCosts } = await import('./past-costs.ts');
    const past = await readPastCosts(paths, config.prices);
    for (const { id } of resumed) gateway?.addEarlier(id, past.paidUsd(id));
  }
  coordinator.warmUp(open.length);
  const onInterrupt = (): void => {
    emitRun({ type: 'interrupted', signal: interrupt.by() ?? 'SIGINT' });
    coordinator.stop(interrupt.polite.reason as AgentosError);
  };
  interrupt.polite.addEventListener('abort', onInterrupt, { once: true });
  const killed = new Promise<void>((resolve) => {
    const onKill = (): void => {
      coordinator.kill();
      void sleep(LAST_WORDS_MS, undefined, { ref: false }).then(resolve);
    };
    interrupt.now.addEventListener('abort', onKill, { once: true });
    if (interrupt.now.aborted) onKill();
  });
  if (interrupt.polite.aborted) onInterrupt();
  interrupt.onStopped(coordinator);
  const stopWatching = systemClock.onSuspended((forMs) => {
    if (forMs >= NOTABLE_SUSPENSION_MS) emitRun({ type: 'suspended', forMs });
  });

  const ends = new Map<string, ItemEnd[]>();
  const record = ({ id, key }: StagedItem, end: Omit<ItemEnd, 'id'>): void => {
    ended.add(key);
    ends.set(id, [...(ends.get(id) ?? []), { ...end, id }]);
  };
  for (const item of plan.items) {
    const end = await endedAlready(item, project, pipeline);
    if (end === null) continue;
    const staged = stagedItem(item.workflow, item.id);
    record(staged, end);
    emitStage(staged, { type: 'item-finished', ...end });
  }
  const stageOptions = { project, plan, pipeline, accessOf: (id: ItemId) => gateway?.access(id) ?? null };
  const sequel = createSequel({
    ...stageOptions,
    staged: byKey,
    onStage: (item) => current.set(item.id, item),
    onCycle: (ids) => warn(cycleNote(ids)),
  });
  const next = (end: ItemEnd): CoordinatedItem[] => {
    if (ended.has(end.id)) return [];
    record(byKey(end.id), end);
    return sequel.next(end);
  };
  const endUnheard = (item: StagedItem, end: Omit<ItemEnd, 'id'>): void => {
    record(item, end);
    emitStage(item, { type: 'item-finished', ...end });
  };
  try {
    await Promise.race([coordinator.run(sequel.first(), { next }), killed]);
    for (const { item, end } of sequel.neverStarted()) endUnheard(item, end);
    // Killed, and not heard of since.
    for (const item of [...current.values()].filter(({ key }) => !ended.has(key)))
      endUnheard(item, { attempts: 1, durationMs: 0, ...endOf({ error: toErrorRecord(interrupt.polite.reason) }) });
  } finally {
    stopWatching();
    await Promise.race([gateway?.close(), killed]);
  }

  // From here on the outcome is settled: a signal can't change it, and no event comes after `run-finished`.
  interrupt.polite.removeEventListener('abort', onInterrupt);
  const finishedAt = new Date();
  const items: ItemSummary[] = [];
  for (const { id } of plan.items) {
    const reached = ends.get(id) ?? [];
    const tally = tallies.get(id);
    const last = reached.at(-1);
    if (last === undefined || !tally) continue;
    const isAhead = ahead.some(({ workflow }) => workflow === 'implement');
    const kept = isAhead ? keptOf(project, id, last, options.retryFlags) : null;
    const reachedWorkflow = current.get(id)?.workflow ?? pipeline.stages[0].workflow;
    const question = last.status === 'discuss' ? await questionOf(options, id, reachedWorkflow) : null;
    items.push(summaryOf(reachedWorkflow, reached, tally, paths.repository, { kept, question }));
  }
  const exitCode = exitCodeOf(
    items.map((item) => item.status),
    interrupt.by(),
  );
  const failures = items
    .filter((item) => isFailure(item.status))
    .map(({ id }) => ({ id, problem: ends.get(id)?.at(-1)?.error?.problem ?? null }));
  const retry = retryOf(failures, {
    workflow: plan.workflow,
    flags: options.retryFlags,
    models: plan.models,
    anySucceeded: items.some(({ status }) => status === 'succeeded'),
  });
  const summary: Summary = {
    runId,
    workflow: plan.workflow,
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt.toISOString(),
    parallel: plan.parallel,
    exitCode,
    counts: countsOf(items),
    retryCommand: retry.command,
    changeFirst: retry.changeFirst,
    items,
  };
  await trace.close({ exitCode, giveUp: interrupt.now });
  const unstored = await storeSummary(paths.base, runPaths, recordText, mask(`${JSON.stringify(summary, null, 2)}\n`));
  if (unstored !== null) emitRun({ type: 'warning', text: wordingOf(unstored).message });
  emitRun({ type: 'run-finished', runId, exitCode, durationMs: systemClock.now() - startedMs });
  files.close();
  return summary;
}

async function questionOf(
  { project, retryFlags }: RunOptions,
  id: ItemId,
  workflow: WorkflowName,
): Promise<Asked | null> {
  const { askedOf, waitingItem } = await import('./waiting-item.ts');
  const waiting = waitingItem(project.paths, id, [workflow]);
  return waiting && askedOf(project.paths, waiting, placeOf(retryFlags));
}

function now(): string {
  return new Date().toISOString();
}
