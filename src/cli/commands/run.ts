import { pipelineNamed } from '../../run/pipelines.ts';
import { parseBatchFlags } from '../batch-flags.ts';
import { runBatchCommand } from '../run-batch-command.ts';

export async function runCommand(positional: string[], rawFlags: unknown): Promise<number> {
  const request = parseBatchFlags('run', positional, rawFlags);
  return runBatchCommand(pipelineNamed('run', request.until), request);
}
