import type { ErrorRecord } from './errors.ts';
import type { Usage } from './money.ts';
import type { WorkflowName } from './paths.ts';

/**
 * How an item ended. `succeeded`, `skipped` and `discuss` are not failures; `cancelled` and `paused` go on with the next
 * run; the others are failures that keep everything they had.
 */
export type ItemStatus =
  | 'succeeded'
  | 'skipped'
  | 'discuss'
  | 'failed'
  | 'timed-out'
  | 'over-budget'
  | 'stalled'
  | 'crashed'
  | 'paused'
  | 'cancelled';

/** What happens while an item is worked on. Everything that shows or stores is a subscriber of these. */
export type ItemEvent =
  | { type: 'item-started'; title: string; attempt: number; reusedSteps: number }
  | { type: 'step-started'; step: string; model: string | null }
  | { type: 'step-finished'; step: string; replayed: boolean; durationMs: number; costUsd: number | null }
  | ModelAnswered
  | { type: 'model-substituted'; role: string; asked: string; answered: string }
  | { type: 'draft-checked'; round: number; errors: string[]; warnings: string[]; coverage: string }
  | { type: 'reply-rejected'; step: string; reason: string }
  | { type: 'review-read'; round: number; verdict: string | null; tiers: [number, number, number]; problems: string[] }
  | { type: 'file-written'; path: string; what: 'lineage' | 'lld' }
  | { type: 'output-line'; stream: 'stdout' | 'stderr'; line: string }
  | { type: 'notice'; text: string }
  | { type: 'item-retrying'; attempt: number; delayMs: number; error: ErrorRecord }
  | {
      type: 'item-finished';
      status: ItemStatus;
      durationMs: number;
      attempts: number;
      reason: string | null;
      error: ErrorRecord | null;
    };

export interface ModelAnswered {
  type: 'model-answered';
  step: string;
  role: string;
  asked: string;
  answered: string | null;
  promptHash: string;
  replyHash: string;
  usage: Usage;
  metered: boolean;
  /** null: the price is not known. */
  costUsd: number | null;
  durationMs: number;
}

export type RunEvent =
  | {
      type: 'run-started';
      runId: string;
      workflow: WorkflowName;
      items: string[];
      parallel: number;
      models: Record<string, string>;
    }
  | { type: 'warning'; text: string }
  | { type: 'interrupted'; signal: string }
  | { type: 'run-finished'; runId: string; exitCode: number; durationMs: number };

/** An event as it is stored and sent: with the time, and with the item it belongs to. */
export type AgentosEvent = { at: string } & (RunEvent | (ItemEvent & { item: string; workflow: WorkflowName }));

export type Subscriber = (event: AgentosEvent) => void;
