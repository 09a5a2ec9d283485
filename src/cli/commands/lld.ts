import { pipelineOf } from '../../run/batch.ts';
import { lldBatch } from '../../run/lld-batch.ts';
import { parseBatchFlags } from '../batch-flags.ts';
import { runBatchCommand } from '../run-batch-command.ts';

export async function lldCommand(positional: string[], rawFlags: unknown): Promise<number> {
  return runBatchCommand(pipelineOf(lldBatch), parseBatchFlags('lld', positional, rawFlags));
}
