import { implementBatch } from '../../run/implement-batch.ts';
import { pipelineOf } from '../../run/pipeline.ts';
import { parseBatchFlags } from '../batch-flags.ts';
import { runBatchCommand } from '../run-batch-command.ts';

export async function implementCommand(positional: string[], rawFlags: unknown): Promise<number> {
  return runBatchCommand(pipelineOf(implementBatch), parseBatchFlags('implement', positional, rawFlags));
}
