import type { LastRun, Problem } from './errors.ts';
import type { Evaluation } from './evaluation.ts';
import { ITEM_STATUSES, type ItemEnd, type ItemStatus } from './item.ts';
import { NO_USAGE, type Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { FinishedStep, ItemState } from './run-state.ts';
import { wordingOf } from './wording.ts';

export interface ItemSummary {
  id: string;
  /** The last one that it came to. */
  workflow: WorkflowName;
  title: string;
  status: ItemStatus;
  reason: string | null;
  attempts: number;
  steps: FinishedStep[];
  durationMs: number;
  usage: Usage;
  /** What this run paid; null when a price was not known. */
  costUsd: number | null;
  error: { code: string; message: string; hint: string | null } | null;
  outputs: string[];
  /** What an unfinished item left for a person to look at, and how to throw it away. */
  kept: Kept | null;
  /** Where `agentos decide` has something to decide. */
  question: Asked | null;
}

/** Commands to copy. */
export interface Kept {
  look: string;
  discard: string;
}

/** What a person can do about an item in DISCUSS. */
export interface Asked {
  /** The file that says what it is about; null: there is none. */
  read: string | null;
  /** All that can be decided, as one line. */
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
  /** null: nothing failed, or a person has to change something first. */
  retryCommand: string | null;
  /** Before a retry, where the same command would fail the same way. */
  changeFirst: Change | null;
  items: ItemSummary[];
  /** The last hash of `events.jsonl` before its last line. */
  chain?: string;
  /** Of `agentos eval`. */
  evaluation?: Evaluation;
  /** Of `agentos land`: the branch that was made, null where none was, and what it is based on. */
  landing?: { branch: string | null; onto: string; base: string };
}

/** `summary.json` of an item: the last stage that it reached tells how it ended. */
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

/** Of a landing each branch is an item of its own; one that nothing was said of ended as the landing did. */
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

/** Every status is there, so that a script can read the one it wants. */
export function countsOf(items: readonly ItemSummary[]): Record<string, number> {
  const countOf = (wanted: ItemStatus): number => items.filter(({ status }) => status === wanted).length;
  return { total: items.length, ...Object.fromEntries(ITEM_STATUSES.map((status) => [status, countOf(status)])) };
}

/** How far an item of the backlog has come. */
export type Stage = 'issue' | 'lld' | 'branch' | 'merged' | 'already-done' | 'dropped' | 'unreadable';

/** Where an item stands, and what it waits for. */
export interface Standing {
  id: string;
  title: string;
  labels: readonly string[];
  state: Stage;
  /**
   * person: for a decision; run: it was decided on; model: no model has seen it; item: another one has to be done first.
   * Null: it is being worked on, or the next run takes it as it is.
   */
  waitsFor: 'person' | 'run' | 'model' | 'quota' | 'item' | null;
  /** In words: the question, the error, what it depends on. */
  reason: string | null;
  /** What all runs that are kept have paid for it. */
  costUsd: number;
  runs: number;
  branch: string | null;
  /** Of an unfinished implementation; relative to the repository where it is inside. */
  worktree: string | null;
  /** A run is at it now, or is going to be. */
  isUnderWay: boolean;
  lastRun: LastRun | null;
}

/** All there is to know about one item. Paths are relative to the repository. */
export interface ItemDetail extends Standing {
  lld: string | null;
  lineage: string | null;
  /** How it can be decided on. */
  question: Asked | null;
}

export interface Failure {
  id: string;
  /** null: it failed without an error of its own. */
  problem: Problem | null;
}

export interface RunFacts {
  workflow: PipelineName;
  /** What the command has to say again to mean the same. */
  flags: readonly string[];
  /** Who played each role. */
  models: Readonly<Record<string, string>>;
  /** Whether any item succeeded: then the models are known to their vendors. */
  anySucceeded: boolean;
}

/** What a person has to do before a retry, and the flags that the next command needs for it. */
export interface Change {
  what: string;
  flags: string[];
}

interface Retry {
  /** The line to copy; null: nothing failed, or the same command would fail the same way. */
  command: string | null;
  /** Where every failure asks for one. */
  changeFirst: Change | null;
}

export function retryOf(failures: readonly Failure[], run: RunFacts): Retry {
  if (failures.length === 0) return { command: null, changeFirst: null };
  const changes = failures.map(({ id, problem }) => problem && changeFor(problem, id, run));
  if (changes.every((change) => change !== null)) return { command: null, changeFirst: joined(changes) };
  const ids = failures.map(({ id }) => id);
  return { command: ['agentos', run.workflow, '--ids', ...ids, ...run.flags].join(' '), changeFirst: null };
}

function joined(changes: readonly Change[]): Change {
  return {
    what: [...new Set(changes.map(({ what }) => what))].join(', '),
    flags: [...new Set(changes.map(({ flags }) => flags.join(' ')))].filter((flags) => flags !== ''),
  };
}

/** What has to change before the same command can do better; null: it may do better as it is. */
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
      // A new run has its whole budget again; what an item has spent counts from its first run on.
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
