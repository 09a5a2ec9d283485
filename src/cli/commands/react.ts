import { pipelineNamed } from '../../run/batches.ts';
import { parseBatchFlags } from '../request.ts';
import { runBatchCommand } from './batch.ts';

/** One reaction to what happened to the pull requests of these items. That it pushes and answers is what it is for. */
export async function reactCommand(positional: string[], rawFlags: unknown): Promise<number> {
  const parsed = parseBatchFlags('react', positional, { ...(rawFlags as object), pr: true });
  const reacting = { mayFetch: !parsed.dryRun, quiet: new Map<number, string>() };
  // It is no flag of this command.
  const retryFlags = parsed.retryFlags.filter((flag) => flag !== '--pr');
  return runBatchCommand(pipelineNamed('react', { reacting }), { ...parsed, retryFlags });
}
