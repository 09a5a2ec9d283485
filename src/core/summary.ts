import type { LastRun, Problem } from './errors.ts';
import type { Evaluation } from './evaluation.ts';
import { ITEM_STATUSES, type ItemEnd, type ItemStatus } from './item.ts';
import { withoutFlags } from './lines.ts';
import { NO_USAGE, type Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { FinishedStep, ItemState } from './run-state.ts';
import { wordingOf } from './wording.ts';

export interface ItemSummary {
  id: string;
  /** The last one that it reached. */
  workflow: WorkflowName;
  title: string;
  status: ItemStatus;
  reason: string | null;
  attempts: number;
  steps: FinishedStep[];
  durationMs: number;
  usage: Usage;
  /** What this run paid; null: a price is unknown. */
  costUsd: number | null;
  error: { code: string; message: string; hint: string | null } | null;
  outputs: string[];
  /** Commands to inspect or discard what an unfinished item left. */
  kept: Kept | null;
  /** If `agentos decide` is needed. */
  question: Asked | null;
}

export interface Kept {
  look: string;
  discard: string;
}

/** What a person can do about an item in DISCUSS. */
export interface Asked {
  /** The file to read first; null: none. */
  read: string | null;
  /** The command with all possible decisions, as one line. */
  decide: string;
}

export interface Summary {
  runId: string;
  workflow: PipelineName;
  startedAt: string;
  finishedAt: string;
  parallel: number;
  exitCode: number;
  counts: Record<string, number>;
  /** Null: nothing failed. */
  retryCommand: string | null;
  /** What to change before a retry, if the same command would fail the same way. */
  changeFirst: Change | null;
  items: ItemSummary[];
  /** The hash of the last but one line of `events.jsonl`. */
  chain?: string;
  /** Of `agentos eval`. */
  evaluation?: Evaluation;
  /** Of `agentos land`. `branch` null: none was made. */
  landing?: { branch: string | null; onto: string; base: string; pullRequest: string | null };
}

/** An item in `summary.json`; its last stage says how it ended. */
export function summaryOf(
  { id, title, workflow, ends, steps, usage, costUsd }: ItemState,
  { kept, question }: Pick<ItemSummary, 'kept' | 'question'>,
): ItemSummary {
  const last = ends.at(-1);
  if (last === undefined || workflow === null) throw new TypeError('an item without an end');
  const { status, reason, error } = last;
  const words = error && wordingOf(error.problem);
  const sum = (of: (end: ItemEnd) => number): number => ends.reduce((total, end) => total + of(end), 0);
  return {
    id,
    workflow,
    title,
    status,
    reason,
    attempts: sum((end) => end.attempts),
    steps,
    durationMs: sum((end) => end.durationMs),
    usage,
    costUsd,
    error: error && words ? { code: error.problem.code, message: words.message, hint: words.hint } : null,
    outputs: ends.toReversed().flatMap((end) => end.outputs),
    kept,
    question,
  };
}

/** In a landing, each branch is an item. A branch without its own result ended as the landing did. */
export function partSummary(
  whole: ItemSummary,
  { parts, ends }: Pick<ItemState, 'parts' | 'ends'>,
  { id, title }: Pick<ItemSummary, 'id' | 'title'>,
): ItemSummary {
  const part = parts.get(id);
  const landed = part?.landed;
  const { status, reason, error } = landed ?? { ...whole, error: ends.at(-1)?.error ?? null };
  const isOfIt = new RegExp(`-${id}(?:-|$)`);
  return {
    ...whole,
    id,
    title,
    status,
    reason,
    steps: whole.steps.filter(({ name }) => isOfIt.test(name)),
    usage: part?.usage ?? NO_USAGE,
    costUsd: part === undefined ? 0 : part.costUsd,
    error: error === null ? null : { code: error.problem.code, ...wordingOf(error.problem) },
    outputs: landed?.outputs ?? [],
  };
}

/** With every status, so that scripts need not check for missing ones. */
export function countsOf(items: readonly ItemSummary[]): Record<string, number> {
  const countOf = (wanted: ItemStatus): number => items.filter(({ status }) => status === wanted).length;
  return { total: items.length, ...Object.fromEntries(ITEM_STATUSES.map((status) => [status, countOf(status)])) };
}

/** `2 succeeded, 1 failed`; empty: none has ended. */
export function describeCounts(counts: Readonly<Partial<Record<string, number>>>): string {
  return ITEM_STATUSES.flatMap((status) => (counts[status] ? [`${counts[status]} ${status}`] : [])).join(', ');
}

export function costText(usd: number | null): string {
  return usd === null ? 'cost unknown' : `$${usd.toFixed(4)}`;
}

/** How far an item of the backlog is. */
export type Stage = 'issue' | 'lld' | 'branch' | 'merged' | 'already-done' | 'dropped' | 'unreadable';

/** Where an item stands, and what it waits for. */
export interface Standing {
  id: string;
  title: string;
  labels: readonly string[];
  state: Stage;
  /**
   * person: for a decision; run: a decision was recorded; model: no model has worked on it; item: another item comes first.
   * Null: it is running, or the next run takes it.
   */
  waitsFor: 'person' | 'run' | 'model' | 'quota' | 'item' | null;
  /** For people: the question, the error, or the item it depends on. */
  reason: string | null;
  /** The sum over all recorded runs. */
  costUsd: number;
  runs: number;
  branch: string | null;
  /** Of an unfinished implementation; relative to the repository if it is inside. */
  worktree: string | null;
  /** A run is working on it, or will. */
  isUnderWay: boolean;
  lastRun: LastRun | null;
}

/** Everything about one item. Paths are relative to the repository. */
export interface ItemDetail extends Standing {
  lld: string | null;
  lineage: string | null;
  question: Asked | null;
}

interface Failure {
  id: string;
  /** Null: it failed without its own error. */
  problem: Problem | null;
}

export interface RunFacts {
  workflow: PipelineName;
  /** Flags that the command has to repeat. */
  flags: readonly string[];
  /** The model of each role. */
  models: Readonly<Record<string, string>>;
  /** Then the models are known to their vendors. */
  anySucceeded: boolean;
}

/** What a person has to change before a retry, and the flags that the command needs for it. */
interface Change {
  what: string;
  flags: string[];
}

interface Retry {
  /** The command to copy; null: nothing failed. */
  command: string | null;
  /** Set if every failure needs a change: the command has its flags, with a placeholder for each value. */
  changeFirst: Change | null;
}

export function retryOf(failures: readonly Failure[], run: RunFacts): Retry {
  if (failures.length === 0) return { command: null, changeFirst: null };
  const changes = failures.map(({ id, problem }) => problem && changeFor(problem, id, run));
  const changeFirst = changes.every((change) => change !== null) ? joined(changes) : null;
  const changed = changeFirst?.flags ?? [];
  const same = withoutFlags(run.flags, new Set(changed.flatMap((flag) => flag.split(' ').slice(0, 1))));
  const ids = failures.map(({ id }) => id);
  return { command: ['agentos', run.workflow, '--ids', ...ids, ...same, ...changed].join(' '), changeFirst };
}

function joined(changes: readonly Change[]): Change {
  return {
    what: [...new Set(changes.map(({ what }) => what))].join(', '),
    flags: [...new Set(changes.map(({ flags }) => flags.join(' ')))].filter((flags) => flags !== ''),
  };
}

/** What has to change before a retry can succeed; null: nothing. */
function changeFor(problem: Problem, id: string, { models, anySucceeded }: RunFacts): Change | null {
  const change = (what: string, ...flags: string[]): Change => ({ what, flags });
  switch (problem.code) {
    case 'provider-refused-request': {
      if (anySucceeded) return null;
      const played = Object.entries(models).filter(([, spec]) => spec.startsWith(`${problem.provider}:`));
      const specs = [...new Set(played.map(([, spec]) => spec))];
      const which = specs.length === 0 ? 'another model' : `another model than ${specs.join(' and ')}`;
      return change(`choose ${which}`, ...played.map(([role]) => `--${role} <model>`));
    }
    case 'provider-rejected-key':
      return change(`set a key that ${problem.provider} accepts`);
    case 'key-missing':
      return change(
        `set ${problem.missing.map(({ variables, provider }) => variables.join(' or ') || `a key for ${provider}`).join(' and ')}`,
      );
    case 'over-budget':
      // A new run has a new budget, but what an item spent counts since its first run.
      if (problem.scope === 'item') return change('allow more than it has spent', '--max-cost-per-item <usd>');
      return problem.spentUsd > 0 ? null : change('allow more than one call can cost', '--max-cost <usd>');
    case 'lld-missing':
    case 'lld-not-approved':
    case 'lld-outdated':
      return change(`have its LLD reviewed (agentos lld ${id})`);
    case 'branch-breaks':
      return change(`change its branch, or build it again (agentos implement --again ${id})`);
    case 'tests-undetected':
      return change('name the test command in agentos.yaml (tests.command)');
    case 'agent-missing':
      return change(`install ${problem.program} (${problem.install})`);
    case 'git-identity-missing':
      return change('set git config user.name and user.email');
    case 'offline-no-code':
      return change('choose who writes the code', '--implementer <model>');
    default:
      return null;
  }
}
