import { statSync } from 'node:fs';
import type { Config } from '../../core/config.ts';
import { AgentosError, usageError } from '../../core/errors.ts';
import { evaluationOf } from '../../core/evaluation.ts';
import { sha256 } from '../../core/hash.ts';
import { type ItemId, LONGEST_ID, parseItemId } from '../../core/ids.ts';
import { type PromptFiles, readPromptFiles } from '../../prompts/prompts.ts';
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
  /** Null: the repository's own. */
  prompts: PromptFiles | null;
}

/** Candidates for a design differ in everything, those for a review only in reviewer and prompts. */
function candidatesOf(request: EvalRequest, config: Config): Candidate[] {
  const { models, bounds } = config;
  const folders = request.prompts.map((folder) => ({ folder, prompts: folder === null ? null : promptsIn(folder) }));
  const all = (kind: PastCase['kind'], drafters: readonly string[], rounds: readonly number[]): Candidate[] =>
    drafters.flatMap((drafter) =>
      request.reviewers.flatMap((reviewer) =>
        folders.flatMap(({ folder, prompts }) =>
          rounds.map((maxRounds) => {
            const parts = [kind === 'design' ? `${drafter} + ${reviewer}` : reviewer];
            if (folder !== null) parts.push(`prompts ${folder}`);
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

function promptsIn(folder: string): PromptFiles {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return readPromptFiles(folder);
  throw new AgentosError({ code: 'prompt-invalid', file: folder, reason: 'is not a folder' });
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
      const all = await (items ??= evalItems(project, request));
      for (const item of all) byId.set(item.id, item);
      if (ids === 'all') return all;
      const missing = ids.find((wanted) => !all.some(({ id, of }) => id === wanted || of === wanted));
      if (missing !== undefined) throw nothingToReplay(`${missing} has nothing that can be replayed`);
      return all.filter(({ id, of }) => ids.includes(id) || ids.includes(of));
    },
    settingOf(id) {
      const item = byId.get(id);
      if (item === undefined) return undefined;
      const { config, name, prompts, kind } = item.candidate;
      const input = { replay: { past: item.past, candidate: name }, ...(prompts && { prompts }) };
      return { config, input, ...(kind === 'review' && { roles: ['reviewer'] as const }) };
    },
    demand: documentDemand,
    done: { reason: 'replayed already', outputs: async () => [] },
    nothingToDo: 'there is nothing to replay',
    whole: {
      summary({ items: planned }, state) {
        const replayed = planned.flatMap(({ id }) => byId.get(id) ?? []);
        const candidates = replayed.map(({ past, candidate }) => ({ kind: past.kind, candidate: candidate.name }));
        const judged = [...state.items.values()].flatMap((item) => item.judged ?? []);
        return { evaluation: evaluationOf(candidates, judged) };
      },
    },
  };
}

function nothingToReplay(reason: string): AgentosError {
  return usageError(
    `${reason}.`,
    'Approved LLDs with their lineage are replayed (docs/lineage/<id>/). agentos lld <id> makes one.',
  );
}

async function evalItems(project: Project, request: EvalRequest): Promise<EvalItem[]> {
  const candidates = candidatesOf(request, project.config);
  // Loaded here, because it reads documents and no other command needs it.
  const { pastIds, pastItem } = await import('./past-cases.ts');
  const items: EvalItem[] = [];
  for (const { id, title, cases } of await readSome(await pastIds(project), (past) => pastItem(project, past)))
    for (const past of cases)
      for (const candidate of candidates.filter(({ kind }) => kind === past.kind)) {
        const what = past.kind === 'review' ? `review of draft ${past.case}` : `design for ${past.case}`;
        items.push({
          id: evalId(id, past, candidate),
          of: id,
          past,
          candidate,
          title: `${title} · ${what} by ${candidate.name}`,
          state: 'pending',
          chars: past.issue.length + (past.kind === 'review' ? past.draft.length : 0),
        });
      }
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
