import { isAbsolute } from 'node:path';
import { outcomeAsEnd } from '../coordinator/loop.ts';
import { systemClock } from '../core/clock.ts';
import { isDiskReason, toErrorRecord } from '../core/errors.ts';
import type { AgentosEvent, ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import type { Item } from '../core/item.ts';
import { shownPath } from '../core/paths.ts';
import type { Plan } from '../core/plan.ts';
import { foldEvent, newRunState, type RunState } from '../core/run-state.ts';
import type { Summary } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import { openRunFiles } from '../output/run-files.ts';
import type { Notifier, NotifySettings } from './notify.ts';
import { outcomeOf } from './outcome.ts';
import { type Pipeline, stageAfter, stageOf } from './pipeline.ts';
import type { Project } from './project.ts';
import { endedAlready } from './run-items.ts';
import { storeSummary } from './run-record.ts';
import type { OpenPublisher } from './services/hosts.ts';
import type { Publisher } from './services/publish.ts';
import type { Interruption } from './stops.ts';

/** A plan to run, on this machine or at a hub. */
export interface PlannedRun {
  project: Project;
  pipeline: Pipeline;
  plan: Plan;
  /** Flags that the retry command repeats. */
  retryFlags: string[];
  interrupt: Interruption;
  subscribers: readonly Subscriber[];
  /** Absent: no notifications. */
  notify?: NotifySettings;
  /** For warnings after the run's last event. */
  warnLate?: (text: string) => void;
}

export interface RecordedRun extends PlannedRun {
  runId: string;
  startedAt: Date;
  /** The content of `run.json`. */
  record?: string;
  /** Null: nothing is written to services. */
  openPublisher: OpenPublisher | null;
  /** Called when a file of the run can't be written because of the disk. */
  onDiskFault?: (path: string, reason: string) => void;
}

/** The only source of a run's events. Stamps each, folds it into the state, and passes it to all subscribers. */
export interface Emitter {
  /** `at`: when it happened, if not now. */
  run(event: RunEvent, at?: string): void;
  item(item: Item, event: ItemEvent, at?: string): void;
  /** Emits the same warning once. */
  warn(text: string): void;
  subscribe(...subscribers: Subscriber[]): void;
}

export interface Recording {
  emitter: Emitter;
  files: ReturnType<typeof openRunFiles>;
  /** Undefined: nothing is written to services. */
  publisher: Publisher | undefined;
  /** The stage that an item is in; null: unknown item. */
  itemAt(id: string): Item | null;
  /** Ends the planned items that need no worker. */
  endWithoutWorker(): Promise<void>;
  /** Ends the items that were killed and did not report their end. */
  endKilled(): void;
  /** Stores the summary and emits `run-finished`, the last event. `beforeEnd` may still warn. */
  finish(beforeEnd?: (summary: Summary) => Promise<void>): Promise<Summary>;
}

/** How long the `--notify` command may take at the end of a run. After a signal the program has to end soon. */
const PATIENT_MS = 10_000;
const HURRIED_MS = 1_500;

/** Opens the files of a run and the other subscribers of its events, and emits `run-started`. */
export async function openRecording(run: RecordedRun): Promise<Recording> {
  const { project, pipeline, plan, runId, startedAt, interrupt } = run;
  const { paths, mask } = project;
  const runPaths = paths.run(runId);
  const startedMs = systemClock.now();
  const state = newRunState(plan.items);
  const emitter = createEmitter(state, pipeline, paths.repository);
  const files = openRunFiles(runPaths, {
    mask,
    onFault({ path, reason }) {
      if (run.onDiskFault !== undefined && isDiskReason(reason)) run.onDiskFault(path, reason);
      else emitter.run({ type: 'warning', text: wordingOf({ code: 'output-unwritable', path, reason }).message });
    },
    // Deferred: a line is being written.
    onForeign: (path) =>
      queueMicrotask(() =>
        emitter.warn(
          `Another program wrote to ${path}, which only this one writes. agentos check --audit ${runId} shows where.`,
        ),
      ),
  });
  const notifier = await openNotifier(run, state, (text) =>
    state.ended === null ? emitter.warn(text) : run.warnLate?.(text),
  );
  emitter.subscribe(files.subscriber, ...run.subscribers, ...(notifier === null ? [] : [notifier.subscriber]));
  const publisher = run.openPublisher?.({
    runId,
    state,
    onNotice: (item, text) => emitter.item(item, { type: 'notice', text }),
    onWarning: (text) => emitter.warn(text),
    inputOf: (item) => stageOf(pipeline, item.workflow).settingOf?.(item.id)?.input,
  });
  if (publisher !== undefined) emitter.subscribe(publisher.subscriber);
  const { workflow, parallel, models, groups } = plan;
  const items = plan.items.map((item) => item.id);
  emitter.run({ type: 'run-started', runId, workflow, items, parallel, models, groups }, startedAt.toISOString());

  return {
    emitter,
    files,
    publisher,
    itemAt(id) {
      const at = state.items.get(id)?.workflow;
      return at ? { workflow: at, id: parseItemId(id) } : null;
    },
    async endWithoutWorker() {
      for (const item of plan.items) {
        const end = await endedAlready(item, project, pipeline);
        if (end !== null) emitter.item(item, { type: 'item-finished', ...end });
      }
    },
    endKilled() {
      const end = { attempts: 1, durationMs: 0, ...outcomeAsEnd({ error: toErrorRecord(interrupt.polite.reason) }) };
      for (const { id, workflow: at, status } of state.items.values())
        if (status === null && at)
          emitter.item({ workflow: at, id: parseItemId(id) }, { type: 'item-finished', ...end });
    },
    async finish(beforeEnd) {
      const outcome = await outcomeOf(run, state);
      await beforeEnd?.(outcome);
      const summary = { ...outcome, chain: files.head() };
      const stored = mask(`${JSON.stringify(summary, null, 2)}\n`);
      const unstored = await storeSummary(paths.base, runPaths, run.record ?? null, stored);
      if (unstored !== null) emitter.run({ type: 'warning', text: wordingOf(unstored).message });
      const durationMs = systemClock.now() - startedMs;
      const { exitCode } = summary;
      emitter.run({ type: 'run-finished', runId, exitCode, durationMs, audit: files.auditHeads() });
      files.close();
      if (!interrupt.now.aborted) await notifier?.ended(summary, interrupt.polite.aborted ? HURRIED_MS : PATIENT_MS);
      return summary;
    },
  };
}

/** Null: no notifications, and their code is not loaded. */
async function openNotifier(run: RecordedRun, state: RunState, warn: (text: string) => void): Promise<Notifier | null> {
  const { project, notify: settings } = run;
  if (settings === undefined || (settings.command === null && !settings.desktop)) return null;
  const { createNotifier } = await import('./notify.ts');
  return createNotifier({ project, settings, summary: () => outcomeOf(run, state), warn });
}

function createEmitter(state: RunState, pipeline: Pipeline, repository: string): Emitter {
  const subscribers: Subscriber[] = [];
  const publish = (event: AgentosEvent): void => {
    foldEvent(state, event);
    for (const subscriber of subscribers) subscriber(event);
  };
  const warned = new Set<string>();
  const now = (): string => new Date().toISOString();
  return {
    run: (event, at = now()) => publish({ at, ...event }),
    item({ id, workflow }, event, at = now()) {
      // Events of a killed worker can arrive after its stage has ended. Only the cost of its calls still counts.
      const isLate = state.items.get(id)?.ends.some((end) => end.workflow === workflow);
      if (isLate && event.type !== 'gateway-call') return;
      const known = { at, item: id, workflow };
      if (event.type !== 'item-finished') return publish({ ...known, ...event });
      const following = event.status === 'succeeded' ? stageAfter(pipeline, workflow) : undefined;
      publish({
        ...known,
        ...event,
        outputs: event.outputs.map((path) => (isAbsolute(path) ? shownPath(repository, path) : path)),
        ...(following && { goesOnWith: following.workflow }),
      });
    },
    warn(text) {
      if (!warned.has(text)) publish({ at: now(), type: 'warning', text });
      warned.add(text);
    },
    subscribe: (...more) => void subscribers.push(...more),
  };
}
