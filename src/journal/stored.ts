import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { SettlingJournal, StepContext, StepKey, StepRecord, StepResult } from './port.ts';
import { encode, stepId } from './step-id.ts';

/** A step as a store keeps it; without an end it was started and has not finished. */
export interface StoredStep {
  id: string;
  name: string;
  /** Of the start: the highest is the step that was started last, also when it had been started before. */
  number: number;
  starts: number;
  startedAt: string;
  end: { finishedAt: string; order: number; result: string } | null;
}

/**
 * The steps of one journal, as its owner writes them. Every operation has the same effect when it is repeated, so that a caller
 * may repeat one whose answer was lost. A stale owner gets `journal-fenced`.
 */
export interface StepStore {
  /** For messages. */
  readonly location: string;
  /** Becomes the owner, and returns all that is there. */
  open(): Promise<StoredStep[]>;
  /** In place of the one with its id, if there is one. */
  put(step: StoredStep): Promise<void>;
  remove(): Promise<void>;
}

/** The journal over a store that is asked over a network: all of it is loaded here, and what is written goes to the store first. */
export async function openStoredJournal(store: StepStore, clock: Clock): Promise<SettlingJournal> {
  return new StoredJournal(store, clock, await store.open());
}

class StoredJournal implements SettlingJournal {
  readonly location: string;
  readonly #store: StepStore;
  readonly #clock: Clock;
  readonly #steps: Map<string, StoredStep>;
  readonly #inFlight = new Map<string, Promise<StepResult<unknown>>>();
  #lastNumber: number;
  #lastOrder: number;
  #isClosed = false;

  constructor(store: StepStore, clock: Clock, steps: readonly StoredStep[]) {
    this.location = store.location;
    this.#store = store;
    this.#clock = clock;
    this.#steps = new Map(steps.map((step) => [step.id, step]));
    this.#lastNumber = Math.max(0, ...steps.map(({ number }) => number));
    this.#lastOrder = Math.max(0, ...steps.map(({ end }) => end?.order ?? 0));
  }

  async step<T>(key: StepKey, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>> {
    const id = stepId(key);
    const running = this.#inFlight.get(id);
    // The id names the step and its inputs, so that both callers asked for the same type.
    if (running !== undefined) return running as Promise<StepResult<T>>;
    const started = this.#perform(id, key.name, run).finally(() => this.#inFlight.delete(id));
    this.#inFlight.set(id, started);
    return started;
  }

  async #perform<T>(id: string, name: string, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>> {
    this.#requireOpen();
    const known = this.#steps.get(id);
    if (known?.end) return { value: JSON.parse(known.end.result) as T, replayed: true };
    const earlierStarts = known?.starts ?? 0;
    this.#lastNumber += 1;
    const started = { id, name, number: this.#lastNumber, starts: earlierStarts + 1, startedAt: this.#timestamp() };
    await this.#put({ ...started, end: null });
    const value = await run({ id, earlierStarts });
    const result = encode(value, name);
    await this.#finish(started, result);
    // What a replay will see, so that no caller depends on what JSON drops.
    return { value: JSON.parse(result) as T, replayed: false };
  }

  has(key: StepKey): boolean {
    this.#requireOpen();
    return (this.#steps.get(stepId(key))?.end ?? null) !== null;
  }

  steps(): StepRecord[] {
    this.#requireOpen();
    return this.#finished().map(({ id, name, startedAt, end }) => ({
      id,
      name,
      startedAt,
      finishedAt: end.finishedAt,
    }));
  }

  last(name: string): unknown {
    this.#requireOpen();
    const step = this.#finished().findLast((candidate) => candidate.name === name);
    return step === undefined ? undefined : (JSON.parse(step.end.result) as unknown);
  }

  async settle(name: string, value: unknown): Promise<boolean> {
    const result = encode(value, name);
    this.#requireOpen();
    const last = [...this.#steps.values()]
      .filter((step) => step.name === name && (step.end === null || step.number === this.#lastNumber))
      .sort((a, b) => b.number - a.number)[0];
    if (last === undefined) return false;
    await this.#finish(last, result);
    return true;
  }

  async remove(): Promise<void> {
    this.#requireOpen();
    await this.#store.remove();
    this.close();
  }

  close(): void {
    this.#isClosed = true;
  }

  #finished(): (StoredStep & { end: NonNullable<StoredStep['end']> })[] {
    return [...this.#steps.values()]
      .flatMap(({ end, ...step }) => (end === null ? [] : [{ ...step, end }]))
      .sort((a, b) => a.end.order - b.end.order);
  }

  async #finish(step: Omit<StoredStep, 'end'>, result: string): Promise<void> {
    this.#lastOrder += 1;
    await this.#put({ ...step, end: { finishedAt: this.#timestamp(), order: this.#lastOrder, result } });
  }

  async #put(step: StoredStep): Promise<void> {
    this.#requireOpen();
    await this.#store.put(step);
    this.#steps.set(step.id, step);
  }

  #requireOpen(): void {
    if (this.#isClosed)
      throw new AgentosError({ code: 'journal-unusable', file: this.location, reason: 'it was closed' });
  }

  #timestamp(): string {
    return new Date(this.#clock.dateMs()).toISOString();
  }
}
