import { pipelineNamed, type Until } from '../../runner/pipelines.ts';
import { parseBatchFlags, retryFlagsOf } from '../batch-flags.ts';
import { runBatchCommand } from '../run-batch-command.ts';

export async function runCommand(positional: string[], rawFlags: { until?: Until }): Promise<number> {
  const { until = 'implement', ...flags } = rawFlags;
  const request = parseBatchFlags('run', positional, flags);
  const retryFlags = retryFlagsOf(request.place, request.config, until);
  return runBatchCommand(pipelineNamed('run', until), { ...request, until, retryFlags });
}
