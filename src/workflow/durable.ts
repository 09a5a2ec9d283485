import type { Clock } from '../core/clock.ts';
import type { ItemEvent } from '../core/events.ts';
import type { Journal, StepContext } from '../journal/port.ts';

export interface DurableOptions {
  journal: Journal;
  emit: (event: ItemEvent) => void;
  clock: Clock;
  signal: AbortSignal;
}

export interface DurableStep {
  name: string;
  inputs: unknown;
  /** Who does it, where it is somebody. */
  model?: string;
}

export type Durable = <T extends object>(
  step: DurableStep,
  run: (context: StepContext) => Promise<T>,
) => Promise<{ value: T; replayed: boolean }>;

/** A step of the journal that is told of like a model's: what takes time is seen. */
export function createDurable({ journal, emit, clock, signal }: DurableOptions): Durable {
  return async ({ name, inputs, model }, run) => {
    signal.throwIfAborted();
    const startedAt = clock.now();
    const { value, replayed } = await journal.step({ name, inputs }, (context) => {
      emit({ type: 'step-started', step: name, model: model ?? null });
      return run(context);
    });
    emit({
      type: 'step-finished',
      step: name,
      replayed,
      costUsd: costOf(value),
      durationMs: clock.now() - startedAt,
    });
    return { value, replayed };
  };
}

/** What a step says it cost; most cost nothing. */
function costOf(value: object): number | null {
  if (!('costUsd' in value)) return 0;
  return typeof value.costUsd === 'number' ? value.costUsd : null;
}
