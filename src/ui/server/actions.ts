import { z } from 'zod';
import { AgentosError } from '../../core/errors.ts';
import { isItemId, parseItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import { DATABASE_VARIABLE } from '../../core/keys.ts';
import { flagWords, withoutFlags, wordsOfLine } from '../../core/lines.ts';
import { STAGES, WORKFLOWS } from '../../core/paths.ts';
import { MAX_PARALLEL } from '../../core/plan.ts';
import { runBegunBy, startOwnProgram } from '../../run/own-program.ts';
import type { Project } from '../../run/project.ts';
import { PLACE_FLAGS } from '../../run/run-record.ts';
import { requestCancel, stopRun } from '../../run/stop-requests.ts';
import type { Actions, BatchWish, Begun, PlanShown } from '../api.ts';
import { isRunId, type Pages } from '../data/pages.ts';
import type { HeldDecisions } from './held-decisions.ts';

export interface ActionOptions {
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
      return begin(options, [...withoutPlace(project, wordsOfLine(brief.retryCommand).slice(1)), ...options.place]);
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
