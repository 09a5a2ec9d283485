import { systemClock } from '../../core/clock.ts';
import { localClock } from '../../core/duration.ts';
import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import { listed } from '../../core/lines.ts';
import { shownPath } from '../../core/paths.ts';
import { createTerminal, printable, type TerminalStream, wantsLiveRegion } from '../../output/terminal.ts';
import { acquireLock, type Lock } from '../../process/lock.ts';
import { prepareStateFolder } from '../../process/state-folder.ts';
import { pipelineNamed } from '../../run/plan-batch.ts';
import type { Project } from '../../run/project.ts';
import { type WatchIdle, watch } from '../../run/watch/watch.ts';
import { printJsonLine, printProblem } from '../print.ts';
import { type BatchFlags, type BatchRequest, projectOf, requestOf, requireTrust } from '../request.ts';
import { runPlanned } from '../show-run.ts';
import { watchInterrupts } from '../signals.ts';
import { answersIn, emptySummary, refuseSelection, runBatch } from './batch.ts';

interface WatchFlags extends BatchFlags {
  once?: boolean;
  interval: number;
  maxCostPerDay?: number;
}

/** Looks for pending items, runs them, and waits for changes. */
export async function watchCommand(flags: WatchFlags): Promise<number> {
  const { once = false, interval: intervalMs, maxCostPerDay = null, json, trust } = flags;
  const request = requestOf('watch', 'all', flags);
  if (flags.dryRun) return runBatch('run', request);
  const pipeline = pipelineNamed('run', flags);
  const unchanged = new Map<number, string>();
  const said = new Set<string>();
  const say = (text: string): void => {
    if (!said.has(text)) process.stderr.write(`${printable(text)}\n`);
    said.add(text);
  };
  const open = async (): Promise<Project> => {
    const project = await projectOf(flags, request.settings);
    await requireTrust(project, trust);
    project.hosts.onNotice = say;
    for (const answer of await answersIn(project, request)) say(answer);
    return project;
  };
  const first = await open();
  refuseSelection(first, request.settings);
  const lock = await onlyOne(first);
  using interrupt = watchInterrupts();
  let hasRun = false;
  const idle = idleOutput(first, request, pipeline.stages.at(-1)?.nothingToDo ?? '');
  try {
    const exitCode = await watch({
      open,
      // Open pull requests come before new items.
      pipelines: ({ config }) => [
        ...(config.remote.pr.open && request.database === null ? [pipelineNamed('react', { unchanged })] : []),
        pipeline,
      ],
      parallel: request.workers,
      maxCostPerDayUsd: maxCostPerDay,
      intervalMs,
      once,
      interrupt,
      clock: systemClock,
      async run(project, own, plan, subscriber) {
        idle.clear();
        hasRun = true;
        const run = { project, pipeline: own, plan, request, resumes: null, interrupt, subscriber };
        const end = await runPlanned(run);
        // A closed terminal ends the watch, and its items continue at the hub.
        return typeof end === 'string' ? null : end;
      },
      onIdle: (state) => idle.show(state),
      onProblem(problem) {
        idle.clear();
        printProblem(problem);
      },
    });
    if (once && json && !hasRun)
      printJsonLine({ ...emptySummary({ workflow: 'run', parallel: request.workers }), exitCode }, first.mask);
    return exitCode;
  } finally {
    idle.clear();
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

function idleOutput({ paths, config, source, mask }: Project, { flags }: BatchRequest, nothingToDo: string) {
  const { json = false, quiet = false } = flags;
  const line = createIdleLine(json ? process.stderr : process.stdout, { env: process.env, quiet, mask });
  const issues = config.remote.source === null ? `${shownPath(paths.repository, paths.issues)}/` : source.location;
  let last = '';
  return {
    clear: () => line.clear(),
    show({ held, day, nextLookMs }: WatchIdle): void {
      const said = held.length === 0 ? [`nothing to do: ${nothingToDo}`] : heldText(held);
      if (day !== null) said.push(`$${day.paidUsd.toFixed(2)} of $${day.limitUsd.toFixed(2)} today`);
      const text = said.join(' · ');
      if (nextLookMs === null) line.keep(text);
      else line.show(`watching ${issues} · ${text}`, `next look ${localClock(nextLookMs, Date.now())}`);
      const state = JSON.stringify({ held, day });
      if (json && state !== last) printJsonLine({ at: new Date().toISOString(), type: 'watch-idle', held, day }, mask);
      last = state;
    },
  };
}

/** Grouped by the reason: `42, 57: waits for a decision`. */
function heldText(held: WatchIdle['held']): string[] {
  const byReason = Map.groupBy(held, ({ why }) => why);
  return [...byReason].map(([why, items]) => `${listed(items.map(({ id }) => id))}: ${why}`);
}

const ERASE = '\r\u001B[K';

/** Says in one line what a program waits for: rewritten on a terminal, otherwise printed when it changes. */
export function createIdleLine(
  stream: TerminalStream,
  { env, quiet, mask }: Pick<Project, 'env' | 'mask'> & { quiet: boolean },
) {
  const terminal = createTerminal(mask, stream, env);
  const isLive = wantsLiveRegion(stream, env, quiet);
  let shown = '';
  /** Prints a line that stays. */
  const keep = (text: string): void => {
    if (!quiet) terminal.line(`[COORDINATOR] ${printable(text)}`);
  };
  return {
    keep,
    /** `now`: the part that changes all the time; only shown on a terminal. */
    show(text: string, now: string): void {
      if (isLive) {
        // A line that wraps can't be rewritten.
        const room = Math.max(10, (stream.columns ?? 80) - 1);
        const line = mask(printable(`${text} · ${now}`));
        stream.write(`${ERASE}${line.length > room ? `${line.slice(0, room - 1)}…` : line}`);
      } else if (text !== shown) keep(text);
      shown = text;
    },
    /** To be called before anything else is printed. */
    clear(): void {
      if (!isLive) return;
      if (shown !== '') stream.write(ERASE);
      shown = '';
    },
  };
}
