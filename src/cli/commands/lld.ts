import { lldBatch } from '../../run/lld-batch.ts';
import { pipelineOf } from '../../run/pipeline.ts';
import { parseBatchFlags } from '../batch-flags.ts';
import { runBatchCommand } from '../run-batch-command.ts';

export async function lldCommand(positional: string[], rawFlags: unknown): Promise<number> {
  return runBatchCommand(pipelineOf(lldBatch), parseBatchFlags('lld', positional, rawFlags));
}
