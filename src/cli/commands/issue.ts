import { issueBatch } from '../../run/issue-batch.ts';
import { pipelineOf } from '../../run/pipeline.ts';
import { parseBatchFlags } from '../batch-flags.ts';
import { runBatchCommand } from '../run-batch-command.ts';

export async function issueCommand(positional: string[], rawFlags: unknown): Promise<number> {
  return runBatchCommand(pipelineOf(issueBatch), parseBatchFlags('issue', positional, rawFlags));
}
