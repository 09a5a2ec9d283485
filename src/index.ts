/** What programs can use; everything else may change at any time. */
export {
  type CoordinatedEnd as ItemEnd,
  type CoordinatedItem,
  type CoordinatorOptions,
  ParallelCoordinator,
} from './coordinator/coordinator.ts';
export { AgentosError, type ErrorCode, type ErrorRecord, type Problem, type RetryClass } from './core/errors.ts';
export type { ItemEvent } from './core/events.ts';
export type { ItemStatus } from './core/item.ts';
export { type VendorKey, type VendorName } from './core/keys.ts';
export { MAX_PARALLEL } from './core/plan.ts';
export { Secret } from './core/secret.ts';
export type { Journal, StepContext, StepKey, StepRecord, StepResult } from './journal/port.ts';
export {
  type BatchEvent,
  type BatchItem,
  type BatchItemError,
  type BatchItemResult,
  type BatchOptions,
  type BatchResult,
  type BatchTask,
  type BatchTaskContext,
  PermanentError,
} from './library/batch.ts';
export { CredentialCoordinator, type Reservation } from './library/credential-coordinator.ts';
export { runBatch, workerScript } from './library/run-batch.ts';
export { type Attachment, OutputPrefixer, type OutputPrefixerOptions, type Sink, sinkOf } from './output/prefixer.ts';
export type { ExportReference, Task, TaskContext, TaskReference, TaskResult } from './worker/protocol.ts';
