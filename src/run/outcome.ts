import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { Problem } from '../core/errors.ts';
import { type Evaluation, evaluationOf } from '../core/evaluation.ts';
import { exitCodeOf, isFailure } from '../core/exit-code.ts';
import type { ItemId } from '../core/ids.ts';
import { endedWell, type ItemEnd } from '../core/item.ts';
import type { Landing } from '../core/landing.ts';
import { shellWord } from '../core/lines.ts';
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
import { workedOnBy } from '../process/lock.ts';
import { isOpen, landingOf, stagesAhead } from './pipeline.ts';
import type { Project } from './project.ts';
import type { RecordedRun } from './recording.ts';

/** The summary of a run, from its state. */
export async function outcomeOf(run: RecordedRun, state: RunState): Promise<Summary> {
  const { project, pipeline, plan, interrupt, retryFlags, runId, startedAt } = run;
  const { workflow, parallel, models } = plan;
  const landing = landingOf(pipeline, plan);
  const items: ItemSummary[] = [];
  for (const { id } of plan.items) {
    const item = state.items.get(id);
    if (item === undefined || item.ends.length === 0) continue;
    if (landing === null) items.push(await itemSummary(run, id, item));
    else items.push(...landedItems(item, landing));
  }
  const statuses = items.map(({ status }) => status);
  const failures = items.filter(({ status }) => isFailure(status));
  const { command, changeFirst } = retryOf(
    failures.map(({ id }) => ({ id, problem: problemOf(state, id) })),
    { workflow, flags: retryFlags, models, anySucceeded: statuses.includes('succeeded') },
  );
  // Evaluations and landings are retried as a whole, so that all candidates are compared and all branches combined.
  const isWhole = workflow === 'eval' || workflow === 'land';
  const resume = ['agentos', 'resume', runId, ...(changeFirst?.flags ?? []), ...project.placeFlags].join(' ');
  return {
    runId,
    workflow,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    parallel,
    exitCode: exitCodeOf(statuses, interrupt.by()),
    counts: countsOf(items),
    retryCommand: isWhole && command !== null ? resume : command,
    changeFirst,
    items,
    ...(workflow === 'eval' ? { evaluation: comparison(run, state) } : {}),
    ...(landing === null ? {} : { landing: landingFacts(run, landing, items, state) }),
  };
}

/** The problem of an item, or of a branch of a landing. */
function problemOf({ items }: RunState, id: string): Problem | null {
  const landed = [...items.values()].map(({ parts }) => parts.get(id)?.landed ?? null).find((found) => found !== null);
  return (landed ?? items.get(id)?.ends.at(-1))?.error?.problem ?? null;
}

/** One entry for each branch of a landing. */
function landedItems(item: ItemState, { branches, merged, onto }: Landing): ItemSummary[] {
  const whole = summaryOf(item, { kept: null, question: null });
  const there = { ...whole, status: 'skipped' as const, reason: `in ${onto} already`, error: null, outputs: [] };
  return [
    ...branches.map((branch) => partSummary(whole, item, branch)),
    ...merged.map((id) => ({ ...there, id, title: '', steps: [], costUsd: 0 })),
  ];
}

function landingFacts(
  { plan }: RecordedRun,
  { onto, base }: Landing,
  items: readonly ItemSummary[],
  state: RunState,
): NonNullable<Summary['landing']> {
  const branch = items.flatMap(({ outputs }) => outputs)[0] ?? null;
  const posted = state.items.get(plan.items[0]?.id ?? '')?.ends.at(-1)?.outputs ?? [];
  const pullRequest = posted.find((output) => /^https?:/.test(output)) ?? null;
  return { branch, onto, base, pullRequest };
}

function comparison({ plan, pipeline }: RecordedRun, state: RunState): Evaluation {
  const replayed = plan.items.flatMap(({ id }) => pipeline.stages[0].settingOf?.(id)?.input?.replay ?? []);
  const candidates = replayed.map(({ past, candidate }) => ({ kind: past.kind, candidate }));
  return evaluationOf(
    candidates,
    [...state.items.values()].flatMap(({ judged }) => judged ?? []),
  );
}

async function itemSummary(run: RecordedRun, id: ItemId, item: ItemState): Promise<ItemSummary> {
  const { project, pipeline, plan } = run;
  const last = item.ends.at(-1);
  const mayImplement = stagesAhead(pipeline, plan.items.filter(isOpen)).some(
    ({ workflow }) => workflow === 'implement',
  );
  return summaryOf(item, {
    kept: mayImplement && last ? keptWorktree(project, id, last) : null,
    question: last?.status === 'discuss' ? await questionOf(project, id, item) : null,
  });
}

async function questionOf(project: Project, id: ItemId, { workflow }: ItemState): Promise<Asked | null> {
  const { askedOf, waitingItem } = await import('./standing/waiting-item.ts');
  const waiting = workflow && waitingItem(project.paths, id, [workflow]);
  return waiting && askedOf(project, waiting);
}

/**
 * How to look at and discard the worktree of an unfinished implementation; null: there is none, or another run works on the item
 * and the commands would destroy its work.
 */
export function keptWorktree(
  project: Project,
  id: ItemId,
  { status, error }: Pick<ItemEnd, 'status' | 'error'>,
): Kept | null {
  const { paths } = project;
  if (endedWell(status) || error?.problem.code === 'item-locked') return null;
  const pid = workedOnBy(paths, { workflow: 'implement', id });
  if (pid !== null && pid !== process.pid) return null;
  const directory = paths.worktree('implement', id);
  if (!existsSync(directory)) return null;
  const way = relative(process.cwd(), directory) || '.';
  const shortest = way.startsWith('..') ? directory : way;
  return { look: `cd ${shellWord(shortest)} && git status`, discard: discardCommand(project, id) };
}

/** The command that throws an unfinished implementation away. */
export function discardCommand({ placeFlags }: Project, id: ItemId): string {
  return ['agentos', 'clean', '--discard', id, ...placeFlags].join(' ');
}
