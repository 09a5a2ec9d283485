import type { PipelineName, WorkflowName } from './paths.ts';

/**
 * What can go wrong, as facts. Each problem has a code and the facts that a person needs to act on it; the wording is in
 * one place (`core/wording.ts`). Match on `code`, never on the class: an error that crossed a process has lost its class.
 */
export type Problem =
  // usage and configuration: nothing was started
  | { code: 'usage'; reason: string; hint?: string }
  | { code: 'bad-id'; id: string }
  | { code: 'config-unreadable'; file: string; reason: string }
  | { code: 'config-invalid'; file: string; line: number | null; path: string; reason: string }
  | { code: 'model-spec-invalid'; spec: string; reason: string }
  | { code: 'key-missing'; provider: string; variables: string[]; role: string }
  | { code: 'prompt-invalid'; file: string; reason: string }
  | { code: 'git-missing' }
  | { code: 'repository-missing'; directory: string }
  | { code: 'repository-empty'; directory: string }
  | { code: 'state-unwritable'; directory: string; reason: string }
  | { code: 'run-unreadable'; run: string; file: string }
  // source
  | { code: 'source-missing'; directory: string }
  | { code: 'issue-missing'; id: string; path: string; near: string[] }
  | { code: 'issue-unreadable'; id: string; path: string; reason: string }
  | { code: 'briefs-missing'; directory: string }
  | { code: 'brief-missing'; id: string; path: string; near: string[] }
  | { code: 'brief-unreadable'; id: string; path: string; reason: string }
  // provider
  | { code: 'provider-rejected-key'; provider: string; status: number | null; detail: string }
  | { code: 'provider-quota'; provider: string; detail: string; retryAfterMs: number | null; status: number | null }
  | { code: 'provider-overloaded'; provider: string; status: number | null; detail: string }
  | { code: 'provider-unreachable'; provider: string; detail: string }
  | { code: 'provider-refused-request'; provider: string; status: number | null; detail: string }
  | { code: 'provider-bad-reply'; provider: string; detail: string }
  | { code: 'reply-empty'; provider: string }
  | { code: 'reply-truncated'; provider: string; outputTokens: number | null }
  | { code: 'reply-filtered'; provider: string; reason: string }
  | { code: 'reply-too-large'; provider: string; limitBytes: number }
  | { code: 'model-downgraded'; asked: string; answered: string }
  | { code: 'command-failed'; command: string; exitCode: number | null; signal: string | null; detail: string }
  // bounds
  | { code: 'call-idle'; what: string; afterMs: number }
  | { code: 'call-ceiling'; what: string; afterMs: number }
  | { code: 'item-timeout'; afterMs: number }
  | { code: 'run-timeout'; afterMs: number }
  | { code: 'item-stalled'; afterMs: number }
  | { code: 'worker-crashed'; exitCode: number | null; signal: string | null; detail: string }
  | { code: 'task-missing'; module: string; export: string }
  | { code: 'task-failed'; reason: string; stack: string | null }
  | { code: 'halted'; failures: number; cause: string }
  | { code: 'over-budget'; spentUsd: number; limitUsd: number; scope: 'item' | 'run' }
  | { code: 'interrupted'; signal: string }
  // journal
  | { code: 'journal-fenced'; file: string }
  | { code: 'journal-damaged'; file: string; keptAs: string; reason: string }
  | { code: 'journal-newer'; file: string; found: number; supported: number }
  | { code: 'journal-full'; file: string; reason: string }
  | { code: 'journal-unusable'; file: string; reason: string }
  | { code: 'item-locked'; id: string; workflow: string; pid: number; since: string }
  // workspace
  | { code: 'git-failed'; command: string; exitCode: number | null; detail: string }
  | { code: 'output-unwritable'; path: string; reason: string }
  | { code: 'disk-unwritable'; directory: string; reason: string }
  /** changed: what a person did in a folder of the demo; empty: the demo did not make it. */
  | { code: 'demo-folder-taken'; directory: string; changed: string[] }
  | { code: 'run-missing'; run: string }
  // implementation
  | { code: 'lld-missing'; id: string; path: string; near: string[] }
  | { code: 'lld-unreadable'; path: string; reason: string }
  | { code: 'lld-not-approved'; id: string; path: string; why: 'edited' | 'status' | 'issue-changed' }
  | { code: 'lld-outdated'; id: string; findings: string[] }
  | { code: 'git-identity-missing'; detail: string }
  | { code: 'worktree-unusable'; path: string; reason: string }
  | { code: 'dependency-conflict'; on: string; files: string[] }
  | { code: 'setup-failed'; command: string; exitCode: number | null; detail: string }
  | { code: 'tests-undetected'; directory: string; script: string | null; runner: string | null }
  | { code: 'tests-cannot-run'; command: string; detail: string }
  | { code: 'agent-missing'; agent: string; program: string; install: string }
  | { code: 'agent-failed'; agent: string; exitCode: number | null; signal: string | null; detail: string }
  | { code: 'agent-rounds'; agent: string; rounds: number }
  | { code: 'changed-outside'; files: string[]; worktree: string }
  | { code: 'gate-failed'; gate: string; problems: string[]; worktree: string; branch: string }
  | { code: 'offline-no-code'; id: string; why: 'not-recorded' | 'changed'; file: string | null }
  | { code: 'offline-no-reply'; step: string }
  | { code: 'log-missing'; id: string }
  // decisions
  | { code: 'not-waiting'; id: string; last: LastRun | null }
  | {
      code: 'decision-refused';
      id: string;
      workflow: WorkflowName;
      why: 'changed' | 'checks' | 'questions' | 'recorded' | 'kept';
      detail: string;
    }
  | { code: 'internal'; detail: string };

/** What the last run of an item says of it. */
export interface LastRun {
  runId: string;
  workflow: PipelineName;
  status: string;
  reason: string | null;
  step: string | null;
}

export type ErrorCode = Problem['code'];

/**
 * Decided where the error is raised, because only that place knows:
 * transient – the same call may work later; idle – no sign of life within the idle bound;
 * ceiling – still alive at its upper bound, so paying for it again would end the same way;
 * quota – a pause, not a failure; permanent – nothing changes until a person does something.
 */
export type RetryClass = 'transient' | 'idle' | 'ceiling' | 'quota' | 'permanent';

export class AgentosError extends Error {
  override readonly name = 'AgentosError';
  readonly problem: Problem;
  readonly retry: RetryClass;

  constructor(problem: Problem, options: { retry?: RetryClass; cause?: unknown } = {}) {
    super(
      `${problem.code}: ${JSON.stringify(problem)}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.problem = problem;
    this.retry = options.retry ?? 'permanent';
  }

  get code(): ErrorCode {
    return this.problem.code;
  }
}

/** The form in which an error crosses processes and files. */
export interface ErrorRecord {
  problem: Problem;
  retry: RetryClass;
}

function isAgentosError(error: unknown): error is AgentosError {
  return error instanceof Error && error.name === 'AgentosError' && 'problem' in error;
}

/** Anything thrown becomes a record; what is not classified is `internal`, unless it is the disk's. */
export function toErrorRecord(error: unknown): ErrorRecord {
  if (isAgentosError(error)) return { problem: error.problem, retry: error.retry };
  const reason = systemCode(error) ?? '';
  if (isDiskReason(reason))
    return { problem: { code: 'output-unwritable', path: pathOf(error), reason }, retry: 'permanent' };
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { problem: { code: 'internal', detail }, retry: 'permanent' };
}

/** The problem's code, or null for what is not one of ours. */
export function codeOf(error: unknown): ErrorCode | null {
  return isAgentosError(error) ? error.problem.code : null;
}

/** The operating system's code of an error (`ENOENT`, `ENOSPC`, …), or null. */
export function systemCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** No space left, the user's share used up, or mounted read-only: whatever is written next fails too. */
export function isDiskReason(reason: string): boolean {
  return reason === 'ENOSPC' || reason === 'EDQUOT' || reason === 'EROFS';
}

function pathOf(error: unknown): string {
  const hasPath = typeof error === 'object' && error !== null && 'path' in error && typeof error.path === 'string';
  return hasPath ? String(error.path) : 'A file';
}
