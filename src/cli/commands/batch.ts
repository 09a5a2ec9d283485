import { resolve } from 'node:path';
import { usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import type { PipelineName } from '../../core/paths.ts';
import { countsOf, type Summary } from '../../core/summary.ts';
import { printPlan } from '../../output/plan.ts';
import { printable } from '../../output/terminal.ts';
import type { EvalRequest } from '../../run/batches/eval-batch.ts';
import type { Pipeline } from '../../run/pipeline.ts';
import { pipelineNamed, planBatch } from '../../run/plan-batch.ts';
import { sweep } from '../../run/prepare-run.ts';
import type { Project } from '../../run/project.ts';
import { SELECT_FLAGS } from '../flags.ts';
import { watchInterrupts } from '../interrupt.ts';
import { hideSecrets, projectOf } from '../place.ts';
import { type BatchRequest, parseBatchFlags } from '../request.ts';
import { exitCodeOfEnd, jsonPrinter, outputFor, runPlanned } from '../show-run.ts';
import { requireTrust } from './trust.ts';

/** `agentos lld`, `issue`, `implement`, `run`, `react`, `land` and `eval`. */
export async function batchCommand(name: PipelineName, positional: string[], rawFlags: unknown): Promise<number> {
  return runBatch(name, await requestFor(name, positional, rawFlags));
}

async function requestFor(name: PipelineName, positional: string[], rawFlags: unknown): Promise<BatchRequest> {
  switch (name) {
    case 'eval':
      return evalRequest(positional, rawFlags as EvalFlags);
    case 'land': {
      const { resolve: mayResolve = false, fetch = false } = rawFlags as { resolve?: boolean; fetch?: boolean };
      const request = parseBatchFlags(name, positional, rawFlags);
      // The ids name branches; the landing is one item.
      return { ...request, ids: 'all', landing: { ids: request.ids, resolve: mayResolve, fetch } };
    }
    case 'react':
      // A reaction always pushes and answers.
      return parseBatchFlags(name, positional, { ...(rawFlags as object), pr: true });
    default:
      return parseBatchFlags(name, positional, rawFlags);
  }
}

interface EvalFlags {
  ids?: string[];
  all?: boolean;
  /** Each value is a candidate. */
  drafter?: string[];
  reviewer?: string[];
  prompts?: string[];
  maxRounds?: number[];
}

/** Without ids: all past items. A role that is named is compared; if none is, both are. */
async function evalRequest(positional: string[], rawFlags: EvalFlags): Promise<BatchRequest> {
  const { drafter = [], reviewer = [], prompts = [], maxRounds = [], ...flags } = rawFlags;
  const all = flags.all ?? (positional.length === 0 && flags.ids === undefined);
  const request = parseBatchFlags('eval', positional, { ...flags, all, prompts: undefined });
  const isNamed = drafter.length + reviewer.length > 0;
  if (request.config.offline && isNamed) {
    throw usageError(
      "--offline plays the recorded tour and can't be combined with --drafter or --reviewer.",
      'Remove --offline to work with models.',
    );
  }
  const { config } = await projectOf(request.place, request.config);
  const orElse = <T>(given: T[], configured: T): T[] => (given.length > 0 ? [...new Set(given)] : [configured]);
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
  const pipeline = pipelineNamed(name, request);
  const project = await projectOf(request.place, request.config);
  const isHidden = hideSecrets(project.keys);
  project.hosts.onNotice = (text) => void process.stderr.write(`${printable(text)}\n`);
  if (!request.dryRun || request.trust) await requireTrust(project, request.trust);
  const { workers, asked } = request.parallel;
  refuseSelection(project, request);
  await refuseSwappedOrder(pipeline, project, request);
  const answers = await answersIn(project, request);
  const plan = await planBatch({ project, pipeline, ids: request.ids, parallel: workers, isDryRun: request.dryRun });
  plan.notes.unshift(...answers);
  const output = outputFor(project, request);
  const { terminal } = output;
  const printJson = jsonPrinter(project);
  try {
    if (!isHidden && !request.dryRun) terminal.line(`[COORDINATOR] ${VISIBLE_KEYS}`);
    if (asked > workers) terminal.line(`[COORDINATOR] --parallel ${asked} is capped at ${workers}.`);
    if (request.dryRun) {
      const shown = pipeline.stages[0].whole?.shown?.(plan) ?? plan;
      if (request.json) printJson(shown);
      else printPlan(terminal, shown);
      return EXIT.ok;
    }
    if (plan.items.length === 0) {
      await sweep(project, plan);
      for (const note of plan.notes) terminal.line(note);
      terminal.line(`Nothing to do: ${pipeline.stages.at(-1)?.nothingToDo}.`);
      if (request.json) printJson(emptySummary(plan));
      return EXIT.ok;
    }
    const interrupt = watchInterrupts();
    try {
      return exitCodeOfEnd(await runPlanned({ project, pipeline, plan, request, resumes, interrupt, output }));
    } finally {
      interrupt.dispose();
    }
  } finally {
    output.close();
  }
}

/** Decisions that people gave in comments. Their code is loaded only if issues come from a service. */
export async function answersIn(project: Project, { ids, dryRun }: BatchRequest): Promise<string[]> {
  if (project.config.remote.source === null) return [];
  const { takeAnswers } = await import('../../run/services/services.ts');
  return takeAnswers(project, ids, dryRun);
}

/** A folder of issues has no labels, milestones or comments. */
export function refuseSelection({ config: { remote } }: Project, { config }: BatchRequest): void {
  const selecting = SELECT_FLAGS.filter(({ setting }) => config[setting] !== undefined).map(({ name }) => name);
  const given = [...selecting, ...(remote.comment ? ['--comment'] : [])];
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
  { parallel: { workers, asked }, ids }: BatchRequest,
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
