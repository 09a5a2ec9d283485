import type { Clock } from '../../core/clock.ts';
import { type Problem, toErrorRecord } from '../../core/errors.ts';
import { exitCodeOf } from '../../core/exit-code.ts';
import type { Summary } from '../../core/summary.ts';
import type { HeldBack } from '../../core/watching.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Project } from '../project.ts';
import { openedFor } from '../services/posts.ts';
import type { Interruption } from '../stops.ts';
import {
  type DayBudget,
  type Readiness,
  type RunPass,
  runPass,
  type WatchPass,
  watchMark,
  watchPass,
} from './watch-pass.ts';

/** The state while nothing can start. */
export interface WatchIdle {
  /** Pending items, and why they are held back. */
  held: readonly HeldBack[];
  day: DayBudget | null;
  /** When the next look is; null: none. */
  nextLookMs: number | null;
}

interface WatchOptions {
  /** Opens the project with its current configuration. */
  open: () => Promise<Project>;
  /** Looked at one after another; each is a run of its own. */
  pipelines: (project: Project) => readonly Pipeline[];
  parallel: number;
  maxCostPerDayUsd: number | null;
  intervalMs: number;
  /** One pass, then the end. */
  once: boolean;
  interrupt: Pick<Interruption, 'polite' | 'by'>;
  clock: Clock;
  run: RunPass;
  onIdle: (idle: WatchIdle) => void;
  /** Called when a pass fails; repeated problems are reported once. */
  onProblem: (problem: Problem) => void;
}

/**
 * Looks at what is pending, runs what may start, and waits for a change:
 *
 *   look ──▶ something may start ──▶ run ──▶ look
 *     └────▶ nothing may ──▶ idle ──▶ look      when the source, a design, a checkpoint or a branch has changed, or an item
 *                                               that was held back may start
 *
 * Returns the exit code of the first pass with `once`, else that of the signal. Rejects if the first pass fails; a later failure is
 * reported, and the pass repeated.
 */
export async function watch(options: WatchOptions): Promise<number> {
  const { interrupt, once, clock } = options;
  const isStopped = (): boolean => interrupt.polite.aborted;
  let hasLooked = false;
  let reported = '';
  const report = (error: unknown): void => {
    const { problem } = toErrorRecord(error);
    const said = JSON.stringify(problem);
    if (said !== reported) options.onProblem(problem);
    reported = said;
  };
  for (;;) {
    try {
      const project = await options.open();
      const mark = await watchMark(project, null);
      const passes: PassEnd[] = [];
      for (const pipeline of options.pipelines(project)) {
        const pass = await lookOnce(options, project, pipeline);
        if (isStopped()) return exitCodeOf([], interrupt.by());
        const canStart = pass.plan.items.length > 0;
        passes.push({ ...pass, canStart, summary: canStart ? await runPass(pass, options.run) : null });
        if (isStopped()) break;
      }
      hasLooked = true;
      reported = '';
      const isIdle = !passes.some(({ canStart }) => canStart);
      const held = passes.flatMap((pass) => pass.held);
      const day = passes.at(-1)?.day ?? null;
      if (once && isIdle) options.onIdle({ held, day, nextLookMs: null });
      if (once || isStopped()) return endOf(passes, interrupt);
      // Items that could start now count as started, so the next look finds other items, or none.
      if (isIdle) await idle(options, { project, held, day }, mark, report);
    } catch (error) {
      if (once || !hasLooked) throw error;
      report(error);
      await clock.sleep(options.intervalMs, interrupt.polite);
    }
    if (isStopped()) return exitCodeOf([], interrupt.by());
  }
}

type PassEnd = WatchPass & { canStart: boolean; summary: Summary | null };

async function lookOnce(options: WatchOptions, project: Project, pipeline: Pipeline): Promise<WatchPass> {
  const { parallel, maxCostPerDayUsd, clock } = options;
  const nowMs = clock.dateMs();
  const readiness = await readinessIn(project);
  return watchPass({ project, pipeline, parallel, maxCostPerDayUsd, nowMs, readiness });
}

/** From the list of open pull requests. One that is not listed may be merged, so its item is looked at. */
async function readinessIn(project: Project): Promise<Readiness> {
  if (!project.config.remote.pr.open) return () => null;
  const open = await (await project.hosts.forge()).openPullRequests();
  const byNumber = new Map(open.map((request) => [request.number, request]));
  return (id) => {
    const request = byNumber.get(openedFor(project, id)?.number ?? -1);
    if (request === undefined) return 'closed';
    const { head, checks } = request;
    return checks === 'pending' || checks === 'failed' ? null : `${head} ${checks}`;
  };
}

/** The exit code of all pending items: those that ran, and those held back. */
function endOf(passes: readonly PassEnd[], interrupt: WatchOptions['interrupt']): number {
  const statuses = passes.flatMap(({ held, summary, canStart }) => [
    ...(summary?.items.map(({ status }) => status) ?? (canStart ? (['failed'] as const) : [])),
    ...held.map(({ status }) => status),
  ]);
  return exitCodeOf(statuses, interrupt.by());
}

async function idle(
  options: WatchOptions,
  { project, held, day }: Pick<WatchPass, 'project' | 'held' | 'day'>,
  first: string,
  report: (error: unknown) => void,
): Promise<void> {
  const { clock, intervalMs, interrupt, onIdle } = options;
  const dueMs = held.reduce((soonest, { untilMs }) => Math.min(soonest, untilMs ?? soonest), Number.POSITIVE_INFINITY);
  for (;;) {
    const nowMs = clock.dateMs();
    const waitMs = Math.max(0, Math.min(intervalMs, dueMs - nowMs));
    onIdle({ held, day, nextLookMs: nowMs + waitMs });
    await clock.sleep(waitMs, interrupt.polite);
    if (interrupt.polite.aborted || clock.dateMs() >= dueMs) return;
    try {
      if ((await watchMark(project, first)) !== first) return;
    } catch (error) {
      // A failed look starts nothing.
      report(error);
    }
  }
}
