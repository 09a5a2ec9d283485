import { pipelineNamed } from '../../run/batches.ts';
import { parseBatchFlags } from '../request.ts';
import { runBatchCommand } from './batch.ts';

/** One reaction to what happened to the pull requests of these items. That it pushes and answers is what it is for. */
export async function reactCommand(positional: string[], rawFlags: unknown): Promise<number> {
  const request = parseBatchFlags('react', positional, { ...(rawFlags as object), pr: true });
  const reacting = { mayFetch: !request.dryRun, quiet: new Map<number, string>() };
  return runBatchCommand(pipelineNamed('react', { reacting }), request);
}
