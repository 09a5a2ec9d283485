import { statSync } from 'node:fs';
import type { Config } from '../../core/config.ts';
import { AgentosError, usageError } from '../../core/errors.ts';
import { evaluationOf } from '../../core/evaluation.ts';
import { sha256 } from '../../core/hash.ts';
import { type ItemId, LONGEST_ID, parseItemId } from '../../core/ids.ts';
import { readPromptFiles } from '../../prompts/prompts.ts';
import type { PastCase } from '../../workflow/replay.ts';
import type { RunRecord } from '../history/run-files.ts';
import { type Batch, type CollectedItem, readSome } from '../pipeline.ts';
import { documentDemand } from '../planned-cost.ts';
import type { Project } from '../project.ts';

export type EvalRequest = NonNullable<RunRecord['request']['evaluation']>;

interface Candidate {
  kind: PastCase['kind'];
  name: string;
  config: Config;
  prompts: string | null;
}

/** Candidates for a design differ in everything, those for a review only in reviewer and prompts. */
function candidatesOf(request: EvalRequest, config: Config): Candidate[] {
  const { models, bounds } = config;
  const all = (kind: PastCase['kind'], drafters: readonly string[], rounds: readonly number[]): Candidate[] =>
    drafters.flatMap((drafter) =>
      request.reviewers.flatMap((reviewer) =>
        request.prompts.flatMap((prompts) =>
          rounds.map((maxRounds) => {
            const parts = [kind === 'design' ? `${drafter} + ${reviewer}` : reviewer];
            if (prompts !== null) parts.push(`prompts ${prompts}`);
            if (rounds.length > 1) parts.push(`${maxRounds} round(s)`);
            const own = { models: { ...models, drafter, reviewer }, bounds: { ...bounds, maxRounds } };
            return { kind, name: parts.join(', '), prompts, config: { ...config, ...own } };
          }),
        ),
      ),
    );
  return [
    ...(request.reviews ? all('review', [models.drafter], [bounds.maxRounds]) : []),
    ...(request.designs ? all('design', request.drafters, request.maxRounds) : []),
  ];
}

/** A past case with one candidate is an item. */
interface EvalItem extends CollectedItem {
  past: PastCase;
  candidate: Candidate;
  of: ItemId;
}

/** `agentos eval`: it writes no documents, and its checkpoints stay for the next evaluation. */
export function evalBatch(request: EvalRequest): Batch {
  let items: Promise<EvalItem[]> | null = null;
  const byId = new Map<string, EvalItem>();
  return {
    workflow: 'eval',
    roles: ['drafter', 'reviewer'],
    models: {
      ...(request.designs ? { drafter: request.drafters.join(', ') } : {}),
      reviewer: request.reviewers.join(', '),
    },
    /** By the id of a past item, or by that of one of its cases with a candidate. */
    async collect(project, ids) {
      items ??= evalItems(project, request);
      const all = await items;
      for (const item of all) byId.set(item.id, item);
      if (ids === 'all') return all;
      const known = new Set<string>(all.flatMap(({ id, of }) => [id, of]));
      const missing = ids.find((id) => !known.has(id));
      if (missing !== undefined) throw nothingToReplay(`${missing} has nothing that can be replayed`);
      const wanted = new Set(ids);
      return all.filter(({ id, of }) => wanted.has(id) || wanted.has(of));
    },
    settingOf(id) {
      const item = byId.get(id);
      if (item === undefined) return undefined;
      const { past, candidate } = item;
      const { config, name, prompts, kind } = candidate;
      const input = {
        replay: { past, candidate: name },
        ...(prompts === null ? {} : { prompts: readPromptFiles(prompts) }),
      };
      return { config, input, ...(kind === 'design' ? {} : { roles: ['reviewer'], demand: reviewDemand }) };
    },
    demand: documentDemand,
    done: { reason: 'replayed already', outputs: async () => [] },
    nothingToDo: 'there is nothing to replay',
    whole: {
      summary({ items: planned }, state) {
        const candidates = planned.flatMap(({ id }) => {
          const item = byId.get(id);
          return item === undefined ? [] : [{ kind: item.past.kind, candidate: item.candidate.name }];
        });
        const judged = [...state.items.values()].flatMap((item) => item.judged ?? []);
        return { evaluation: evaluationOf(candidates, judged) };
      },
    },
  };
}

/** One review, and its retries. */
const reviewDemand: Batch['demand'] = (config, chars, contextTokens) => {
  const bounds = { ...config.bounds, maxRounds: 1 };
  const { usual, most } = documentDemand({ ...config, bounds }, chars, contextTokens);
  const ofReviewer = (calls: (typeof usual)[number]): boolean => calls.role === 'reviewer';
  return {
    usual: usual.filter(ofReviewer),
    most: most.filter(ofReviewer).map((calls) => ({ ...calls, calls: calls.calls + bounds.maxRetries })),
  };
};

function nothingToReplay(reason: string): AgentosError {
  return usageError(
    `${reason}.`,
    'Approved LLDs with their lineage are replayed (docs/lineage/<id>/). agentos lld <id> makes one.',
  );
}

async function evalItems(project: Project, request: EvalRequest): Promise<EvalItem[]> {
  for (const folder of request.prompts) {
    if (folder === null) continue;
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new AgentosError({ code: 'prompt-invalid', file: folder, reason: 'is not a folder' });
    readPromptFiles(folder);
  }
  // Loaded here, because it reads documents and no other command needs it.
  const { pastIds, pastItem } = await import('./past-cases.ts');
  const past = await readSome(await pastIds(project), (id) => pastItem(project, id));
  const candidates = candidatesOf(request, project.config);
  const items = past.flatMap(({ id, title, cases }) =>
    cases.flatMap((one) =>
      candidates
        .filter(({ kind }) => kind === one.kind)
        .map((candidate): EvalItem => {
          const what = one.kind === 'review' ? `review of draft ${one.case}` : `design for ${one.case}`;
          return {
            id: evalId(id, one, candidate),
            of: id,
            past: one,
            candidate,
            title: `${title} · ${what} by ${candidate.name}`,
            state: 'pending',
            chars: one.issue.length + (one.kind === 'review' ? one.draft.length : 0),
          };
        }),
    ),
  );
  if (items.length === 0) throw nothingToReplay('There is nothing to replay');
  return items;
}

/** `42-002-1a2b3c`: the same for the same case and candidate, so that a later evaluation finds its checkpoint. */
function evalId(id: ItemId, { kind, case: name }: PastCase, { config, name: who }: Candidate): ItemId {
  const rounds = kind === 'design' ? config.bounds.maxRounds : null;
  const mark = sha256(JSON.stringify([kind, name, who, rounds])).slice(0, 8);
  const end = `-${kind === 'review' ? name.split('/').at(-1) : 'lld'}-${mark}`;
  return parseItemId(`${id.slice(0, LONGEST_ID - end.length)}${end}`);
}
