import { pipelineNamed } from '../../run/batches.ts';
import { parseBatchFlags } from '../request.ts';
import { runBatchCommand } from './batch.ts';

interface LandFlags {
  resolve?: boolean;
  fetch?: boolean;
  dryRun?: boolean;
}

/** Several finished branches become one. */
export async function landCommand(positional: string[], rawFlags: unknown): Promise<number> {
  const { resolve = false, fetch = false, dryRun = false } = rawFlags as LandFlags;
  const request = parseBatchFlags('land', positional, rawFlags);
  // A dry run writes nothing, not even what a fetch brings.
  const landing = { ids: request.ids, resolve, fetch: fetch && !dryRun };
  return runBatchCommand(pipelineNamed('land', { landing }), { ...request, ids: 'all', landing });
}
