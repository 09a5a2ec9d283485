import type { PipelineName } from './paths.ts';
import type { Problems } from './wording.ts';

/**
 * What can go wrong, as facts. Each code, its facts and its message are one entry of the table in `core/wording.ts`. Match on `code`,
 * never on the class: an error loses its class when it crosses a process.
 */
export type Problem = {
  [Code in keyof Problems]: { code: Code } & (Problems[Code] extends (facts: infer Facts) => unknown ? Facts : never);
}[keyof Problems];

/** A vendor without a key, the variables that could hold one, and the roles that need it. */
export interface MissingKey {
  provider: string;
  variables: string[];
  roles: string[];
}

/** An item in its last run. */
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
 * ceiling – still alive at its upper bound, so a retry would be paid and end the same way;
 * quota – a pause, not a failure; permanent – a person has to do something first.
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

/** A mistake on the command line or in a setting, and what to write instead. */
export function usageError(reason: string, hint?: string): AgentosError {
  return new AgentosError({ code: 'usage', reason, ...(hint === undefined ? {} : { hint }) });
}

/** The form in which an error crosses processes and files. */
export interface ErrorRecord {
  problem: Problem;
  retry: RetryClass;
}

function isAgentosError(error: unknown): error is AgentosError {
  return error instanceof Error && error.name === 'AgentosError' && 'problem' in error;
}

/** An error that is not ours is `internal`, unless the disk is full or read-only. */
export function toErrorRecord(error: unknown): ErrorRecord {
  if (isAgentosError(error)) return { problem: error.problem, retry: error.retry };
  const reason = systemCode(error) ?? '';
  if (isDiskReason(reason))
    return { problem: { code: 'output-unwritable', path: pathOf(error), reason }, retry: 'permanent' };
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { problem: { code: 'internal', detail }, retry: 'permanent' };
}

/** The error again, after it crossed a process. */
export function revived({ problem, retry }: ErrorRecord): AgentosError {
  return new AgentosError(problem, { retry });
}

/** Null: not an error of ours. */
export function codeOf(error: unknown): ErrorCode | null {
  return isAgentosError(error) ? error.problem.code : null;
}

/** The operating system's code of an error (`ENOENT`, `ENOSPC`, …), or null. */
export function systemCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** The innermost cause: fetch itself says only "fetch failed". */
export function originOf(error: unknown): unknown {
  let current = error;
  for (let depth = 0; depth < 5; depth++) {
    if (current instanceof AggregateError && current.errors.length > 0) current = current.errors[0];
    else if (current instanceof Error && current.cause !== undefined) current = current.cause;
    else break;
  }
  return current;
}

/** The disk is full, the user's quota is used up, or it is read-only: further writes fail too. */
export function isDiskReason(reason: string): boolean {
  return reason === 'ENOSPC' || reason === 'EDQUOT' || reason === 'EROFS';
}

function pathOf(error: unknown): string {
  const hasPath = typeof error === 'object' && error !== null && 'path' in error && typeof error.path === 'string';
  return hasPath ? String(error.path) : 'A file';
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;

interface RetryQuestion {
  retry: RetryClass;
  /** Including the failed one. */
  attempts: number;
  maxRetries: number;
  /** The delay that the vendor asked for. */
  retryAfterMs: number | null;
  /** 0 ≤ random < 1. */
  random: number;
}

/**
 * The delay before the next attempt; null: no further attempt. Exponential with full jitter, so that workers that failed together
 * don't retry together. The jitter is added to a delay that the vendor asked for.
 */
export function nextAttemptDelayMs({
  retry,
  attempts,
  maxRetries,
  retryAfterMs,
  random,
}: RetryQuestion): number | null {
  if (retry === 'permanent' || retry === 'ceiling') return null;
  if (attempts > maxRetries) return null;
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)) * random;
  return Math.round((retryAfterMs ?? 0) + backoff);
}
