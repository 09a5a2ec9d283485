import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { AgentosError } from '../../src/core/errors.ts';
import type { TaskContext, TaskResult } from '../../src/worker/protocol.ts';

/** What an item of a coordinator's test does. */
export interface Behaviour {
  /** It goes on when this file is there. */
  waitsFor?: string;
  /** So many attempts fail with an error that may pass. */
  failsTimes?: number;
  ends?: TaskResult['status'] | 'failed';
}

const MOST_CHECKS = 2_000;

export async function behaveTask({ input, attempt, signal }: TaskContext): Promise<TaskResult> {
  const { waitsFor, failsTimes = 0, ends = 'succeeded' } = input as Behaviour;
  for (let check = 0; waitsFor !== undefined && !existsSync(waitsFor) && check < MOST_CHECKS; check++) {
    signal.throwIfAborted();
    await wait(10);
  }
  const failure = { code: 'task-failed', reason: 'as told', stack: null } as const;
  if (attempt <= failsTimes) throw new AgentosError(failure, { retry: 'transient' });
  if (ends === 'failed') throw new AgentosError(failure);
  return { status: ends, reason: 'the usual task', outputs: [] };
}

/** Emits a call of a model that takes so long, then waits. Its result says how often garbage was collected meanwhile. */
export async function callTask({ input, emit }: TaskContext): Promise<TaskResult> {
  const { model, callMs, restMs } = input as { model: string | null; callMs: number; restMs: number };
  let collections = 0;
  globalThis.gc = (async () => void (collections += 1)) as typeof globalThis.gc;
  emit({ type: 'step-started', step: 'draft', model });
  await wait(callMs / 2);
  emit({ type: 'notice', text: 'still there' });
  await wait(callMs / 2);
  emit({ type: 'step-finished', step: 'draft', replayed: false, durationMs: callMs, costUsd: null });
  await wait(restMs);
  return { status: 'succeeded', reason: `${collections} collections`, outputs: [] };
}

export async function otherTask(): Promise<TaskResult> {
  return { status: 'succeeded', reason: 'the other task', outputs: [] };
}
