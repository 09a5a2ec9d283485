import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import type { Subscriber } from '../../core/events.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { definedOnly, shownJson } from '../../core/json.ts';
import { withoutFlags } from '../../core/lines.ts';
import type { PipelineName } from '../../core/paths.ts';
import type { Plan } from '../../core/plan.ts';
import { countsOf, type Summary } from '../../core/summary.ts';
import { createGit } from '../../git/git.ts';
import { checkoutOf } from '../../git/repository.ts';
import { wantsLiveRegion } from '../../output/live-region.ts';
import { printPlan } from '../../output/plan.ts';
import { createRunOutput, type RunOutput } from '../../output/run-output.ts';
import type { Guide } from '../../output/summary.ts';
import { printSummary } from '../../output/summary.ts';
import { printable } from '../../output/terminal.ts';
import { pipelineNamed } from '../../run/batches.ts';
import { shownPlan } from '../../run/land-batch.ts';
import type { Pipeline } from '../../run/pipeline.ts';
import { planBatch } from '../../run/plan-batch.ts';
import type { Project } from '../../run/project.ts';
import { type RunOptions, runPlan } from '../../run/run.ts';
import type { Interruption } from '../../run/stops.ts';
import { sweep } from '../../run/sweep.ts';
import { SELECT_FLAGS } from '../flags.ts';
import { watchInterrupts } from '../interrupt.ts';
import { printProblem } from '../problem.ts';
import { type BatchRequest, hideSecrets, parseBatchFlags, placeFlagsOf, projectOf } from '../request.ts';
import { requireTrust } from '../trusted.ts';
import { version } from '../version.ts';

/** `agentos lld`, `issue`, `implement` and `run`. */
export async function batchCommand(name: PipelineName, positional: string[], rawFlags: unknown): Promise<number> {
  const request = parseBatchFlags(name, positional, rawFlags);
  return runBatchCommand(pipelineNamed(name, request), request);
}

const VISIBLE_KEYS =
  'Keys stay visible in /proc to other programs of this user: this system does not let them be overwritten.';

/** What every batch command does with its flags: plan, and unless that is all, run and sum up. */
export async function runBatchCommand(
  pipeline: Pipeline,
  request: BatchRequest,
  resumes: string | null = null,
): Promise<number> {
  const project = await projectOf(request.place, request.config);
  const isHidden = hideSecrets(project.keys);
  project.hosts.onNotice = (text) => void process.stderr.write(`${printable(text)}\n`);
  if (!request.dryRun || request.trust) await requireTrust(project, { ...request.place, trust: request.trust });
  const { workers, asked } = request.parallel;
  refuseSelection(project, request);
  await refuseSwappedOrder(pipeline, project, request);
  const answers = await answersIn(project, request);
  const plan = await planBatch({ project, pipeline, ids: request.ids, parallel: workers, isDryRun: request.dryRun });
  plan.notes.unshift(...answers);
  const output = outputFor(project, request);
  const printJson = jsonPrinter(project);
  try {
    if (!isHidden && !request.dryRun) output.terminal.line(`[COORDINATOR] ${VISIBLE_KEYS}`);
    if (asked > workers) output.terminal.line(`[COORDINATOR] --parallel ${asked} is capped at ${workers}.`);
    if (request.dryRun)
      return showPlan(
        shownPlan(plan, pipeline),
        request.json ? printJson : (shown) => printPlan(output.terminal, shown),
      );
    if (plan.items.length === 0) {
      await sweep(project, plan);
      for (const note of plan.notes) output.terminal.line(note);
      output.terminal.line(`Nothing to do: ${pipeline.stages.at(-1)?.nothingToDo}.`);
      if (request.json) printJson(emptySummary(plan));
      return EXIT.ok;
    }
    const interrupt = watchInterrupts();
    try {
      return exitCodeOfEnd(
        await runPlanned({ project, pipeline, plan, request, resumes, interrupt, output, printJson }),
      );
    } finally {
      interrupt.dispose();
    }
  } finally {
    output.close();
  }
}

export function outputFor(project: Project, { json, dryRun, level }: BatchRequest): RunOutput {
  return createRunOutput({
    stream: json ? process.stderr : process.stdout,
    env: process.env,
    secrets: project.secrets(),
    level,
    live: !json && !dryRun,
  });
}

/** A value as one line on stdout. */
export function jsonPrinter({ mask }: Project): (value: unknown) => void {
  return (value) => {
    process.stdout.write(`${mask(shownJson(value))}\n`);
  };
}

interface ShownRun {
  project: Project;
  request: BatchRequest;
  output: RunOutput;
  printJson: (value: unknown) => void;
  subscriber?: Subscriber;
}

interface PlannedRun extends ShownRun {
  pipeline: Pipeline;
  plan: Plan;
  /** The run that this one resumes, if any. */
  resumes: string | null;
  interrupt: Interruption;
}

/** `left`: it is under way at the hub, and no longer followed. */
type RunEnd = Summary | 'left';

/** Runs a plan and shows what comes of it; null: it failed as a whole, and that was shown. Closes its output. */
export function runPlanned(run: PlannedRun): Promise<RunEnd | null> {
  const { project, pipeline, plan, request, resumes, interrupt, output } = run;
  return showRun(run, async (subscribers) => {
    const options: RunOptions = {
      project,
      pipeline,
      plan,
      haltAfter: request.haltAfter,
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

/** A reaction has fewer flags than the watch, or the run that is resumed, which it may be a part of: that it pushes is what it is for. */
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
    import('../../hub/submitter.ts'),
    import('../../run/hub-run.ts'),
  ]);
  const { project } = options;
  const connection = await openHubConnection({ databaseUrl, base: project.paths.base, version });
  try {
    return (await runOnHub(options, { connection, detach, parallel: parallel.limit })) ?? 'left';
  } finally {
    await connection.close();
  }
}

/** Follows a run that is under way at the hub to its end; returns the exit code. Undefined: it is not known there. */
export async function followToTheEnd(
  project: Project,
  request: BatchRequest,
  work: (interrupt: Interruption, subscribers: Subscriber[]) => Promise<Summary | null | undefined>,
): Promise<number | undefined> {
  const output = outputFor(project, request);
  const interrupt = watchInterrupts();
  try {
    const end = await showRun({ project, request, output, printJson: jsonPrinter(project) }, async (subscribers) => {
      const summary = await work(interrupt, subscribers);
      return summary === null ? 'left' : summary;
    });
    return end === undefined ? undefined : exitCodeOfEnd(end);
  } finally {
    interrupt.dispose();
    output.close();
  }
}

function exitCodeOfEnd(end: RunEnd | null): number {
  if (end === 'left') return EXIT.ok;
  return end?.exitCode ?? EXIT.failed;
}

/** Shows a run while it is worked on, and what came of it. */
async function showRun<End extends RunEnd | undefined>(
  { project, request, output, printJson, subscriber }: ShownRun,
  work: (subscribers: Subscriber[]) => Promise<End>,
): Promise<End | null> {
  let isStarted = false;
  const noteStart: Subscriber = (event) => {
    isStarted ||= event.type === 'run-started';
  };
  const more = [...(subscriber === undefined ? [] : [subscriber]), ...(request.json ? [printJson] : [])];
  try {
    const end = await work([noteStart, output.subscriber, ...more]);
    output.close();
    if (end === 'left') {
      output.terminal.line('It is left running at the hub. See: agentos status, or follow it with: agentos resume');
      if (request.json) printJson({ detached: true });
    } else if (end !== undefined) {
      printSummary(output.terminal, end, await guideOf(project, request, end));
      if (request.json) printJson(end);
    }
    return end;
  } catch (error) {
    // What goes wrong from then on is a failure of the run, not of the command line.
    if (!isStarted) throw error;
    output.close();
    printProblem(toErrorRecord(error).problem);
    return null;
  }
}

async function guideOf(
  { paths, childEnv }: Project,
  { place, config }: BatchRequest,
  summary: Summary,
): Promise<Guide> {
  const hasBranch = summary.items.some(
    ({ workflow, status }) => (workflow === 'implement' || workflow === 'land') && status === 'succeeded',
  );
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

/** Loaded where there is a service that people answer on. */
export async function answersIn(project: Project, { ids, dryRun }: BatchRequest): Promise<string[]> {
  if (project.config.remote.source === null) return [];
  const { takeAnswers } = await import('../../run/remote-work.ts');
  return takeAnswers(project, ids, dryRun);
}

/** A folder has no labels, no milestones and no comments. */
export function refuseSelection({ config: { remote } }: Project, { config }: BatchRequest): void {
  const selecting = SELECT_FLAGS.filter(({ setting }) => config[setting] !== undefined).map(({ name }) => name);
  const given = [...selecting, ...(remote.comment ? ['--comment'] : [])];
  if (given.length === 0 || remote.source !== null) return;
  throw new AgentosError({
    code: 'usage',
    reason: `${given.join(' and ')} can't be used with issues that are files.`,
    hint: 'Name a service with --source github:owner/name, or as source in agentos.yaml.',
  });
}

/** Of a run that was not started, because there is nothing to do. */
export function emptySummary({ workflow, parallel }: Pick<Summary, 'workflow' | 'parallel'>): object {
  const at = new Date().toISOString();
  return {
    runId: null,
    workflow,
    startedAt: at,
    finishedAt: at,
    parallel,
    exitCode: EXIT.ok,
    counts: countsOf([]),
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
  // With --all there is no item that could be left out.
  if (asked <= workers || ids === 'all' || !isItemId(id)) return;
  const known = await stages[0].collect(project, [id]).then(
    () => true,
    () => false,
  );
  if (!known) return;
  throw new AgentosError({
    code: 'usage',
    reason: `--parallel ${id} would mean ${id} workers, but ${id} is an item.`,
    hint: `Write the items first: agentos ${name} ${[id, ...ids].join(' ')} --parallel 3`,
  });
}
