import { join } from 'node:path';
import { ParallelCoordinator } from '../coordinator/coordinator.ts';
import { outcomeAsEnd } from '../coordinator/loop.ts';
import { systemClock } from '../core/clock.ts';
import { AgentosError, isDiskReason, toErrorRecord } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import { itemOfLabel, keyOf } from '../core/item.ts';
import { labelOf } from '../core/paths.ts';
import { cycleNote, type Plan, replacementLines } from '../core/plan.ts';
import { newRunState } from '../core/run-state.ts';
import type { Summary } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import { openRunFiles } from '../output/run-files.ts';
import type { RunOutput } from '../output/run-output.ts';
import { writeFileAtomic } from '../process/files.ts';
import { lockItem } from '../process/lock.ts';
import { compiledCodeFolder, packageRoot } from '../process/package-root.ts';
import { prepareStateFolder, requireOwnFolder, tidyWorkFolder } from '../process/state-folder.ts';
import { readPromptFiles } from '../prompts/prompts.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
import { createEmitter } from './emitter.ts';
import { followCancels } from './follow-cancels.ts';
import { createNotifier, type NotifySettings } from './notify.ts';
import {
  castsOf,
  coordinatedItem,
  doneElsewhere,
  endedAlready,
  isOpen,
  itemOf,
  nextStage,
  type Pipeline,
  requirements,
  type StageOptions,
  stageOf,
} from './pipeline.ts';
import { openPosting, patienceForPosts } from './posting.ts';
import type { Project } from './project.ts';
import { openRunGateway } from './run-gateway.ts';
import { outcomeOf, placeOf, runIdOf, runRecord, storeSummary } from './run-record.ts';
import { openRunSandbox, startsPrograms } from './run-sandbox.ts';
import { openTrace } from './run-tracing.ts';
import { createDiskWatch, followInterrupts, type Interruption } from './stops.ts';
import { sweep, sweepReading } from './sweep.ts';

export interface RunOptions {
  project: Project;
  pipeline: Pipeline;
  plan: Plan;
  haltAfter: number | null;
  /** What the command line said, for `resume`. */
  request: Record<string, unknown>;
  /** The run that this one resumes, if any. */
  resumes: string | null;
  /** Flags that the line to copy for a retry has to repeat. */
  retryFlags: string[];
  interrupt: Interruption;
  notify: NotifySettings;
  /** For what goes wrong after the run's last event. */
  warnLate: (text: string) => void;
  subscribers: Subscriber[];
  /** Shows what workers print; each line is also given to `onLine`. */
  prefixer: RunOutput['prefixer'];
  version: string;
}

/** How long the command of `--notify` may take at the end: after a signal everything has to be over soon. */
const PATIENT_MS = 10_000;
const HURRIED_MS = 1_500;

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
  const { project, pipeline, plan, interrupt } = options;
  const { paths, config, mask } = project;
  const startedAt = new Date();
  const startedMs = systemClock.now();
  const open = plan.items.filter(isOpen);
  const casts = castsOf(project, pipeline, open);
  const warnings = await requirements(project, casts);
  const sandbox = await openRunSandbox(project, startsPrograms(pipeline, open, casts));

  const openPublisher = await openPosting(project);
  await requireOwnFolder(paths);
  await prepareStateFolder(paths.base);
  await project.designs.save();
  await project.kept.keep();
  await sweep(project, plan);
  const runId = runIdOf(startedAt, paths.base);
  const runPaths = paths.run(runId);
  const record = `${mask(JSON.stringify(runRecord(options, runId, startedAt, trace.context), null, 2))}\n`;
  await writeFileAtomic(runPaths.record, record);

  const state = newRunState(plan.items);
  const emitter = createEmitter(state, pipeline, paths.repository);
  const disk = createDiskWatch([paths.base, paths.repository]);
  const files = openRunFiles(runPaths, {
    mask,
    onFault: ({ path, reason }) => {
      if (isDiskReason(reason)) disk.refused(path, reason);
      else emitter.run({ type: 'warning', text: wordingOf({ code: 'output-unwritable', path, reason }).message });
    },
    // Not in the middle of the line that is being written.
    onForeign: (path) => queueMicrotask(() => emitter.warn(foreignText(runId, path))),
  });
  let hasEnded = false;
  const notifier = createNotifier({
    project,
    settings: options.notify,
    summary: () => outcomeOf(options, state, { runId, startedAt }),
    warn: (text) => (hasEnded ? options.warnLate(text) : emitter.warn(text)),
  });
  emitter.subscribe(files.subscriber, trace.subscriber, ...options.subscribers, disk.subscriber, notifier.subscriber);
  project.hosts.onNotice = (text) => emitter.run({ type: 'warning', text });
  const publisher = openPublisher?.({
    runId,
    state,
    place: placeOf(options.retryFlags),
    onNotice: (item, text) => emitter.item(item, { type: 'notice', text }),
    onWarning: (text) => emitter.warn(text),
    inputOf: (item) => stageOf(pipeline, item.workflow).settingOf?.(item.id)?.input,
  });
  if (publisher !== undefined) emitter.subscribe(publisher.subscriber);
  const { workflow, parallel, models, groups } = plan;
  const items = plan.items.map((item) => item.id);
  emitter.run({ type: 'run-started', runId, workflow, items, parallel, models, groups });
  for (const text of [...plan.notes, ...warnings, ...sandbox.warnings, ...trace.warnings]) emitter.warn(text);
  for (const text of replacementLines(open)) emitter.run({ type: 'warning', text });
  trace.onProblem((text) => emitter.warn(text));

  const gateway = await openRunGateway({
    project,
    casts,
    emitRun: (event) => emitter.run(event),
    emitItem: (id, event) => {
      const at = state.items.get(id)?.workflow;
      if (at) emitter.item({ workflow: at, id: parseItemId(id) }, event);
    },
    traceRequest: (request, work) => trace.request(request, work),
  });
  if (gateway !== null) emitter.subscribe(gateway.subscriber);
  const resumed = gateway === null ? [] : open.filter((item) => item.state === 'resumed');
  if (resumed.length > 0) {
    const { readPastCosts } = await import('./past-costs.ts');
    const past = await readPastCosts(paths, config.prices);
    for (const { id } of resumed) gateway?.addEarlier(id, past.paidUsd(id));
  }

  const fresh: StageOptions['fresh'] = new Map();
  const isSelected = options.request['all'] === true;
  const prefixer = options.prefixer((label, _stream, line) => {
    const item = itemOfLabel(label);
    if (item !== null) files.printed(item.workflow, item.id, line);
  });
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
    onEvent: (key, event) => emitter.item(itemOf(key), event),
    onHalt: ({ failures, cause }) =>
      emitter.run({ type: 'warning', text: `${failures} failure(s), the last one ${cause}: nothing new is started.` }),
    onCycle: (ids) => emitter.warn(cycleNote(ids)),
    claim: (key) => {
      const lock = lockItem(paths, itemOf(key));
      return () => lock.release();
    },
    // Of several items, one that another run is at can wait its turn; for one alone a person should know at once.
    claimWaitMs: open.length > 1 ? config.bounds.timeoutMs : 0,
    alreadyDone: (key) => doneElsewhere(itemOf(key), { project, pipeline, fresh, isSelected }),
    ...(publisher && { complete: (key, result, signal) => publisher.complete(itemOf(key), result, signal) }),
    isWaiting: (key) => gateway?.isWaiting(itemOf(key).id) ?? false,
    mayStart: () => gateway?.hasQuota() ?? true,
    attachOutput: (key, { stdout, stderr }) => {
      const item = itemOf(key);
      return prefixer.attach(labelOf(item.workflow, item.id), stdout, stderr);
    },
    nameOf: (key) => itemOf(key).id,
    traceAttempt: (key, attempt) => trace.attempt(itemOf(key), attempt),
    runTag: runId,
  });
  emitter.subscribe((event) => {
    // A key may have quota again.
    if (event.type === 'pool-resumed' || event.type === 'gateway-call') coordinator.poke();
  });
  disk.onFault((problem) => {
    const { message, hint } = wordingOf(problem);
    emitter.run({ type: 'warning', text: `${message} Nothing new is started. ${hint ?? ''}`.trimEnd() });
    coordinator.halt({ problem, retry: 'permanent' });
  });
  coordinator.warmUp(open.length);

  const watch = followInterrupts(interrupt, coordinator, emitter);
  for (const item of plan.items) {
    const end = await endedAlready(item, project, pipeline);
    if (end !== null) emitter.item(item, { type: 'item-finished', ...end });
  }
  const stages: StageOptions = {
    project,
    pipeline,
    runId,
    prompts: readPromptFiles(paths.prompts),
    sandbox: sandbox.tool,
    fresh,
    isSelected,
    onRead: (id, issue) => publisher?.read(id, issue),
    accessOf: (id, cast) => gateway?.access(id, cast) ?? null,
  };
  let cancels: ReturnType<typeof followCancels> | null = null;
  try {
    const first = open.map((item) => coordinatedItem(item, item, stages));
    const done = coordinator.run(first, { next: (end) => nextStage(end, stages) });
    cancels = followCancels(runPaths, (id, by) => {
      const at = state.items.get(id)?.workflow;
      if (at)
        coordinator.cancel(
          keyOf({ workflow: at, id: parseItemId(id) }),
          new AgentosError({ code: 'item-cancelled', by }),
        );
    });
    await Promise.race([done, watch.killed]);
    // Killed, and not heard of since.
    for (const { id, workflow: at, status } of state.items.values()) {
      const end = { attempts: 1, durationMs: 0, ...outcomeAsEnd({ error: toErrorRecord(interrupt.polite.reason) }) };
      if (status === null && at) emitter.item({ workflow: at, id: parseItemId(id) }, { type: 'item-finished', ...end });
    }
  } finally {
    cancels?.close();
    watch.dispose();
    const posted = publisher?.close(patienceForPosts(interrupt.polite));
    await Promise.race([Promise.all([gateway?.close(), posted]), watch.killed]);
  }

  // From here on the outcome is settled: a signal can't change it, and no event comes after `run-finished`.
  watch.settle();
  const summary = await outcomeOf(options, state, { runId, startedAt });
  await trace.close({ exitCode: summary.exitCode, giveUp: interrupt.now });
  const stored = { ...summary, chain: files.head() };
  const unstored = await storeSummary(paths.base, runPaths, record, mask(`${JSON.stringify(stored, null, 2)}\n`));
  if (unstored !== null) emitter.run({ type: 'warning', text: wordingOf(unstored).message });
  const { exitCode } = summary;
  const audit = files.auditHeads();
  emitter.run({ type: 'run-finished', runId, exitCode, durationMs: systemClock.now() - startedMs, audit });
  files.close();
  hasEnded = true;
  if (!interrupt.now.aborted) await notifier.ended(summary, interrupt.polite.aborted ? HURRIED_MS : PATIENT_MS);
  // After an interruption there is no time to delete files; the next run does.
  if (!interrupt.polite.aborted) {
    await sweepReading(project);
    await tidyWorkFolder(project.paths);
  }
  return summary;
}

export function foreignText(runId: string, path: string): string {
  return `Another program wrote to ${path}, which only this one writes. agentos check --audit ${runId} shows where.`;
}
