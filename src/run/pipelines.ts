import type { PipelineName } from '../core/paths.ts';
import { implementBatch } from './implement-batch.ts';
import { issueBatch } from './issue-batch.ts';
import { lldBatch } from './lld-batch.ts';
import { type Pipeline, pipelineOf } from './pipeline.ts';

/** How far `run` goes. */
export type Until = 'lld' | 'implement';

/** The pipeline of a command, by the name that its runs are recorded under. */
export function pipelineNamed(name: PipelineName, until: Until = 'implement'): Pipeline {
  switch (name) {
    case 'lld':
      return pipelineOf(lldBatch);
    case 'implement':
      return pipelineOf(implementBatch);
    case 'issue':
      return pipelineOf(issueBatch);
    case 'run':
      return { name: 'run', stages: until === 'lld' ? [lldBatch] : [lldBatch, implementBatch] };
  }
}
