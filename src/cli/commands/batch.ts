import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import type { Subscriber } from '../../core/events.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { definedOnly } from '../../core/json.ts';
import type { PipelineName } from '../../core/paths.ts';
import type { Plan } from '../../core/plan.ts';
import type { Summary } from '../../core/summary.ts';
import { createGit } from '../../git/git.ts';
import { checkoutOf } from '../../git/repository.ts';
import { printPlan } from '../../output/plan.ts';
import { createRunOutput, type RunOutput } from '../../output/run-output.ts';
import type { Guide } from '../../output/summary.ts';
import { printSummary } from '../../output/summary.ts';
import { pipelineNamed } from '../../run/batches.ts';
import type { Pipeline } from '../../run/pipeline.ts';
import { planBatch } from '../../run/plan-batch.ts';
import type { Project } from '../../run/project.ts';
import { type RunOptions, runPlan } from '../../run/run.ts';
import type { Interruption } from '../../run/stops.ts';
import { sweep } from '../../run/sweep.ts';
import { watchInterrupts } from '../interrupt.ts';
import { printProblem } from '../problem.ts';
import { type BatchRequest, parseBatchFlags, placeFlagsOf, projectOf } from '../request.ts';
import { requireTrust } from '../trusted.ts';
import { version } from '../version.ts';

/** `agentos lld`, `issue`, `implement` and `run`. */
export async function batchCommand(name: PipelineName, positional: string[], rawFlags: unknown): Promise<number> {
  const request = parseBatchFlags(name, positional, rawFlags);
  return runBatchCommand(pipelineNamed(name, request), request);
}

/** What every batch command does with its flags: plan, and unless that is all, run and sum up. */
export async function runBatchCommand(
  pipeline: Pipeline,
  request: BatchRequest,
  resumes: string | null = null,
): Promise<number> {
  const project = await projectOf(request.place, request.config);
  if (!request.dryRun) await requireTrust(project, { ...request.place, trust: request.trust });
  const { workers, asked } = request.parallel;
  await refuseSwappedOrder(pipeline, project, request);
  const plan = await planBatch({ project, pipeline, ids: request.ids, parallel: workers, isDryRun: request.dryRun });
  const { output, printJson } = openOutput(project, request);
  try {
    if (asked > workers) output.terminal.line(`[COORDINATOR] --parallel ${asked} is capped at ${workers}.`);
    if (request.dryRun) return showPlan(plan, request.json ? printJson : (shown) => printPlan(output.terminal, shown));
    if (plan.items.length === 0) {
      await sweep(project, plan);
      for (const note of plan.notes) output.terminal.line(note);
      output.terminal.line(`Nothing to do: ${pipeline.stages.at(-1)?.nothingToDo}.`);
      if (request.json) printJson(emptySummary(plan));
      return EXIT.ok;
    }
    const end = await shownRun(project, request, { output, printJson }, (interrupt, subscribers) => {
      const options: RunOptions = {
        project,
        pipeline,
        plan,
        haltAfter: request.haltAfter,
        request: {
          parallel: asked,
          haltAfter: request.haltAfter,
          config: request.config,
          all: request.ids === 'all',
          ...definedOnly({ until: request.until, evaluation: request.evaluation }),
          ...(request.again ? { again: true } : {}),
        },
        resumes,
        retryFlags: request.retryFlags,
        interrupt,
        subscribers,
        prefixer: output.prefixer,
        version,
      };
      return request.database === null ? runPlan(options) : submitAndFollow(options, request, request.database);
    });
    return end ?? EXIT.ok;
  } finally {
    output.close();
  }
}

interface Shown {
  output: RunOutput;
  printJson: (value: unknown) => void;
}

function openOutput(project: Project, request: BatchRequest): Shown {
  const output = createRunOutput({
    stream: request.json ? process.stderr : process.stdout,
    env: process.env,
    secrets: project.config.keys.map((key) => key.secret),
    level: request.level,
    live: !request.json && !request.dryRun,
  });
  const printJson = (value: unknown): void => {
    process.stdout.write(`${project.mask(JSON.stringify(value))}\n`);
  };
  return { output, printJson };
}

/** Its summary; null: it was left running; undefined: there is no such run. */
type Work = (interrupt: Interruption, subscribers: Subscriber[]) => Promise<Summary | null | undefined>;

/** A run that is under way already: shown from here on, and summed up. */
export async function followToTheEnd(project: Project, request: BatchRequest, work: Work): Promise<number | undefined> {
  const shown = openOutput(project, request);
  try {
    return await shownRun(project, request, shown, work);
  } finally {
    shown.output.close();
  }
}

/** Shows a run while it is worked on, and sums it up; returns the exit code. */
async function shownRun(
  project: Project,
  request: BatchRequest,
  { output, printJson }: Shown,
  work: Work,
): Promise<number | undefined> {
  const interrupt = watchInterrupts();
  let isStarted = false;
  const noteStart: Subscriber = (event) => {
    isStarted ||= event.type === 'run-started';
  };
  try {
    const summary = await work(interrupt, [noteStart, output.subscriber, ...(request.json ? [printJson] : [])]);
    output.close();
    if (summary === undefined) return undefined;
    if (summary === null) {
      output.terminal.line('It is left running at the hub. See: agentos status, or follow it with: agentos resume');
      if (request.json) printJson({ detached: true });
      return EXIT.ok;
    }
    printSummary(output.terminal, summary, await guideOf(project, request, summary));
    if (request.json) printJson(summary);
    return summary.exitCode;
  } catch (error) {
    // What goes wrong from then on is a failure of the run, not of the command line.
    if (!isStarted) throw error;
    output.close();
    printProblem(toErrorRecord(error).problem);
    return EXIT.failed;
  } finally {
    interrupt.dispose();
  }
}

/** Null: it was left running. */
async function submitAndFollow(
  options: RunOptions,
  { parallel, detach }: BatchRequest,
  databaseUrl: string,
): Promise<Summary | null> {
  const [{ openHubConnection }, { runOnHub }] = await Promise.all([
    import('../../hub/submitter.ts'),
    import('../../run/hub-run.ts'),
  ]);
  const { project } = options;
  const connection = await openHubConnection({ databaseUrl, base: project.paths.base, version });
  try {
    return await runOnHub(options, { connection, detach, parallel: parallel.limit });
  } finally {
    await connection.close();
  }
}

async function guideOf(
  { paths, childEnv }: Project,
  { place, config }: BatchRequest,
  summary: Summary,
): Promise<Guide> {
  const hasBranch = summary.items.some((item) => item.workflow === 'implement' && item.status === 'succeeded');
  return {
    place: placeFlagsOf(place),
    offline: config.offline ?? false,
    // A checkout that git can't name costs these lines, not the summary.
    checkout: hasBranch ? await checkoutOf(createGit(paths.repository, childEnv)).catch(() => null) : null,
  };
}

function showPlan(plan: Plan, show: (plan: Plan) => void): number {
  show(plan);
  return EXIT.ok;
}

/** Of a run that was not started, because there is nothing to do. */
export function emptySummary({ workflow, parallel }: Pick<Summary, 'workflow' | 'parallel'>): unknown {
  const at = new Date().toISOString();
  return {
    runId: null,
    workflow,
    startedAt: at,
    finishedAt: at,
    parallel,
    exitCode: EXIT.ok,
    counts: { total: 0 },
    retryCommand: null,
    changeFirst: null,
    items: [],
  };
}

/** `--parallel 137 142` means two items to a person; taken as 137 workers it would leave one item out in silence. */
async function refuseSwappedOrder(
  { name, stages }: Pipeline,
  project: Project,
  { parallel: { workers, asked }, ids }: BatchRequest,
): Promise<void> {
  const id = String(asked);
  if (asked <= workers || !isItemId(id)) return;
  const known = await stages[0].collect(project, [id]).then(
    () => true,
    () => false,
  );
  if (!known) return;
  const others = ids === 'all' ? [] : ids;
  throw new AgentosError({
    code: 'usage',
    reason: `--parallel ${id} would mean ${id} workers, but ${id} is an item.`,
    hint: `Write the items first: agentos ${name} ${[id, ...others].join(' ')} --parallel 3`,
  });
}
