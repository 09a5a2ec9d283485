import { systemClock } from '../core/clock.ts';
import { toErrorRecord } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { EXIT } from '../core/exit-code.ts';
import { createMask } from '../core/mask.ts';
import type { Plan } from '../core/plan.ts';
import type { Secret } from '../core/secret.ts';
import type { Summary } from '../core/summary.ts';
import { checkoutOf } from '../git/repository.ts';
import { consoleSubscriber } from '../output/event-lines.ts';
import { createLiveRegion } from '../output/live-region.ts';
import { OutputPrefixer, type Sink, sinkOf } from '../output/prefixer.ts';
import { type Guide, printSummary } from '../output/summary.ts';
import { createTerminal, type Terminal, wantsLiveRegion } from '../output/terminal.ts';
import type { Pipeline } from '../run/pipeline.ts';
import type { Project } from '../run/project.ts';
import { type RunOptions, runPlan } from '../run/run.ts';
import type { Interruption } from '../run/stops.ts';
import { printJsonLine, printProblem } from './print.ts';
import { type BatchFlags, type BatchRequest, retryFlagsOf } from './request.ts';
import { version } from './version.ts';

/** Everything people see of a run: events as lines, the output of workers, and on a terminal a live region below. */
interface RunOutput {
  terminal: Terminal;
  subscriber: Subscriber;
  /** For events of the past: they update the live region and print no line. */
  replay: Subscriber;
  /** For the output of workers; `onLine` is called with each line. */
  prefixer: RunOptions['prefixer'];
  /** Removes the live region; lines can still be printed. */
  close(): void;
}

/** With `json`, stdout is for JSON, and people's output goes to stderr. */
export function createRunOutput(
  secrets: readonly Secret[],
  { json = false, quiet = false, verbose = false }: Pick<BatchFlags, 'json' | 'quiet' | 'verbose'>,
): RunOutput {
  const stream = json ? process.stderr : process.stdout;
  const level = quiet ? 'quiet' : verbose ? 'verbose' : 'normal';
  const mask = createMask(secrets);
  // Durations must not change when the date is set.
  const originMs = systemClock.dateMs() - systemClock.now() - systemClock.suspendedMs();
  const now = (): number => originMs + systemClock.now() + systemClock.suspendedMs();
  const isLive = !json && wantsLiveRegion(stream, process.env, quiet);
  const region = isLive ? createLiveRegion({ stream, env: process.env, now, mask }) : null;
  const terminal = region ?? createTerminal(mask, stream);
  // The region shows the steps; only lines worth keeping scroll past it.
  const printLines = consoleSubscriber(terminal, region !== null && level === 'normal' ? 'live' : level);
  const sink: Sink = region === null ? sinkOf(stream) : { write: (lines) => region.line(String(lines).slice(0, -1)) };
  return {
    terminal,
    subscriber(event) {
      region?.subscriber({ ...event, at: new Date(now()).toISOString() });
      printLines(event);
    },
    replay: (event) => region?.subscriber(event),
    prefixer: (onLine) =>
      new OutputPrefixer({ ...sink, mask: secrets.map((one) => one.reveal()), colour: terminal.colour, onLine }),
    close: () => region?.close(),
  };
}

/** Its summary; left: it continues at the hub and is no longer followed; failed: as a whole, and the error was printed. */
type RunEnd = Summary | 'left' | 'failed';

export function exitCodeOfEnd(end: RunEnd): number {
  if (end === 'left') return EXIT.ok;
  return end === 'failed' ? EXIT.failed : end.exitCode;
}

interface PlannedRun {
  project: Project;
  pipeline: Pipeline;
  plan: Plan;
  request: BatchRequest;
  /** The run that this one resumes, if any. */
  resumes: string | null;
  interrupt: Interruption;
  subscriber?: Subscriber;
}

/** Runs a plan and shows it. */
export function runPlanned(run: PlannedRun): Promise<RunEnd> {
  const { project, pipeline, plan, request, resumes, interrupt, subscriber } = run;
  const { flags, settings, asked, workers, database, evaluation, landing } = request;
  const { json = false, halt = null, until, again, detach = false, notify } = flags;
  return showRun(project, request, async ({ terminal, prefixer }, subscribers) => {
    const options: RunOptions = {
      project,
      pipeline,
      plan,
      request: {
        parallel: asked,
        haltAfter: halt === true ? 1 : halt,
        config: settings,
        all: request.ids === 'all',
        until,
        evaluation,
        landing,
        again,
      },
      resumes,
      retryFlags: retryFlagsOf(pipeline.name, request),
      interrupt,
      notify: {
        command: notify || null,
        desktop: notify !== false && !json && wantsLiveRegion(process.stdout, process.env),
      },
      warnLate: (text) => terminal.line(`[COORDINATOR] ${text}`),
      subscribers: [...subscribers, ...(subscriber === undefined ? [] : [subscriber])],
      prefixer,
      version,
    };
    if (database === null) return runPlan(options);
    const { runAtHub } = await import('./at-hub.ts');
    // Without the flag: as many as its machines take.
    return runAtHub(options, database, { detach, parallel: flags.parallel === undefined ? null : workers });
  });
}

/** Shows a run while it is worked on, and its summary. `work` returns null if there was nothing to work on. */
export async function showRun<End extends RunEnd | null>(
  project: Project,
  { flags }: BatchRequest,
  work: (output: RunOutput, subscribers: Subscriber[]) => Promise<End>,
): Promise<End | 'failed'> {
  const { mask } = project;
  const output = createRunOutput(project.secrets(), flags);
  const { terminal } = output;
  let isStarted = false;
  const noteStart: Subscriber = (event) => {
    isStarted ||= event.type === 'run-started';
  };
  const printEvent: Subscriber = (event) => printJsonLine(event, mask);
  try {
    const end = await work(output, [noteStart, output.subscriber, ...(flags.json ? [printEvent] : [])]);
    output.close();
    if (end === 'left') {
      terminal.line('The run continues at the hub. See: agentos status, or follow it with: agentos resume');
      if (flags.json) printJsonLine({ detached: true }, mask);
    } else if (end !== null && end !== 'failed') {
      printSummary(terminal, end, await guideOf(project, flags, end));
      if (flags.json) printJsonLine(end, mask);
    }
    return end;
  } catch (error) {
    // After its start an error is a failure of the run, not of the command line.
    if (!isStarted) throw error;
    output.close();
    printProblem(toErrorRecord(error).problem);
    return 'failed';
  } finally {
    output.close();
  }
}

async function guideOf(
  { git, placeFlags }: Project,
  { offline = false }: BatchFlags,
  summary: Summary,
): Promise<Guide> {
  const hasBranch = summary.items.some(
    ({ workflow, status }) => (workflow === 'implement' || workflow === 'land') && status === 'succeeded',
  );
  // Without the name of the checkout's branch only these lines are missing.
  return { place: placeFlags, offline, checkout: hasBranch ? await checkoutOf(git).catch(() => null) : null };
}
