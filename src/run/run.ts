import { join } from 'node:path';
import { ParallelCoordinator } from '../coordinator/coordinator.ts';
import { AgentosError } from '../core/errors.ts';
import { runIdOf } from '../core/ids.ts';
import { itemOfLabel, keyOf } from '../core/item.ts';
import { labelOf } from '../core/paths.ts';
import { cycleNote, replacementLines } from '../core/plan.ts';
import type { Summary } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import type { OutputPrefixer, OutputPrefixerOptions } from '../output/prefixer.ts';
import { writeFileAtomic } from '../process/files.ts';
import { lockItem } from '../process/lock.ts';
import { compiledCodeFolder, packageRoot } from '../process/own-process.ts';
import { tidyWorkFolder } from '../process/state-folder.ts';
import { readPromptFiles } from '../prompts/prompts.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
import { isOpen, modelsIn, modelUses, startsPrograms } from './pipeline.ts';
import {
  openRunSandbox,
  openTrace,
  prepareRunFolder,
  requirements,
  runRecord,
  sweep,
  sweepReading,
} from './prepare-run.ts';
import { openRecording, type PlannedRun } from './recording.ts';
import { openRunGateway } from './run-gateway.ts';
import { createRunItems, itemOf } from './run-items.ts';
import { openPosting } from './services/hosts.ts';
import { createDiskWatch, followCancels, followInterrupts } from './stops.ts';

interface RunRequest {
  /** Items were selected by their labels, not named. */
  all: boolean;
  haltAfter: number | null;
  [setting: string]: unknown;
}

export interface RunOptions extends PlannedRun {
  /** The user's request, recorded for `resume`. */
  request: RunRequest;
  /** The run that this one resumes, if any. */
  resumes: string | null;
  /** Shows what workers print, and passes each line on. */
  prefixer: (onLine: NonNullable<OutputPrefixerOptions['onLine']>) => OutputPrefixer;
  version: string;
}

/** The parent's composition root: records the run, passes its items to the coordinator, and returns the summary. */
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
  const open = plan.items.filter(isOpen);
  const uses = modelUses(project, pipeline, open);
  const warnings = await requirements(project, uses);
  const sandbox = await openRunSandbox(project, startsPrograms(pipeline, open, uses));

  const openPublisher = await openPosting(project);
  await prepareRunFolder(project);
  await sweep(project, plan);
  const runId = runIdOf(startedAt, paths.base, process.pid);
  const runPaths = paths.run(runId);
  const record = `${mask(JSON.stringify(runRecord(options, runId, startedAt, trace.context), null, 2))}\n`;
  await writeFileAtomic(runPaths.record, record);

  const disk = createDiskWatch([paths.base, paths.repository]);
  const subscribers = [trace.subscriber, ...options.subscribers, disk.subscriber];
  const onDiskFault = disk.refused;
  const run = { ...options, runId, startedAt, record, subscribers, openPublisher, onDiskFault };
  const recording = await openRecording(run);
  const { emitter, files, publisher } = recording;
  project.hosts.onNotice = (text) => emitter.run({ type: 'warning', text });
  for (const text of [...plan.notes, ...warnings, ...sandbox.warnings, ...trace.warnings]) emitter.warn(text);
  for (const text of replacementLines(open)) emitter.run({ type: 'warning', text });
  trace.onProblem((text) => emitter.warn(text));

  const gateway = await openRunGateway({
    project,
    models: modelsIn(uses),
    open,
    recording,
    traceRequest: (request, work) => trace.request(request, work),
  });
  const items = createRunItems({
    project,
    pipeline,
    runId,
    isSelected: options.request.all,
    prompts: readPromptFiles(paths.prompts),
    sandbox: sandbox.tool,
    onRead: (id, issue) => publisher?.read(id, issue),
    accessOf: (id, models) => gateway?.access(id, models) ?? null,
  });
  const prefixer = options.prefixer((label, _stream, line) => {
    const item = itemOfLabel(label);
    if (item !== null) files.printed(item.workflow, item.id, line);
  });
  const coordinator = new ParallelCoordinator({
    task: { builtIn: pipeline.stages[0].workflow },
    parallel: plan.parallel,
    worker: {
      script: join(packageRoot(), 'dist', 'worker.js'),
      env: { ...project.childEnv, ...trace.environment },
      cwd: paths.repository,
      compileCache: compiledCodeFolder(),
    },
    ...config.bounds,
    haltAfter: options.request.haltAfter,
    onEvent: (key, event) => emitter.item(itemOf(key), event),
    onHalt: ({ failures, cause }) =>
      emitter.run({ type: 'warning', text: `${failures} failure(s), the last one ${cause}: nothing new is started.` }),
    onCycle: (ids) => emitter.warn(cycleNote(ids)),
    claim: (key) => {
      const lock = lockItem(paths, itemOf(key));
      return () => lock.release();
    },
    // An item that another run works on is waited for, unless it is the only one: then the user should know at once.
    claimWaitMs: open.length > 1 ? config.bounds.timeoutMs : 0,
    alreadyDone: (key) => items.alreadyDone(itemOf(key)),
    ...(publisher && { complete: (key, result, signal) => publisher.complete(itemOf(key), result, signal) }),
    isWaiting: (key) => gateway?.isWaiting(itemOf(key).id) ?? false,
    mayStart: () => gateway?.hasQuota() ?? true,
    attachOutput: (key, { stdout, stderr }) => {
      const { workflow, id } = itemOf(key);
      return prefixer.attach(labelOf(workflow, id), stdout, stderr);
    },
    nameOf: (key) => itemOf(key).id,
    traceAttempt: (key, attempt) => trace.attempt(itemOf(key), attempt),
    runTag: runId,
  });
  emitter.subscribe((event) => {
    // A key may have quota again, so that another item can start.
    if (event.type === 'pool-resumed' || event.type === 'gateway-call') coordinator.poke();
  });
  disk.onFault((problem) => {
    const { message, hint } = wordingOf(problem);
    emitter.run({ type: 'warning', text: `${message} Nothing new is started. ${hint ?? ''}`.trimEnd() });
    coordinator.halt({ problem, retry: 'permanent' });
  });
  coordinator.warmUp(open.length);

  const watch = followInterrupts(interrupt, coordinator, emitter);
  await recording.endWithoutWorker();
  const cancels = followCancels(runPaths, (id, by) => {
    const item = recording.itemAt(id);
    if (item !== null) coordinator.cancel(keyOf(item), new AgentosError({ code: 'item-cancelled', by }));
  });
  try {
    const first = open.map((item) => items.stage(item, item));
    const done = coordinator.run(first, { next: (end) => items.next(end) });
    await Promise.race([done, watch.killed]);
    recording.endKilled();
  } finally {
    cancels.close();
    const posted = publisher?.close(interrupt.polite);
    await Promise.race([Promise.all([gateway?.close(), posted]), watch.killed]);
    // From here on a signal can't change the outcome.
    watch.dispose();
  }

  const summary = await recording.finish(({ exitCode }) => trace.close({ exitCode, giveUp: interrupt.now }));
  // After an interruption there is no time to delete files; the next run does it.
  if (!interrupt.polite.aborted) {
    await sweepReading(project);
    await tidyWorkFolder(paths);
  }
  return summary;
}
