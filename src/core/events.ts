import type { ErrorRecord } from './errors.ts';
import type { CaseResult } from './evaluation.ts';
import type { GateCounts, GateEvidence } from './gate.ts';
import type { ItemEnd } from './item.ts';
import type { LandedBranch } from './landing.ts';
import type { Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { PlannedGroup } from './plan.ts';

/**
 * What a request waits for. quota: a vendor refused one for lack of it, and names or implies a time; pace: the known rate
 * of a key; key: as many requests as allowed are in flight with every key; retry: the vendor itself fails.
 */
export type WaitReason = 'quota' | 'pace' | 'key' | 'retry';

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
  /** The item's findings and how each stands, after a review, a revision or a decision has changed any of them. */
  | { type: 'ledger-updated'; round: number; findings: readonly LedgerEntry[] }
  /** A draft that was repaired before its review, or a review that had to be asked for again: no version of the lineage. */
  | { type: 'set-aside'; what: 'draft' | 'verdict'; round: number; text: string }
  | { type: 'file-written'; path: string; what: 'lineage' | 'lld' | 'issue' }
  | TestsRan
  | ({ type: 'gate-checked'; round: number } & GateEvidence)
  /** Changes that were not allowed where they were made; kept as a patch. */
  | { type: 'changes-undone'; step: string; paths: string[]; why: string; patch: string }
  | { type: 'committed'; branch: string; commit: string; what: 'tests' | 'code' | 'report' }
  /** The item's next call waits for its turn; that is neither idling nor failing. `forMs` null: until another call ends. */
  | { type: 'quota-waiting'; vendor: string; reason: WaitReason; forMs: number | null }
  | { type: 'quota-resumed'; vendor: string; reason: WaitReason; waitedMs: number }
  /** An answer that was paid for before its worker died. */
  | { type: 'answer-reused'; step: string }
  | GatewayCalled
  /** Of a program that the item runs; what tests and a set-up print is for the log. */
  | { type: 'output-line'; stream: 'stdout' | 'stderr'; line: string; of?: 'tests' | 'set-up' }
  | { type: 'notice'; text: string }
  /** Of an evaluation: what a past case came to with a candidate. */
  | { type: 'case-judged'; result: CaseResult }
  /** Of a landing: what became of one of its branches. */
  | ({ type: 'branch-landed'; branch: string } & LandedBranch)
  | { type: 'item-retrying'; attempt: number; delayMs: number; error: ErrorRecord }
  | ItemFinished;

/** A finding of the ledger, as far as it tells of the rounds. */
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
  /** Of a pipeline: only this stage has ended, and the item continues with that workflow. */
  goesOnWith?: WorkflowName;
}

export interface ModelAnswered {
  type: 'model-answered';
  step: string;
  role: string;
  /** Of a landing: the branch that it was for, by the id of its item. */
  part?: string;
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

export interface TestsRan {
  type: 'tests-ran';
  step: string;
  command: string;
  outcome: string;
  exitCode: number | null;
  counts: GateCounts;
  durationMs: number;
}

/** A request as it left for the vendor: with which key, after what wait, at what price. */
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
  /** The program could not run for a while: it was stopped, or the machine was. Nobody's time is up because of it. */
  | { type: 'suspended'; forMs: number }
  | { type: 'key-cooling'; keyId: string; forMs: number; why: 'rate' | 'tokens' | 'concurrency' | 'quota' }
  | { type: 'key-dead'; keyId: string; reason: string }
  | { type: 'groups-merged'; group: string; keyIds: string[] }
  | { type: 'pool-exhausted'; vendor: string; reason: WaitReason; forMs: number | null }
  | { type: 'pool-resumed'; vendor: string; reason: WaitReason }
  /** `audit`: the last hash of each audit file, by its name. */
  | { type: 'run-finished'; runId: string; exitCode: number; durationMs: number; audit?: Record<string, string> };

/** An event as it is stored and sent: with the time, and with the item it belongs to. */
export type AgentosEvent = { at: string } & (RunEvent | (ItemEvent & { item: string; workflow: WorkflowName }));

export type Subscriber = (event: AgentosEvent) => void;
