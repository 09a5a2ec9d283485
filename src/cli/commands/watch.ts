import { systemClock } from '../../core/clock.ts';
import { localClock } from '../../core/duration.ts';
import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import { listed } from '../../core/lines.ts';
import { shownPath } from '../../core/paths.ts';
import { createIdleLine } from '../../output/idle-line.ts';
import { printable } from '../../output/terminal.ts';
import { acquireLock, type Lock } from '../../process/lock.ts';
import { prepareStateFolder } from '../../process/state-folder.ts';
import { pipelineNamed } from '../../run/plan-batch.ts';
import type { Project } from '../../run/project.ts';
import { type WatchIdle, watch } from '../../run/watch/watch.ts';
import { watchInterrupts } from '../interrupt.ts';
import { projectOf } from '../place.ts';
import { printProblem } from '../problem.ts';
import { type BatchRequest, parseBatchFlags } from '../request.ts';
import { jsonPrinter, outputFor, runPlanned } from '../show-run.ts';
import { answersIn, emptySummary, refuseSelection, runBatch } from './batch.ts';
import { requireTrust } from './trust.ts';

interface WatchFlags {
  once?: boolean;
  interval: number;
  maxCostPerDay?: number;
}

/** Looks for pending items, runs them, and waits for changes. */
export async function watchCommand(rawFlags: unknown): Promise<number> {
  const { once = false, interval, maxCostPerDay = null } = rawFlags as WatchFlags;
  const request = parseBatchFlags('watch', [], { ...(rawFlags as object), all: true });
  if (request.dryRun) return runBatch('run', request);
  const pipeline = pipelineNamed('run', request);
  const unchanged = new Map<number, string>();
  const said = new Set<string>();
  const say = (text: string): void => {
    if (!said.has(text)) process.stderr.write(`${printable(text)}\n`);
    said.add(text);
  };
  const open = async (): Promise<Project> => {
    const project = await projectOf(request.place, request.config);
    await requireTrust(project, request.trust);
    project.hosts.onNotice = say;
    for (const answer of await answersIn(project, request)) say(answer);
    return project;
  };
  const first = await open();
  refuseSelection(first, request);
  const lock = await onlyOne(first);
  const interrupt = watchInterrupts();
  let hasRun = false;
  const idle = idleOutput(first, request, pipeline.stages.at(-1)?.nothingToDo ?? '');
  try {
    const code = await watch({
      open,
      // Open pull requests come before new items.
      pipelines: ({ config }) => [
        ...(config.remote.pr.open && request.database === null ? [pipelineNamed('react', { unchanged })] : []),
        pipeline,
      ],
      parallel: request.parallel.workers,
      maxCostPerDayUsd: maxCostPerDay,
      intervalMs: interval,
      once,
      interrupt,
      clock: systemClock,
      async run(project, own, plan, subscriber) {
        idle.clear();
        hasRun = true;
        const output = outputFor(project, request);
        try {
          const run = { project, pipeline: own, plan, request, resumes: null, interrupt, output, subscriber };
          const end = await runPlanned(run);
          // A closed terminal ends the watch, and its items continue at the hub.
          return end === 'left' ? null : end;
        } finally {
          output.close();
        }
      },
      onIdle: (state) => idle.show(state),
      onProblem(problem) {
        idle.clear();
        printProblem(problem);
      },
    });
    if (once && request.json && !hasRun)
      jsonPrinter(first)({ ...emptySummary({ workflow: 'run', parallel: request.parallel.workers }), exitCode: code });
    return code;
  } finally {
    idle.clear();
    interrupt.dispose();
    lock.release();
  }
}

/** One watch per repository: two would start the same items. */
async function onlyOne({ paths }: Project): Promise<Lock> {
  await prepareStateFolder(paths.base);
  try {
    return acquireLock(paths.watchLock, { workflow: 'watch', id: paths.repository });
  } catch (error) {
    const { problem } = toErrorRecord(error);
    if (problem.code !== 'item-locked') throw error;
    throw new AgentosError({ code: 'watch-running', pid: problem.pid, since: problem.since }, { cause: error });
  }
}

function idleOutput(project: Project, request: BatchRequest, nothingToDo: string) {
  const { json, level } = request;
  const stream = json ? process.stderr : process.stdout;
  const line = createIdleLine(stream, { env: process.env, quiet: level === 'quiet', mask: project.mask });
  const printJson = jsonPrinter(project);
  const { paths, config, source } = project;
  const issues = config.remote.source === null ? `${shownPath(paths.repository, paths.issues)}/` : source.location;
  let last = '';
  return {
    clear: () => line.clear(),
    show({ held, day, nextLookMs }: WatchIdle): void {
      const said = held.length === 0 ? [`nothing to do: ${nothingToDo}`] : heldText(held);
      const text = [...said, ...dayText(day)].join(' · ');
      if (nextLookMs === null) line.keep(text);
      else line.show(`watching ${issues} · ${text}`, `next look ${localClock(nextLookMs, Date.now())}`);
      const state = JSON.stringify({ held, day });
      if (json && state !== last) printJson({ at: new Date().toISOString(), type: 'watch-idle', held, day });
      last = state;
    },
  };
}

/** Grouped by the reason: `42, 57: waits for a decision`. */
function heldText(held: WatchIdle['held']): string[] {
  const byReason = Map.groupBy(held, ({ why }) => why);
  return [...byReason].map(([why, items]) => `${listed(items.map(({ id }) => id))}: ${why}`);
}

function dayText(day: WatchIdle['day']): string[] {
  return day === null ? [] : [`$${day.paidUsd.toFixed(2)} of $${day.limitUsd.toFixed(2)} today`];
}
