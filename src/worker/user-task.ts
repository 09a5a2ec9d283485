import { readFile } from 'node:fs/promises';
import { AgentosError, codeOf } from '../core/errors.ts';
import type { BatchTask, BatchTaskContext } from '../library/batch.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { ExportReference, Task, TaskContext } from './protocol.ts';

/** The input of a user's task. */
export interface UserTaskInput {
  input: unknown;
  /** The file for the result, and the key of task and input. */
  resultFile: string;
  key: string;
}

/** A user's export as one of our tasks. */
export function taskOfUser(task: BatchTask): Task {
  return async (context) => {
    const { input, resultFile, key } = context.input as UserTaskInput;
    // The result is there if a worker was killed right after the item was done.
    if ((await readUserResult(resultFile, key)) === null) {
      const { id, attempt, journal } = context;
      context.emit({ type: 'item-started', title: id, attempt, reusedSteps: journal.steps().length });
      const result = await perform(task, context, input);
      // Before the journal is removed, so that a kill between the two loses nothing.
      await writeFileAtomic(resultFile, `${JSON.stringify({ key, result: result ?? null })}\n`);
    }
    return { status: 'succeeded', reason: null, outputs: [] };
  };
}

/** The caller knows the contract of the export. */
export async function importExport<T>(reference: ExportReference): Promise<T> {
  let module: Record<string, unknown>;
  try {
    module = await import(reference.module);
  } catch (error) {
    throw failureOf(error, 'permanent');
  }
  const found = module[reference.export];
  if (typeof found === 'function') return found as T;
  throw new AgentosError({ code: 'task-missing', ...reference });
}

async function perform(task: BatchTask, context: TaskContext, input: unknown): Promise<unknown> {
  let result: unknown;
  try {
    result = await task(userContext(context, input));
  } catch (error) {
    // Errors of the journal are thrown as they are, except `internal`: inputs that are not JSON are the task's fault.
    const code = codeOf(error);
    if (code !== null && code !== 'internal') throw error;
    throw failureOf(error, code === 'internal' || isPermanent(error) ? 'permanent' : 'transient');
  }
  try {
    JSON.stringify(result);
    return result;
  } catch (error) {
    throw failureOf(error, 'permanent', 'its result is not JSON: ');
  }
}

function userContext(context: TaskContext, input: unknown): BatchTaskContext {
  const { id, attempt, signal, heartbeat, journal, emit } = context;
  return {
    id,
    input,
    attempt,
    signal,
    heartbeat,
    log: (text) => emit({ type: 'notice', text: String(text) }),
    step: async (name, inputs, run) => {
      const began = performance.now();
      const { value, replayed } = await journal.step({ name, inputs: inputs ?? null }, async (step) => {
        emit({ type: 'step-started', step: name, model: null });
        return run(step);
      });
      const durationMs = Math.round(performance.now() - began);
      emit({ type: 'step-finished', step: name, replayed, durationMs, costUsd: null });
      return value;
    },
  };
}

function isPermanent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retry' in error && error.retry === 'permanent';
}

function failureOf(error: unknown, retry: 'transient' | 'permanent', prefix = ''): AgentosError {
  const reason = prefix + (error instanceof Error ? error.message : String(error));
  const stack = error instanceof Error ? (error.stack ?? null) : null;
  return new AgentosError({ code: 'task-failed', reason, stack }, { retry, cause: error });
}

interface UserResult {
  /** Identifies the task and its input. */
  key: string;
  result: unknown;
}

/** The stored result of this key; null: none is stored. */
export async function readUserResult(file: string, key: string): Promise<UserResult | null> {
  try {
    const stored: unknown = JSON.parse(await readFile(file, 'utf8'));
    const isWanted = typeof stored === 'object' && stored !== null && 'key' in stored && stored.key === key;
    return isWanted && 'result' in stored ? { key, result: stored.result } : null;
  } catch {
    // Missing or unreadable: the item runs, and the file is replaced.
    return null;
  }
}
