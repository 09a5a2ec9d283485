import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import { type ItemId, isItemId, parseItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import { DATABASE_VARIABLE } from '../../core/keys.ts';
import { flagWords, withoutFlags, wordsOfLine } from '../../core/lines.ts';
import { type Paths, STAGES, WORKFLOWS } from '../../core/paths.ts';
import { MAX_PARALLEL } from '../../core/plan.ts';
import { wordingOf } from '../../core/wording.ts';
import { isHolderAlive } from '../../process/lock.ts';
import type { CancelRequest } from '../../run/history/follow.ts';
import { type RunRecord, readRecord, readSummary } from '../../run/history/run-history.ts';
import { PLACE_FLAGS } from '../../run/outcome.ts';
import type { Project } from '../../run/project.ts';
import { isRecordedHere } from '../../run/run-record.ts';
import { decide, requireDecidable, type Word } from '../../run/standing/decide.ts';
import { waitingItem } from '../../run/standing/waiting-item.ts';
import { namesProgram } from '../../run/trust.ts';
import type { Actions, BatchWish, Begun, DecideRequest, Held, PlanShown, Settled } from '../api.ts';
import { isRunId, type Pages } from '../data/pages.ts';
import { runBegunBy, startOwnProgram } from './own-program.ts';

interface ActionOptions {
  project: Project;
  pages: Pages;
  held: HeldDecisions;
  /** Flags that say where, for the programs that are started. */
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

/** What a person does on the page; each is what a command does. */
export function createActions(options: ActionOptions): (name: string, body: unknown) => Promise<unknown> {
  const { project, pages, held } = options;
  const { paths } = project;
  const acts: { [One in Name]: (body: Actions[One]['body']) => Promise<Actions[One]['answer']> } = {
    decide: async (body) => {
      if (body.kind === 'revise' && body.change.trim() === '') throw usage('Say what is to be changed.');
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
      if (!brief?.retryCommand)
        throw usage(brief?.changeFirst ? `First ${brief.changeFirst}.` : 'Nothing of it failed.');
      const record = await readRecord(paths, body.runId);
      const words = wordsOfLine(brief.retryCommand);
      if (words.some(namesProgram) && (record === null || !isRecordedHere(paths.base, body.runId, record)))
        throw usage('It was recorded in another folder, and would run a command. Retry it from a terminal.');
      return begin(options, [...withoutPlace(project, words.slice(1)), ...options.place]);
    },
    plan: (body) => planOf(options, body),
    start: (body) => begin(options, [...wordsOf(body), ...options.place]),
  };
  return async (name, body) => {
    if (!Object.hasOwn(acts, name)) return null;
    const parsed = BODIES[name as Name].safeParse(body);
    if (!parsed.success) throw usage('The request can’t be read.');
    return (acts[name as Name] as (given: unknown) => Promise<unknown>)(parsed.data);
  };
}

function usage(reason: string): AgentosError {
  return new AgentosError({ code: 'usage', reason });
}

function wordsOf({ workflow, ids, parallel, maxCostUsd, offline }: BatchWish): string[] {
  return [
    workflow,
    ...(ids.length === 0 ? ['--all'] : ['--ids', ...ids]),
    ...flagWords({ '--parallel': parallel === 1 ? null : parallel, '--max-cost': maxCostUsd }),
    ...(offline ? ['--offline'] : []),
  ];
}

/** A line of another terminal may name the place from there, and a database without its password. */
function withoutPlace({ env }: Project, words: readonly string[]): string[] {
  return withoutFlags(words, new Set([...PLACE_FLAGS, ...(env[DATABASE_VARIABLE] ? ['--database'] : [])]));
}

async function begin({ project }: ActionOptions, words: readonly string[]): Promise<Begun> {
  const program = startOwnProgram(words, project, { withOutput: false });
  const begun = await runBegunBy(program, project);
  if (begun !== null) return { runId: begun };
  const { exitCode, stderr } = await program.output;
  throw usage(exitCode === 0 ? 'There is nothing to do.' : said(stderr));
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

/** The program itself makes the plan, so that it is the one that the same words would run. */
async function planOf({ project, place }: ActionOptions, asked: BatchWish): Promise<PlanShown> {
  const words = wordsOf(asked);
  const program = startOwnProgram([...words, ...place, '--dry-run', '--json'], project, { withOutput: true });
  const { exitCode, stdout, stderr } = await program.output;
  const plan = exitCode === 0 ? planSchema.safeParse(parseJson(stdout)).data : undefined;
  if (plan === undefined) throw usage(said(stderr));
  return { ...plan, command: ['agentos', ...words].join(' ') };
}

/** What a program said when it refused: the problem, and what to do. */
function said(stderr: string): string {
  const lines = stderr.trim().split('\n').slice(-3);
  return lines.join(' ').replace(/^error: /, '') || 'The program ended without saying why.';
}

const UNDO_MS = 10_000;

/**
 * Decisions that can still be undone. A decision in the lineage stays there, so that nothing is recorded before its time is up. It
 * is held here and not in the page: closing the page does not lose it, and when the server is told to end, it records at
 * once what it holds. Until it is recorded the item counts as waiting, here and for every run.
 */
interface HeldDecisions {
  /** Refuses at once what could not be recorded. */
  hold(request: DecideRequest, by: string): Promise<Held>;
  /** False: it is recorded already, or unknown. */
  undo(key: string): boolean;
  list(): Held[];
  /** Records all of them now. */
  flush(): Promise<void>;
}

export interface HeldOptions {
  /** Around each decision that is recorded; absent: it is recorded here alone. */
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
      const { message, hint } = wordingOf(toErrorRecord(error).problem);
      onSettled({ key, id, recorded: null, problem: [message, hint].filter(Boolean).join(' ') });
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
      // One that replaces another before its time takes its place.
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

/** Stops a run, in whichever terminal it is: like Ctrl+C there, and the second time too. */
async function stopRun(paths: Paths, runId: string): Promise<void> {
  const record = await runUnderWay(paths, runId);
  if (isAlive(record)) return void process.kill(record.pid, 'SIGINT');
  // It was left at a hub: what follows it now asks there for the end of its items.
  for (const { id } of record.items) await requestCancel(paths, runId, parseItemId(id), 'the dashboard');
}

/**
 * Asks a run to cancel one item. A line in the run's folder is all there is to it: only those can write it who could as well
 * stop the whole run, and nothing of it outlives the run.
 */
async function requestCancel(paths: Paths, runId: string, id: ItemId, by: string): Promise<void> {
  await runUnderWay(paths, runId);
  const request: CancelRequest = { at: new Date().toISOString(), type: 'cancel', item: id, by };
  await appendFile(paths.run(runId).requests, `${JSON.stringify(request)}\n`, { mode: 0o600 });
}

/** Its process is the one that began it: another one may have been given its number since. */
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
