import { toErrorRecord } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { EXIT } from '../core/exit-code.ts';
import { definedOnly, shownJson } from '../core/json.ts';
import { withoutFlags } from '../core/lines.ts';
import type { Plan } from '../core/plan.ts';
import type { Summary } from '../core/summary.ts';
import { checkoutOf } from '../git/repository.ts';
import { wantsLiveRegion } from '../output/live-region.ts';
import { createRunOutput, type RunOutput } from '../output/run-output.ts';
import { type Guide, printSummary } from '../output/summary.ts';
import type { Pipeline } from '../run/pipeline.ts';
import type { Project } from '../run/project.ts';
import { type RunOptions, runPlan } from '../run/run.ts';
import type { Interruption } from '../run/stops.ts';
import { watchInterrupts } from './interrupt.ts';
import { printProblem } from './problem.ts';
import type { BatchRequest } from './request.ts';
import { version } from './version.ts';

export function outputFor(project: Project, { json, dryRun, level }: BatchRequest): RunOutput {
  return createRunOutput({
    stream: json ? process.stderr : process.stdout,
    env: process.env,
    secrets: project.secrets(),
    level,
    live: !json && !dryRun,
  });
}

/** Prints a value as one line on stdout. */
export function jsonPrinter({ mask }: Project): (value: unknown) => void {
  return (value) => {
    process.stdout.write(`${mask(shownJson(value))}\n`);
  };
}

interface ShownRun {
  project: Project;
  request: BatchRequest;
  output: RunOutput;
  subscriber?: Subscriber;
}

interface RunToShow extends ShownRun {
  pipeline: Pipeline;
  plan: Plan;
  /** The run that this one resumes, if any. */
  resumes: string | null;
  interrupt: Interruption;
}

/** `left`: the run continues at the hub and is no longer followed. */
type RunEnd = Summary | 'left';

/** Runs a plan and shows it; null: the run failed as a whole, and the error was printed. Closes its output. */
export function runPlanned(run: RunToShow): Promise<RunEnd | null> {
  const { project, pipeline, plan, request, resumes, interrupt, output } = run;
  return showRun(run, async (subscribers) => {
    const options: RunOptions = {
      project,
      pipeline,
      plan,
      request: {
        parallel: request.parallel.asked,
        haltAfter: request.haltAfter,
        config: request.config,
        all: request.ids === 'all',
        ...definedOnly({ until: request.until, evaluation: request.evaluation, landing: request.landing }),
        ...(request.again ? { again: true } : {}),
      },
      resumes,
      retryFlags: retryFlagsFor(pipeline, request),
      interrupt,
      notify: {
        command: request.notify || null,
        desktop: request.notify !== false && !request.json && wantsLiveRegion(process.stdout, process.env, false),
      },
      warnLate: (text) => output.terminal.line(`[COORDINATOR] ${text}`),
      subscribers,
      prefixer: output.prefixer,
      version,
    };
    return request.database === null ? runPlan(options) : submitAndFollow(options, request, request.database);
  });
}

/** `react` lacks some flags of `watch` and `resume`, which can run it too. It always pushes. */
function retryFlagsFor({ name }: Pipeline, { retryFlags }: BatchRequest): string[] {
  if (name !== 'react') return retryFlags;
  return withoutFlags(retryFlags, new Set(['--until'])).filter((word) => word !== '--pr');
}

async function submitAndFollow(
  options: RunOptions,
  { parallel, detach }: BatchRequest,
  databaseUrl: string,
): Promise<RunEnd> {
  const [{ openHubConnection }, { runOnHub }] = await Promise.all([
    import('../hub/submitter.ts'),
    import('../run/hub/hub-run.ts'),
  ]);
  const { project } = options;
  const connection = await openHubConnection({ databaseUrl, base: project.paths.base, version });
  try {
    return (await runOnHub(options, { connection, detach, parallel: parallel.limit })) ?? 'left';
  } finally {
    await connection.close();
  }
}

/** Follows a run at the hub to its end; returns the exit code. Undefined: the hub does not know the run. */
export async function followToTheEnd(
  project: Project,
  request: BatchRequest,
  work: (interrupt: Interruption, subscribers: Subscriber[]) => Promise<Summary | null | undefined>,
): Promise<number | undefined> {
  const output = outputFor(project, request);
  const interrupt = watchInterrupts();
  try {
    const end = await showRun({ project, request, output }, async (subscribers) => {
      const summary = await work(interrupt, subscribers);
      return summary === null ? 'left' : summary;
    });
    return end === undefined ? undefined : exitCodeOfEnd(end);
  } finally {
    interrupt.dispose();
    output.close();
  }
}

export function exitCodeOfEnd(end: RunEnd | null): number {
  if (end === 'left') return EXIT.ok;
  return end?.exitCode ?? EXIT.failed;
}

/** Shows a run while it is worked on, and its summary. */
async function showRun<End extends RunEnd | undefined>(
  { project, request, output, subscriber }: ShownRun,
  work: (subscribers: Subscriber[]) => Promise<End>,
): Promise<End | null> {
  let isStarted = false;
  const noteStart: Subscriber = (event) => {
    isStarted ||= event.type === 'run-started';
  };
  const printJson = request.json ? jsonPrinter(project) : null;
  try {
    const end = await work([noteStart, output.subscriber, subscriber ?? [], printJson ?? []].flat());
    output.close();
    if (end === 'left') {
      output.terminal.line('The run continues at the hub. See: agentos status, or follow it with: agentos resume');
      printJson?.({ detached: true });
    } else if (end !== undefined) {
      printSummary(output.terminal, end, await guideOf(project, request, end));
      printJson?.(end);
    }
    return end;
  } catch (error) {
    // After its start an error is a failure of the run, not of the command line.
    if (!isStarted) throw error;
    output.close();
    printProblem(toErrorRecord(error).problem);
    return null;
  }
}

async function guideOf({ git, placeFlags }: Project, { config }: BatchRequest, summary: Summary): Promise<Guide> {
  const hasBranch = summary.items.some(
    ({ workflow, status }) => (workflow === 'implement' || workflow === 'land') && status === 'succeeded',
  );
  return {
    place: placeFlags,
    offline: config.offline ?? false,
    // Without the name of the checkout's branch only these lines are missing.
    checkout: hasBranch ? await checkoutOf(git).catch(() => null) : null,
  };
}
