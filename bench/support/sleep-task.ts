import { setTimeout as sleep } from 'node:timers/promises';
import type { Task } from '../../src/worker/protocol.ts';

export interface SleepInput {
  steps: number;
  ms: number;
}

/** Durable steps that take their time and nothing else. */
export const sleepTask: Task = async ({ id, attempt, input, journal, emit }) => {
  const { steps, ms } = input as SleepInput;
  emit({ type: 'item-started', title: id, attempt, reusedSteps: 0 });
  for (let step = 1; step <= steps; step++) {
    await journal.step({ name: `step-${step}`, inputs: step }, async () => {
      await sleep(ms);
      return step;
    });
  }
  return { status: 'succeeded', reason: null, outputs: [] };
};
