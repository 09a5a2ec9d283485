import { resolve } from 'node:path';
import { AgentosError } from '../../core/errors.ts';
import { pipelineNamed } from '../../run/batches.ts';
import type { EvalRequest } from '../../run/eval-batch.ts';
import { parseBatchFlags, projectOf } from '../request.ts';
import { runBatchCommand } from './batch.ts';

interface EvalFlags {
  ids?: string[];
  all?: boolean;
  /** Each is a candidate. */
  drafter?: string[];
  reviewer?: string[];
  prompts?: string[];
  maxRounds?: number[];
  [flag: string]: unknown;
}

/** Replays past items with other models, prompts and bounds. Without ids: all of them. */
export async function evalCommand(positional: string[], rawFlags: unknown): Promise<number> {
  const { drafter = [], reviewer = [], prompts = [], maxRounds = [], ...flags } = rawFlags as EvalFlags;
  const all = flags.all ?? (positional.length === 0 && flags.ids === undefined);
  const request = parseBatchFlags('eval', positional, { ...flags, all, prompts: undefined });
  const isNamed = drafter.length + reviewer.length > 0;
  if (request.config.offline && isNamed) {
    const reason = "--offline plays the recorded tour and can't be combined with --drafter or --reviewer.";
    throw new AgentosError({ code: 'usage', reason, hint: 'Remove --offline to work with models.' });
  }
  const { config } = await projectOf(request.place, request.config);
  const orElse = <T>(given: T[], configured: T): T[] => (given.length > 0 ? [...new Set(given)] : [configured]);
  const evaluation: EvalRequest = {
    // A role that is named is compared; without one, both are.
    reviews: reviewer.length > 0 || !isNamed,
    designs: drafter.length > 0 || !isNamed,
    drafters: orElse(drafter, config.models.drafter),
    reviewers: orElse(reviewer, config.models.reviewer),
    prompts: orElse<string | null>(
      prompts.map((folder) => resolve(folder)),
      null,
    ),
    maxRounds: orElse(maxRounds, config.bounds.maxRounds),
  };
  return runBatchCommand(pipelineNamed('eval', { evaluation }), { ...request, evaluation });
}
