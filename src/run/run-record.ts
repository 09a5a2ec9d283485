import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { type Problem, toErrorRecord } from '../core/errors.ts';
import { type Evaluation, evaluationOf } from '../core/evaluation.ts';
import { exitCodeOf, isFailure } from '../core/exit-code.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemId } from '../core/ids.ts';
import type { ItemEnd } from '../core/item.ts';
import type { Landing } from '../core/landing.ts';
import { onlyFlags, shellWord } from '../core/lines.ts';
import type { RunPaths } from '../core/paths.ts';
import type { ItemState, RunState } from '../core/run-state.ts';
import {
  type Asked,
  countsOf,
  type ItemSummary,
  type Kept,
  partSummary,
  retryOf,
  type Summary,
  summaryOf,
} from '../core/summary.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { writeFileAtomic } from '../process/files.ts';
import { ownHolder, workedOnBy } from '../process/lock.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import { landingOf } from './land-batch.ts';
import { isOpen, stagesAhead } from './pipeline.ts';
import type { Project } from './project.ts';
import type { RunOptions } from './run.ts';

/** What `run.json` says: what was asked for, and what is there already. */
export function runRecord(
  { project, plan, request, resumes, version }: RunOptions,
  runId: string,
  startedAt: Date,
  trace: SpanContext | null,
): unknown {
  const { bounds } = project.config;
  return {
    runId,
    workflow: plan.workflow,
    startedAt: startedAt.toISOString(),
    pid: process.pid,
    processStart: ownHolder().processStart,
    version,
    resumes,
    trace,
    parallel: plan.parallel,
    models: plan.models,
    bounds,
    request,
    items: plan.items.map(({ id, title, workflow, state, fromStep, reusedSteps }) => ({
      id,
      title,
      workflow,
      state,
      fromStep,
      reusedSteps,
    })),
  };
}

/** Sorts by time, and differs between runs that start at the same moment. */
export function runIdOf(startedAt: Date, base: string): string {
  const stamp = startedAt.toISOString().replace(/[-:.]/g, '');
  return `${stamp}-${sha256(`${base}\0${process.pid}\0${stamp}`).slice(0, 8)}`;
}

type OutcomeOptions = Pick<RunOptions, 'project' | 'pipeline' | 'plan' | 'interrupt' | 'retryFlags'>;

/** What the state of a run that has ended comes to. */
export async function outcomeOf(
  options: OutcomeOptions,
  state: RunState,
  { runId, startedAt }: { runId: string; startedAt: Date },
): Promise<Summary> {
  const { plan, interrupt, retryFlags } = options;
  const items: ItemSummary[] = [];
  for (const { id } of plan.items) {
    const item = state.items.get(id);
    if (item === undefined || item.ends.length === 0) continue;
    const landing = landingOf(options.pipeline, id);
    if (landing === null) items.push(await itemSummary(options, id, item));
    else items.push(...landedItems(item, landing));
  }
  const retry = retryOf(
    items.filter((item) => isFailure(item.status)).map(({ id }) => ({ id, problem: problemOf(state, id) })),
    {
      workflow: plan.workflow,
      flags: retryFlags,
      models: plan.models,
      anySucceeded: items.some(({ status }) => status === 'succeeded'),
    },
  );
  return {
    runId,
    workflow: plan.workflow,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    parallel: plan.parallel,
    exitCode: exitCodeOf(
      items.map((item) => item.status),
      interrupt.by(),
    ),
    counts: countsOf(items),
    // Retried as a whole, so that all candidates are compared, and all branches combined.
    retryCommand:
      (plan.workflow === 'eval' || plan.workflow === 'land') && retry.command !== null
        ? ['agentos', 'resume', runId, ...placeOf(retryFlags)].join(' ')
        : retry.command,
    changeFirst: retry.changeFirst,
    items,
    ...(plan.workflow === 'eval' ? { evaluation: comparison(options, state) } : {}),
    ...landingFacts(options, items, state),
  };
}

/** Of an item, or of a branch of a landing. */
function problemOf({ items }: RunState, id: string): Problem | null {
  const landed = [...items.values()].map(({ parts }) => parts.get(id)?.landed ?? null).find((found) => found !== null);
  return (landed ?? items.get(id)?.ends.at(-1))?.error?.problem ?? null;
}

/** The branches of a landing, each as an item. */
function landedItems(item: ItemState, { branches, merged, onto }: Landing): ItemSummary[] {
  const whole = summaryOf(item, { kept: null, question: null });
  const there = { ...whole, status: 'skipped' as const, reason: `in ${onto} already`, error: null, outputs: [] };
  return [
    ...branches.map((branch) => partSummary(whole, item, branch)),
    ...merged.map((id) => ({ ...there, id, title: '', steps: [], costUsd: 0 })),
  ];
}

function landingFacts(
  { plan, pipeline }: OutcomeOptions,
  items: readonly ItemSummary[],
  state: RunState,
): Pick<Summary, 'landing'> {
  const [item] = plan.items;
  const landing = item === undefined ? null : landingOf(pipeline, item.id);
  if (landing === null) return {};
  const branch = items.flatMap(({ outputs }) => outputs)[0] ?? null;
  const posted = state.items.get(item?.id ?? '')?.ends.at(-1)?.outputs ?? [];
  const pullRequest = posted.find((output) => /^https?:/.test(output)) ?? null;
  return { landing: { branch, onto: landing.onto, base: landing.base, pullRequest } };
}

function comparison({ plan, pipeline }: OutcomeOptions, state: RunState): Evaluation {
  const replayed = plan.items.flatMap(({ id }) => pipeline.stages[0].settingOf?.(id)?.input?.replay ?? []);
  const candidates = replayed.map(({ past, candidate }) => ({ kind: past.kind, candidate }));
  return evaluationOf(
    candidates,
    [...state.items.values()].flatMap(({ judged }) => judged ?? []),
  );
}

async function itemSummary(options: OutcomeOptions, id: ItemId, item: ItemState): Promise<ItemSummary> {
  const { project, pipeline, plan, retryFlags } = options;
  const last = item.ends.at(-1);
  const isAhead = stagesAhead(pipeline, plan.items.filter(isOpen)).some(({ workflow }) => workflow === 'implement');
  const kept = isAhead && last ? keptOf(project, id, last, retryFlags) : null;
  return summaryOf(item, { kept, question: last?.status === 'discuss' ? await questionOf(options, id, item) : null });
}

async function questionOf(
  { project, retryFlags }: OutcomeOptions,
  id: ItemId,
  { workflow }: ItemState,
): Promise<Asked | null> {
  const { askedOf, waitingItem } = await import('./waiting-item.ts');
  const waiting = workflow && waitingItem(project.paths, id, [workflow]);
  return waiting && askedOf(project.paths, waiting, placeOf(retryFlags));
}

/**
 * Returns why it could not be stored, or null: what was done is done. The folder may have been deleted meanwhile; without its
 * record the run could not be looked at.
 */
export async function storeSummary(
  base: string,
  run: RunPaths,
  record: string,
  summary: string,
): Promise<Problem | null> {
  try {
    await prepareStateFolder(base);
    if (!existsSync(run.record)) await writeFileAtomic(run.record, record);
    await writeFileAtomic(run.summary, summary);
    return null;
  } catch (error) {
    return toErrorRecord(error).problem;
  }
}

export const PLACE_FLAGS: ReadonlySet<string> = new Set(['--repo', '--base-dir', '--config', '--source']);

/**
 * The worktree that an unfinished implementation leaves behind, or null. Null too while another run is at the item: the
 * lines to copy would destroy its work. `flags`: what a retry repeats, of which the line needs those that say where.
 */
export function keptOf(
  { paths }: Project,
  id: ItemId,
  { status, error }: Pick<ItemEnd, 'status' | 'error'>,
  flags: readonly string[],
): Kept | null {
  if (status === 'succeeded' || status === 'skipped' || error?.problem.code === 'item-locked') return null;
  const pid = workedOnBy(paths, { workflow: 'implement', id });
  if (pid !== null && pid !== process.pid) return null;
  const directory = paths.worktree('implement', id);
  if (!existsSync(directory)) return null;
  return {
    look: `cd ${shellWord(shortest(directory))} && git status`,
    discard: discardCommand(id, placeOf(flags)),
  };
}

/** The line to copy that throws an unfinished implementation away; `place`: the flags that say where. */
export function discardCommand(id: ItemId, place: readonly string[]): string {
  return ['agentos', 'clean', '--discard', id, ...place].join(' ');
}

/** As short as it can be said from here. */
function shortest(directory: string): string {
  const way = relative(process.cwd(), directory) || '.';
  return way.startsWith('..') ? directory : way;
}

/** Of the flags that a retry repeats, those that say where. */
export function placeOf(flags: readonly string[]): string[] {
  return onlyFlags(flags, PLACE_FLAGS);
}
