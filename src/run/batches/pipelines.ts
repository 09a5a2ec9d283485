import type { PipelineName } from '../../core/paths.ts';
import { type Pipeline, pipelineOf } from '../pipeline.ts';
import { issueBatch, lldBatch } from './document-batches.ts';
import { type EvalRequest, evalBatch } from './eval-batch.ts';
import { implementAgain, implementBatch } from './implement-batch.ts';
import { type LandRequest, landBatch } from './land-batch.ts';
import { type ReactRequest, reactBatch } from './react-batch.ts';

/** How far `run` goes. */
export type Until = 'lld' | 'implement';

/** Flags that change a pipeline. */
interface PipelineFlags {
  dryRun?: boolean | undefined;
  until?: Until | undefined;
  /** Implement items again that are done. */
  again?: boolean | undefined;
  evaluation?: EvalRequest | undefined;
  landing?: LandRequest | undefined;
  /** For a reaction: see `ReactRequest`. */
  unchanged?: ReactRequest['unchanged'];
}

/** The pipeline of a command, by the name that its runs are recorded with. A dry run fetches nothing. */
export function pipelineNamed(
  name: PipelineName,
  {
    dryRun = false,
    until = 'implement',
    again = false,
    evaluation,
    landing,
    unchanged = new Map(),
  }: PipelineFlags = {},
): Pipeline {
  switch (name) {
    case 'eval':
      if (evaluation === undefined) throw new TypeError('an evaluation without candidates');
      return pipelineOf(evalBatch(evaluation));
    case 'land':
      if (landing === undefined) throw new TypeError('a landing without a request');
      return pipelineOf(landBatch({ ...landing, fetch: landing.fetch && !dryRun }));
    case 'react':
      return pipelineOf(reactBatch({ mayFetch: !dryRun, unchanged }));
    case 'lld':
      return pipelineOf(lldBatch);
    case 'implement':
      return pipelineOf(again ? implementAgain : implementBatch);
    case 'issue':
      return pipelineOf(issueBatch);
    case 'run':
      return { name: 'run', stages: until === 'lld' ? [lldBatch] : [lldBatch, implementBatch] };
  }
}
