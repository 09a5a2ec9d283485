import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import { AgentosError, toErrorRecord, usageError } from '../../core/errors.ts';
import { type ItemId, isItemId, parseItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import { DATABASE_VARIABLE } from '../../core/keys.ts';
import { flagWords, withoutFlags, wordsOfLine } from '../../core/lines.ts';
import { type Paths, STAGES, WORKFLOWS } from '../../core/paths.ts';
import { MAX_PARALLEL } from '../../core/plan.ts';
import { explanationOf } from '../../core/wording.ts';
import { isHolderAlive } from '../../process/lock.ts';
import { isRecordedHere, type RunRecord, readRecord, readSummary } from '../../run/history/run-files.ts';
import { PLACE_FLAGS, type Project } from '../../run/project.ts';
import { decide, requireDecidable, type Word } from '../../run/standing/decide.ts';
import { waitingItem } from '../../run/standing/waiting-item.ts';
import type { CancelRequest } from '../../run/stops.ts';
import { namesProgram } from '../../run/trust.ts';
import type { Actions, BatchWish, Begun, DecideRequest, Held, PlanShown, Settled } from '../api.ts';
import { isRunId, type Pages } from '../data/pages.ts';
import { runBegunBy, startOwnProgram } from './own-program.ts';

interface ActionOptions {
  project: Project;
  pages: Pages;
  held: HeldDecisions;
  /** Place flags for the programs that are started. */
  place: readonly string[];
}

const runId = z.string().refine(isRunId);
const id = z.string().refine(isItemId);
const wish = z.object({
  workflow: z.enum([...STAGES, 'run']),
  ids: z.array(id).max(1_000),
  parallel: z.int().min(1).max(MAX_PARALLEL),
  maxCostUsd: z.number().positive().nullable(),
  offline: z.boolean(),
});
const BODIES = {
  decide: z.object({
    id,
    workflow: z.enum(WORKFLOWS),
    kind: z.enum(['approve', 'revise', 'drop']),
    reason: z.string().max(20_000),
    change: z.string().max(20_000),
  }),
  undo: z.object({ key: z.string().max(100) }),
  stop: z.object({ runId }),
  cancel: z.object({ runId, id }),
  retry: z.object({ runId }),
  plan: wish,
  start: wish,
} satisfies { [Name in keyof Actions]: z.ZodType<Actions[Name]['body']> };

type Name = keyof Actions;

/** The actions of the page. Each does what a command does. */
export function createActions(options: ActionOptions): (name: string, body: unknown) => Promise<unknown> {
  const { project, pages, held } = options;
  const { paths } = project;
  const acts: { [One in Name]: (body: Actions[One]['body']) => Promise<Actions[One]['answer']> } = {
    decide: async (body) => {
      if (body.kind === 'revise' && body.change.trim() === '') throw usageError('Say what is to be changed.');
      return held.hold(body, (await pages.overview()).person);
    },
    undo: async ({ key }) => ({ undone: held.undo(key) }),
    stop: async (body) => {
      await stopRun(paths, body.runId);
      return {};
    },
    cancel: async (body) => {
      await requestCancel(paths, body.runId, parseItemId(body.id), (await pages.overview()).person);
      return {};
    },
    async retry(body) {
      const brief = await pages.runs.brief(body.runId);
      if (!brief?.retryCommand) throw usageError('No item of that run failed.');
      if (brief.changeFirst !== null) throw usageError(`First ${brief.changeFirst}.`);
      const record = await readRecord(paths, body.runId);
      const words = wordsOfLine(brief.retryCommand);
      if (words.some(namesProgram) && (record === null || !isRecordedHere(paths.base, body.runId, record)))
        throw usageError('It was recorded in another folder, and would run a command. Retry it from a terminal.');
      return begin(options, [...withoutPlace(project, words.slice(1)), ...options.place]);
    },
    plan: (body) => planOf(options, body),
    start: (body) => begin(options, [...wordsOf(body), ...options.place]),
  };
  return async (name, body) => {
    if (!Object.hasOwn(acts, name)) return null;
    const parsed = BODIES[name as Name].safeParse(body);
    if (!parsed.success) throw usageError('The request can’t be read.');
    return (acts[name as Name] as (given: unknown) => Promise<unknown>)(parsed.data);
  };
}

function wordsOf({ workflow, ids, parallel, maxCostUsd, offline }: BatchWish): string[] {
  return [
    workflow,
    ...(ids.length === 0 ? ['--all'] : ['--ids', ...ids]),
    ...flagWords({ '--parallel': parallel === 1 ? null : parallel, '--max-cost': maxCostUsd }),
    ...(offline ? ['--offline'] : []),
  ];
}

/** The recorded command may contain relative places, and a database URL without its password. */
function withoutPlace({ env }: Project, words: readonly string[]): string[] {
  return withoutFlags(words, new Set([...PLACE_FLAGS, ...(env[DATABASE_VARIABLE] ? ['--database'] : [])]));
}

async function begin({ project }: ActionOptions, words: readonly string[]): Promise<Begun> {
  const program = startOwnProgram(words, project, { withOutput: false });
  const begun = await runBegunBy(program, project);
  if (begun !== null) return { runId: begun };
  const { exitCode, stderr } = await program.output;
  throw usageError(exitCode === 0 ? 'There is nothing to do.' : said(stderr));
}

const planSchema = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      state: z.string(),
      fromStep: z.string().nullable(),
      workflow: z.string(),
    }),
  ),
  estimateUsd: z.number().nullable(),
  costCeilingUsd: z.number().nullable(),
  notes: z.array(z.string()),
  models: z.record(z.string(), z.string()),
});

/** This program itself makes the plan, in a process of its own: exactly what the same command would run. */
async function planOf({ project, place }: ActionOptions, asked: BatchWish): Promise<PlanShown> {
  const words = wordsOf(asked);
  const program = startOwnProgram([...words, ...place, '--dry-run', '--json'], project, { withOutput: true });
  const { exitCode, stdout, stderr } = await program.output;
  const plan = exitCode === 0 ? planSchema.safeParse(parseJson(stdout)).data : undefined;
  if (plan === undefined) throw usageError(said(stderr));
  return { ...plan, command: ['agentos', ...words].join(' ') };
}

/** The error message of a program that refused: the problem, and what to do. */
function said(stderr: string): string {
  const lines = stderr.trim().split('\n').slice(-3);
  return lines.join(' ').replace(/^error: /, '') || 'The program ended without saying why.';
}

const UNDO_MS = 10_000;

/**
 * Decisions that can still be undone. A decision in the lineage stays there, so it is held for some seconds before it is recorded.
 * It is held in the server, so closing the page does not lose it, and the server records all held decisions when it
 * ends. Until then, the item counts as waiting.
 */
interface HeldDecisions {
  /** Throws if the decision could not be recorded. */
  hold(request: DecideRequest, by: string): Promise<Held>;
  /** False: it was already recorded, or is unknown. */
  undo(key: string): boolean;
  list(): Held[];
  /** Records all of them now. */
  flush(): Promise<void>;
}

export interface HeldOptions {
  /** Wraps the recording of each decision. By default it is recorded locally only. */
  decideWith?: <T>(id: ItemId, decide: () => Promise<T>) => Promise<T>;
  onHeld: (held: Held[]) => void;
  onSettled: (settled: Settled) => void;
}

export function createHeldDecisions(
  project: Project,
  { decideWith = (_, decide) => decide(), onHeld, onSettled }: HeldOptions,
): HeldDecisions {
  const held = new Map<string, { decision: Held; timer: NodeJS.Timeout }>();
  const list = (): Held[] => [...held.values()].map(({ decision }) => decision);

  const record = async (decision: Held): Promise<void> => {
    const { key } = decision;
    const id = parseItemId(decision.id);
    held.delete(key);
    try {
      const { lineage } = await decideWith(id, () => decide(project, id, wordOf(decision)));
      onSettled({ key, id, recorded: lineage, problem: null });
    } catch (error) {
      onSettled({ key, id, recorded: null, problem: explanationOf(toErrorRecord(error).problem) });
    }
    onHeld(list());
  };

  return {
    async hold(request, by) {
      const id = parseItemId(request.id);
      const waiting = waitingItem(project.paths, id);
      if (waiting !== null && waiting.workflow !== request.workflow)
        throw new AgentosError({ code: 'not-waiting', id, last: null });
      await requireDecidable(project, id, wordOf(request));
      // It replaces a decision on the same item that is still held.
      for (const { decision, timer } of held.values()) {
        if (decision.id !== request.id) continue;
        clearTimeout(timer);
        held.delete(decision.key);
      }
      const decision: Held = { ...request, key: randomUUID(), dueAtMs: Date.now() + UNDO_MS, by };
      held.set(decision.key, { decision, timer: setTimeout(() => void record(decision), UNDO_MS) });
      onHeld(list());
      return decision;
    },
    undo(key) {
      const found = held.get(key);
      clearTimeout(found?.timer);
      held.delete(key);
      if (found !== undefined) onHeld(list());
      return found !== undefined;
    },
    list,
    async flush() {
      for (const { decision, timer } of Array.from(held.values())) {
        clearTimeout(timer);
        await record(decision);
      }
    },
  };
}

function wordOf({ kind, reason, change }: DecideRequest): Word {
  const words = (text: string): string | null => text.trim() || null;
  return { kind, reason: words(reason), change: kind === 'revise' ? words(change) : null };
}

/** Stops a run in any terminal, like Ctrl+C; the second call too. */
async function stopRun(paths: Paths, runId: string): Promise<void> {
  const record = await runUnderWay(paths, runId);
  if (isAlive(record)) return void process.kill(record.pid, 'SIGINT');
  // The run continues at a hub: whoever follows it passes the request on.
  for (const { id } of record.items) await requestCancel(paths, runId, parseItemId(id), 'the dashboard');
}

/**
 * Asks a run to cancel one item, with a line in a file of the run's folder. Only those who could stop the whole run can write
 * there.
 */
async function requestCancel(paths: Paths, runId: string, id: ItemId, by: string): Promise<void> {
  await runUnderWay(paths, runId);
  const request: CancelRequest = { at: new Date().toISOString(), type: 'cancel', item: id, by };
  await appendFile(paths.run(runId).requests, `${JSON.stringify(request)}\n`, { mode: 0o600 });
}

/** Checks the process by its start time too, because its id may have been reused. */
async function runUnderWay(paths: Paths, runId: string): Promise<RunRecord> {
  const record = await readRecord(paths, runId);
  if (record === null) throw new AgentosError({ code: 'run-missing', run: runId });
  const isLeft = record.hub?.isSubmitted === true && (await readSummary(paths, runId)) === null;
  if (!isAlive(record) && !isLeft) throw new AgentosError({ code: 'run-ended', run: runId });
  return record;
}

function isAlive(record: RunRecord): boolean {
  return isHolderAlive({ ...record, since: record.startedAt });
}
