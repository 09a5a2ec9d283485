import type { ErrorRecord } from './errors.ts';
import type { CaseResult } from './evaluation.ts';
import type { GateCounts, GateEvidence } from './gate.ts';
import type { ItemEnd } from './item.ts';
import type { LandedBranch } from './landing.ts';
import type { Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { PlannedGroup } from './plan.ts';

/**
 * What a request waits for. quota: the vendor refused a request for lack of quota; pace: our own pacing of a key; key: every key has as
 * many requests in flight as allowed; retry: the vendor is failing.
 */
export type WaitReason = 'quota' | 'pace' | 'key' | 'retry';

/** What happens to an item. Output, files, trace and pages subscribe to these. */
export type ItemEvent =
  | { type: 'item-started'; title: string; attempt: number; reusedSteps: number }
  | { type: 'step-started'; step: string; model: string | null }
  | { type: 'step-finished'; step: string; replayed: boolean; durationMs: number; costUsd: number | null }
  | ModelAnswered
  | { type: 'model-substituted'; role: string; asked: string; answered: string }
  | { type: 'draft-checked'; round: number; errors: string[]; warnings: string[]; coverage: string }
  | { type: 'reply-rejected'; step: string; reason: string }
  | { type: 'review-read'; round: number; verdict: string | null; tiers: [number, number, number]; problems: string[] }
  /** All findings of the item, after a review, a revision or a decision changed one. */
  | { type: 'ledger-updated'; round: number; findings: readonly LedgerEntry[] }
  /** A draft that was repaired before its review, or a review that was asked for again. The lineage does not have it. */
  | { type: 'set-aside'; what: 'draft' | 'verdict'; round: number; text: string }
  | { type: 'file-written'; path: string; what: 'lineage' | 'lld' | 'issue' }
  | TestsRan
  | ({ type: 'gate-checked'; round: number } & GateEvidence)
  /** Changes that were not allowed, and are kept as a patch. */
  | { type: 'changes-undone'; step: string; paths: string[]; why: string; patch: string }
  | { type: 'committed'; branch: string; commit: string; what: 'tests' | 'code' | 'report' }
  /** The item's next call waits. That is neither idling nor failing. `forMs` null: until another call ends. */
  | { type: 'quota-waiting'; vendor: string; reason: WaitReason; forMs: number | null }
  | { type: 'quota-resumed'; vendor: string; reason: WaitReason; waitedMs: number }
  /** An answer that an earlier worker paid for before it died. */
  | { type: 'answer-reused'; step: string }
  | GatewayCalled
  /** From a program of the item. The output of tests and set-up (`of`) goes only to the log. */
  | { type: 'output-line'; stream: 'stdout' | 'stderr'; line: string; of?: 'tests' | 'set-up' }
  | { type: 'notice'; text: string }
  /** Of an evaluation: the result of a past case with a candidate. */
  | { type: 'case-judged'; result: CaseResult }
  /** Of a landing: what became of one of its branches. */
  | ({ type: 'branch-landed'; branch: string } & LandedBranch)
  | { type: 'item-retrying'; attempt: number; delayMs: number; error: ErrorRecord }
  | ItemFinished;

/** A finding of the ledger, and its state over the rounds. */
export interface LedgerEntry {
  id: string;
  tier: number;
  area: string;
  text: string;
  state: 'open' | 'fixed' | 'disputed' | 'withdrawn';
  raisedInRound: number;
  updatedInRound: number;
  /** Why it is disputed or withdrawn; empty otherwise. */
  reason: string;
}

/** `outputs`: files relative to the repository, and branches. */
export interface ItemFinished extends ItemEnd {
  type: 'item-finished';
  /** In a pipeline: only this stage has ended, and the item continues with that workflow. */
  goesOnWith?: WorkflowName;
}

interface ModelAnswered {
  type: 'model-answered';
  step: string;
  role: string;
  /** In a landing: the id of the item whose branch it was for. */
  part?: string;
  asked: string;
  answered: string | null;
  promptHash: string;
  replyHash: string;
  usage: Usage;
  metered: boolean;
  /** Null: unknown. */
  costUsd: number | null;
  durationMs: number;
}

export interface TestsRan {
  type: 'tests-ran';
  step: string;
  command: string;
  outcome: string;
  exitCode: number | null;
  counts: GateCounts;
  durationMs: number;
}

/** A request to a vendor has ended. */
export interface GatewayCalled {
  type: 'gateway-call';
  vendor: string;
  model: string;
  keyId: string | null;
  status: number | null;
  attempts: number;
  waitedMs: number;
  durationMs: number;
  costUsd: number | null;
  usage: Usage | null;
}

export type RunEvent =
  | {
      type: 'run-started';
      runId: string;
      workflow: PipelineName;
      items: string[];
      parallel: number;
      models: Record<string, string>;
      /** Items that wait for each other. */
      groups: PlannedGroup[];
    }
  | { type: 'warning'; text: string }
  | { type: 'interrupted'; signal: string }
  /** The program was stopped, or the machine slept. Deadlines are extended by that time. */
  | { type: 'suspended'; forMs: number }
  | { type: 'key-cooling'; keyId: string; forMs: number; why: 'rate' | 'tokens' | 'concurrency' | 'quota' }
  | { type: 'key-dead'; keyId: string; reason: string }
  | { type: 'groups-merged'; group: string; keyIds: string[] }
  | { type: 'pool-exhausted'; vendor: string; reason: WaitReason; forMs: number | null }
  | { type: 'pool-resumed'; vendor: string; reason: WaitReason }
  /** `audit`: the last hash of each audit file, by its name. */
  | { type: 'run-finished'; runId: string; exitCode: number; durationMs: number; audit?: Record<string, string> };

/** An event as it is stored and sent: with its time, and the item it belongs to. */
export type AgentosEvent = { at: string } & (RunEvent | (ItemEvent & { item: string; workflow: WorkflowName }));

export type Subscriber = (event: AgentosEvent) => void;
