import type { Clock } from '../core/clock.ts';
import { type Problem, toErrorRecord } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { exitCodeOf } from '../core/exit-code.ts';
import type { Plan } from '../core/plan.ts';
import type { Summary } from '../core/summary.ts';
import type { HeldBack } from '../core/watching.ts';
import type { Pipeline } from './pipeline.ts';
import type { Project } from './project.ts';
import type { Interruption } from './stops.ts';
import { type DayBudget, runPass, type WatchPass, watchMark, watchPass } from './watch-pass.ts';

/** Nothing can start: what there is, and when it is looked at again. */
export interface WatchIdle {
  /** What is pending all the same, with the reasons. */
  held: readonly HeldBack[];
  day: DayBudget | null;
  /** Null: it is not. */
  nextLookMs: number | null;
}

interface WatchOptions {
  /** Opens the project as it is configured now. */
  open: () => Promise<Project>;
  pipeline: () => Pipeline;
  parallel: number;
  maxCostPerDayUsd: number | null;
  intervalMs: number;
  /** One pass, then the end. */
  once: boolean;
  interrupt: Pick<Interruption, 'polite' | 'by'>;
  clock: Clock;
  /** Runs a plan, and shows it. Null: it failed as a whole, which was said. */
  run: (project: Project, plan: Plan, subscriber: Subscriber) => Promise<Summary | null>;
  onIdle: (idle: WatchIdle) => void;
  /** A pass that failed, each reason once; the next one may not. */
  onProblem: (problem: Problem) => void;
}

/**
 * Looks at what is pending, runs what may start, and waits for a change:
 *
 *   look ──▶ something may start ──▶ run ──▶ look
 *     └────▶ nothing may ──▶ idle ──▶ look      when the source, a design, a checkpoint or a branch has changed, or the
 *                                               time has come for something that was held back
 *
 * Returns the exit code: of the first pass with `once`, else that of the signal which ended it. A first pass that fails
 * rejects, because nothing was started; a later one is reported, and tried again.
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
      const { parallel, maxCostPerDayUsd } = options;
      const nowMs = clock.dateMs();
      const pass = await watchPass({ project, pipeline: options.pipeline(), parallel, maxCostPerDayUsd, nowMs });
      hasLooked = true;
      reported = '';
      const canStart = pass.plan.items.length > 0;
      if (isStopped()) return exitCodeOf([], interrupt.by());
      const summary = canStart ? await runPass(pass, options.run) : null;
      if (once && !canStart) options.onIdle({ ...pass, nextLookMs: null });
      if (once || isStopped()) return endOf(pass, summary, canStart, interrupt);
      // What could start has counted as started: the next look finds something else, or nothing.
      if (!canStart) await idle(options, pass, mark, report);
    } catch (error) {
      if (once || !hasLooked) throw error;
      report(error);
      await clock.sleep(options.intervalMs, interrupt.polite);
    }
    if (isStopped()) return exitCodeOf([], interrupt.by());
  }
}

/** As a batch over all that is pending: what was run, and what was held back. */
function endOf(
  { held }: WatchPass,
  summary: Summary | null,
  wasRun: boolean,
  interrupt: WatchOptions['interrupt'],
): number {
  const ended = summary?.items.map(({ status }) => status) ?? (wasRun ? (['failed'] as const) : []);
  return exitCodeOf([...ended, ...held.map(({ status }) => status)], interrupt.by());
}

async function idle(
  options: WatchOptions,
  { project, held, day }: WatchPass,
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
      // What can't be looked at is not unchanged, but nothing is started because of it.
      report(error);
    }
  }
}
