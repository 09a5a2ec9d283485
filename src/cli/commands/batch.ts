import { resolve } from 'node:path';
import type { ConfigFlags } from '../../core/config.ts';
import { usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import type { PipelineName } from '../../core/paths.ts';
import { describeGroup, type Plan, type PlannedItem, replacementLines } from '../../core/plan.ts';
import { countsOf, type Summary } from '../../core/summary.ts';
import { wordingOf } from '../../core/wording.ts';
import { aligned, createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import type { EvalRequest } from '../../run/batches/eval-batch.ts';
import type { Pipeline } from '../../run/pipeline.ts';
import { pipelineNamed, planBatch } from '../../run/plan-batch.ts';
import { sweep } from '../../run/prepare-run.ts';
import type { Project } from '../../run/project.ts';
import { printJsonLine } from '../print.ts';
import {
  type BatchFlags,
  type BatchRequest,
  hideSecrets,
  projectOf,
  refuseOffline,
  requestOf,
  requireTrust,
  selected,
  selectingFlags,
} from '../request.ts';
import { exitCodeOfEnd, runPlanned } from '../show-run.ts';
import { watchInterrupts } from '../signals.ts';

/** `agentos lld`, `issue`, `implement`, `run`, `react`, `land` and `eval`. */
export async function batchCommand(name: PipelineName, words: string[], flags: object): Promise<number> {
  return runBatch(name, await requestFor(name, words, flags));
}

async function requestFor(name: PipelineName, words: string[], flags: object): Promise<BatchRequest> {
  switch (name) {
    case 'eval':
      return evalRequest(words, flags as EvalFlags);
    case 'land': {
      const { resolve: mayResolve = false, fetch = false } = flags as { resolve?: boolean; fetch?: boolean };
      // The ids name branches; the landing is one item.
      const landing = { ids: selected(name, words, flags), resolve: mayResolve, fetch };
      return { ...requestOf(name, 'all', flags), landing };
    }
    case 'react':
      // A reaction always pushes and answers.
      return requestOf(name, selected(name, words, flags), { ...flags, pr: true });
    default:
      return requestOf(name, selected(name, words, flags), flags);
  }
}

/** Each value of these is a candidate. */
type EvalFlags = Omit<BatchFlags, 'drafter' | 'reviewer' | 'maxRounds'> & {
  drafter?: string[];
  reviewer?: string[];
  prompts?: string[];
  maxRounds?: number[];
};

/** Without ids: all past items. A role that is named is compared; if none is, both are. */
async function evalRequest(words: string[], given: EvalFlags): Promise<BatchRequest> {
  const { drafter = [], reviewer = [], prompts = [], maxRounds = [], ...flags } = given;
  const all = flags.all ?? (words.length === 0 && flags.ids === undefined);
  const isNamed = drafter.length + reviewer.length > 0;
  if (isNamed) refuseOffline(flags);
  const request = requestOf('eval', selected('eval', words, { ...flags, all }), flags);
  const { config } = await projectOf(flags, request.settings);
  const orElse = <T>(values: T[], configured: T): T[] => (values.length > 0 ? [...new Set(values)] : [configured]);
  const folders: (string | null)[] = prompts.map((folder) => resolve(folder));
  const evaluation: EvalRequest = {
    reviews: reviewer.length > 0 || !isNamed,
    designs: drafter.length > 0 || !isNamed,
    drafters: orElse(drafter, config.models.drafter),
    reviewers: orElse(reviewer, config.models.reviewer),
    prompts: orElse(folders, null),
    maxRounds: orElse(maxRounds, config.bounds.maxRounds),
  };
  return { ...request, evaluation };
}

const VISIBLE_KEYS =
  'Other programs of this user can see the keys in /proc, because this system does not allow overwriting them.';

/** Plans the batch and, unless it is a dry run, runs it and shows the summary. */
export async function runBatch(
  name: PipelineName,
  request: BatchRequest,
  resumes: string | null = null,
): Promise<number> {
  const { flags, settings, asked, workers, evaluation, landing } = request;
  const { dryRun: isDryRun = false, trust = false } = flags;
  const pipeline = pipelineNamed(name, { ...flags, evaluation, landing });
  const project = await projectOf(flags, settings);
  const isHidden = hideSecrets(project.keys);
  project.hosts.onNotice = (text) => void process.stderr.write(`${printable(text)}\n`);
  if (!isDryRun || trust) await requireTrust(project, trust);
  refuseSelection(project, settings);
  await refuseSwappedOrder(pipeline, project, request);
  const answers = await answersIn(project, request);
  const plan = await planBatch({ project, pipeline, ids: request.ids, parallel: workers, isDryRun });
  plan.notes.unshift(...answers);
  const { mask } = project;
  const terminal = createTerminal(mask, flags.json ? process.stderr : process.stdout);
  if (!isHidden && !isDryRun) terminal.line(`[COORDINATOR] ${VISIBLE_KEYS}`);
  if (asked > workers) terminal.line(`[COORDINATOR] --parallel ${asked} is capped at ${workers}.`);
  if (isDryRun) {
    const shown = pipeline.stages[0].whole?.shown?.(plan) ?? plan;
    if (flags.json) printJsonLine(shown, mask);
    else printPlan(terminal, shown);
    return EXIT.ok;
  }
  if (plan.items.length === 0) {
    await sweep(project, plan);
    for (const note of plan.notes) terminal.line(note);
    terminal.line(`Nothing to do: ${pipeline.stages.at(-1)?.nothingToDo}.`);
    if (flags.json) printJsonLine(emptySummary(plan), mask);
    return EXIT.ok;
  }
  using interrupt = watchInterrupts();
  return exitCodeOfEnd(await runPlanned({ project, pipeline, plan, request, resumes, interrupt }));
}

/** Decisions that people gave in comments. Their code is loaded only if issues come from a service. */
export async function answersIn(project: Project, { ids, flags }: BatchRequest): Promise<string[]> {
  if (project.config.remote.source === null) return [];
  const { takeAnswers } = await import('../../run/services/services.ts');
  return takeAnswers(project, ids, flags.dryRun ?? false);
}

/** A folder of issues has no labels, milestones or comments. */
export function refuseSelection({ config: { remote } }: Project, settings: ConfigFlags): void {
  const given = [...selectingFlags(settings), ...(remote.comment ? ['--comment'] : [])];
  if (given.length === 0 || remote.source !== null) return;
  throw usageError(
    `${given.join(' and ')} can't be used with issues that are files.`,
    'Name a service with --source github:owner/name, or as source in agentos.yaml.',
  );
}

/** The summary if there is nothing to run. */
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

/** `--parallel 137 142` means two items to a person; read as 137 workers, it would silently skip item 137. */
async function refuseSwappedOrder(
  { name, stages }: Pipeline,
  project: Project,
  { asked, workers, ids }: BatchRequest,
): Promise<void> {
  const id = String(asked);
  if (asked <= workers || ids === 'all' || !isItemId(id)) return;
  const isKnown = await stages[0].collect(project, [id]).then(
    () => true,
    () => false,
  );
  if (!isKnown) return;
  throw usageError(
    `--parallel ${id} would mean ${id} workers, but ${id} is an item.`,
    `Write the items first: agentos ${name} ${[id, ...ids].join(' ')} --parallel 3`,
  );
}

/** Prints the plan: the items with their states, models and cost. */
function printPlan(terminal: Terminal, plan: Plan): void {
  const { items } = plan;
  const models = Object.entries(plan.models).map(([role, spec]) => `${role} ${spec}`);
  const who = models.length === 0 ? '' : `; ${models.join(', ')}`;
  terminal.line(`${plan.workflow}: ${items.length} item(s), ${plan.parallel} at a time${who}`);
  const rows = items.map((item) => {
    const title = item.solved === null ? item.title : `${item.title} (${item.solved.reason})`;
    const what = item.error ? wordingOf(item.error.problem).message : printable(title);
    // In a pipeline, with the stage where the item starts.
    return [item.id, plan.workflow === item.workflow ? stateOf(item) : `${item.workflow}: ${stateOf(item)}`, what];
  });
  for (const [id, state = '', what] of aligned(rows))
    terminal.line(`  ${id}  ${paint(terminal, 'dim', state)}  ${what}`);
  for (const line of replacementLines(items)) terminal.line(printable(line));
  for (const group of plan.groups) terminal.line(printable(describeGroup(group)));
  for (const note of plan.notes) terminal.line(printable(note));
  if (Object.keys(plan.models).length > 0)
    terminal.line(`Context: at most ${plan.contextTokens} tokens of the repository per item (agentos context <id>).`);
  terminal.line(costLine(plan));
  terminal.line('Nothing was started, written or asked.');
}

function costLine({ unmetered, estimateUsd, pastItems, costCeilingUsd, costCeilingBy }: Plan): string {
  if (costCeilingUsd === 0) return 'It costs nothing.';
  const uncounted = unmetered.length === 0 ? '' : ` Not metered: ${printable(unmetered.join(', '))}.`;
  const missing = 'a price is missing (prices in agentos.yaml)';
  if (estimateUsd === null && costCeilingUsd === null)
    return `The cost is unknown${unmetered.length > 0 ? '.' : `: ${missing}.`}${uncounted}`;
  const by = costCeilingBy === null ? '' : ` (${costCeilingBy})`;
  const most = costCeilingUsd === null ? `at most unknown: ${missing}` : `at most $${costCeilingUsd.toFixed(2)}${by}`;
  if (estimateUsd === null) return `The probable cost is unknown, ${most}.${uncounted}`;
  const about = estimateUsd < 0.005 ? 'under $0.01' : `about $${estimateUsd.toFixed(2)}`;
  const past = `from ${pastItems} past item${pastItems === 1 ? '' : 's'}`;
  const from = pastItems === 0 ? 'by the size of issue and context' : past;
  return `Probably ${about} (${from}), ${most}.${uncounted}`;
}

function stateOf({ state, fromStep, reusedSteps }: PlannedItem): string {
  return state === 'resumed' ? `resumed from ${fromStep} (${reusedSteps} step(s) reused)` : state;
}
