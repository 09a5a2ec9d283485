import { existsSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { outcomeAsEnd } from '../coordinator/attempt.ts';
import { systemClock } from '../core/clock.ts';
import { isDiskReason, toErrorRecord } from '../core/errors.ts';
import type { AgentosEvent, ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import { exitCodeOf, isFailure } from '../core/exit-code.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import { endedWell, type Item, type ItemEnd } from '../core/item.ts';
import { shellWord } from '../core/lines.ts';
import { shownPath } from '../core/paths.ts';
import type { Plan } from '../core/plan.ts';
import { foldEvent, type ItemState, newRunState, type RunState } from '../core/run-state.ts';
import {
  type Asked,
  countsOf,
  type ItemSummary,
  type Kept,
  retryOf,
  type Summary,
  summaryOf,
} from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import { writeFileAtomic } from '../process/files.ts';
import { workedOnBy } from '../process/lock.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import { openEventFiles } from './event-files.ts';
import type { Notifier, NotifySettings } from './notify.ts';
import { isOpen, type Pipeline, stageAfter, stageOf, stagesAhead } from './pipeline.ts';
import { discardCommand, type Project } from './project.ts';
import { endedAlready } from './run-items.ts';
import type { OpenPublisher } from './services/publish.ts';
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

export type Emitter = ReturnType<typeof createEmitter>;
export type Recording = Awaited<ReturnType<typeof openRecording>>;

/** How long the `--notify` command may take at the end of a run. After a signal the program has to end soon. */
const PATIENT_MS = 10_000;
const HURRIED_MS = 1_500;

/** Opens the files of a run and the other subscribers of its events, and emits `run-started`. */
export async function openRecording(run: RecordedRun) {
  const { project, pipeline, plan, runId, startedAt, interrupt } = run;
  const { paths, mask } = project;
  const runPaths = paths.run(runId);
  const startedMs = systemClock.now();
  const state = newRunState(plan.items);
  const emitter = createEmitter(state, pipeline, paths.repository);
  const files = openEventFiles(runPaths, {
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
    /** Undefined: nothing is written to services. */
    publisher,
    /** The stage that an item is in; null: unknown item. */
    itemAt(id: string): Item | null {
      const at = state.items.get(id)?.workflow;
      return at ? { workflow: at, id: parseItemId(id) } : null;
    },
    /** Ends the planned items that need no worker. */
    async endWithoutWorker(): Promise<void> {
      for (const item of plan.items) {
        const end = await endedAlready(item, project, pipeline);
        if (end !== null) emitter.item(item, { type: 'item-finished', ...end });
      }
    },
    /** Ends the items that were killed and did not report their end. */
    endKilled(): void {
      const end = { attempts: 1, durationMs: 0, ...outcomeAsEnd({ error: toErrorRecord(interrupt.polite.reason) }) };
      for (const { id, workflow: at, status } of state.items.values())
        if (status === null && at)
          emitter.item({ workflow: at, id: parseItemId(id) }, { type: 'item-finished', ...end });
    },
    /** Stores the summary and emits `run-finished`, the last event. `beforeEnd` may still warn. */
    async finish(beforeEnd?: (summary: Summary) => Promise<void>): Promise<Summary> {
      const outcome = await outcomeOf(run, state);
      await beforeEnd?.(outcome);
      const summary = { ...outcome, chain: files.head() };
      try {
        await prepareStateFolder(paths.base);
        // The folder may have been deleted meanwhile, and a run without a record can't be read.
        if (run.record !== undefined && !existsSync(runPaths.record))
          await writeFileAtomic(runPaths.record, run.record);
        await writeFileAtomic(runPaths.summary, mask(`${JSON.stringify(summary, null, 2)}\n`));
      } catch (error) {
        emitter.run({ type: 'warning', text: wordingOf(toErrorRecord(error).problem).message });
      }
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
  return createNotifier(project, settings, () => outcomeOf(run, state), warn);
}

/** The only source of a run's events. Stamps each, folds it into the state, and passes it to all subscribers. */
function createEmitter(state: RunState, pipeline: Pipeline, repository: string) {
  const subscribers: Subscriber[] = [];
  const publish = (event: AgentosEvent): void => {
    foldEvent(state, event);
    for (const subscriber of subscribers) subscriber(event);
  };
  const warned = new Set<string>();
  const now = (): string => new Date().toISOString();
  return {
    /** `at`: when it happened, if not now. */
    run: (event: RunEvent, at = now()): void => publish({ at, ...event }),
    item({ id, workflow }: Item, event: ItemEvent, at = now()): void {
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
    /** Emits the same warning once. */
    warn(text: string): void {
      if (!warned.has(text)) publish({ at: now(), type: 'warning', text });
      warned.add(text);
    },
    subscribe: (...more: Subscriber[]): void => void subscribers.push(...more),
  };
}

/** The summary of a run, from its state. */
async function outcomeOf(run: RecordedRun, state: RunState): Promise<Summary> {
  const { project, pipeline, plan, interrupt, retryFlags: flags, runId, startedAt } = run;
  const { workflow, parallel, models } = plan;
  const { whole } = pipeline.stages[0];
  const own = whole?.summary(plan, state);
  const ended = [...state.items.values()].filter(({ ends }) => ends.length > 0);
  const items = own?.items ?? (await Promise.all(ended.map((item) => itemSummary(run, item))));
  const statuses = items.map(({ status }) => status);
  const failures = items.flatMap(({ id, status }) =>
    isFailure(status) ? [{ id, problem: problemOf(state, id) }] : [],
  );
  const anySucceeded = statuses.includes('succeeded');
  const { command, changeFirst } = retryOf(failures, { workflow, flags, models, anySucceeded });
  const resume = ['agentos', 'resume', runId, ...(changeFirst?.flags ?? []), ...project.placeFlags].join(' ');
  return {
    runId,
    workflow,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    parallel,
    exitCode: exitCodeOf(statuses, interrupt.by()),
    counts: countsOf(items),
    retryCommand: whole !== undefined && command !== null ? resume : command,
    changeFirst,
    ...own,
    items,
  };
}

/** The problem of an item, or of a branch of a landing. */
function problemOf({ items }: RunState, id: string) {
  const landed = [...items.values()].map(({ parts }) => parts.get(id)?.landed).find((found) => found);
  return (landed ?? items.get(id)?.ends.at(-1))?.error?.problem ?? null;
}

async function itemSummary({ project, pipeline, plan }: RecordedRun, item: ItemState): Promise<ItemSummary> {
  const id = parseItemId(item.id);
  const last = item.ends.at(-1);
  const ahead = stagesAhead(pipeline, plan.items.filter(isOpen));
  const mayImplement = ahead.some(({ workflow }) => workflow === 'implement');
  return summaryOf(item, {
    kept: mayImplement && last ? keptWorktree(project, id, last) : null,
    question: last?.status === 'discuss' ? await questionOf(project, id, item) : null,
  });
}

async function questionOf(project: Project, id: ItemId, { workflow }: ItemState): Promise<Asked | null> {
  const { askedOf, waitingItem } = await import('./standing/waiting-item.ts');
  const waiting = workflow && waitingItem(project.paths, id, [workflow]);
  return waiting && askedOf(project, waiting);
}

/**
 * How to look at and discard the worktree of an unfinished implementation; null: there is none, or another run works on the item
 * and the commands would destroy its work.
 */
export function keptWorktree(
  project: Project,
  id: ItemId,
  { status, error }: Pick<ItemEnd, 'status' | 'error'>,
): Kept | null {
  const { paths } = project;
  if (endedWell(status) || error?.problem.code === 'item-locked') return null;
  const pid = workedOnBy(paths, { workflow: 'implement', id });
  if (pid !== null && pid !== process.pid) return null;
  const directory = paths.worktree('implement', id);
  if (!existsSync(directory)) return null;
  const way = relative(process.cwd(), directory) || '.';
  const shortest = way.startsWith('..') ? directory : way;
  return { look: `cd ${shellWord(shortest)} && git status`, discard: discardCommand(project, id) };
}
