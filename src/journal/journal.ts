import { createHash } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type {
  OpenSteps,
  SettlingJournal,
  StepContext,
  StepKey,
  StepRecord,
  StepResult,
  StepStore,
  StoredStep,
} from './port.ts';

/** The journal in a store that is opened over a network. */
export async function openStoredJournal(store: StepStore, clock: Clock): Promise<SettlingJournal> {
  return new StoredJournal(store, clock, await store.open());
}

/** The journal over any store. It answers from memory, and writes to the store first. */
export class StoredJournal implements SettlingJournal {
  readonly location: string;
  readonly #store: OpenSteps;
  readonly #clock: Clock;
  readonly #steps: Map<string, StoredStep>;
  readonly #inFlight = new Map<string, Promise<StepResult<unknown>>>();
  #lastNumber: number;
  #lastOrder: number;
  #isClosed = false;

  constructor(store: OpenSteps, clock: Clock, steps: readonly StoredStep[]) {
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
    // The id names the step and its inputs, so both callers asked for the same type.
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
    // The same value as a replay returns, so no caller depends on what JSON drops.
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

  check(): void {
    this.#store.check?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#store.close?.();
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

const hashLength = 32;

/**
 * `<name>#<hash of the inputs>`. The order of keys makes no difference. Anything that JSON would silently drop or change is
 * refused, because two different inputs must never share a record.
 */
export function stepId({ name, inputs }: StepKey): string {
  if (name === '') throw new AgentosError({ code: 'internal', detail: 'a step needs a name' });
  const refuse = (what: string, path: string): never => {
    throw new AgentosError({ code: 'internal', detail: `step ${name}: ${path} is not a JSON value but ${what}` });
  };
  const canonical = (value: unknown, path: string, ancestors: readonly object[]): string => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
    if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : refuse(String(value), path);
    if (typeof value !== 'object') return refuse(typeof value, path);
    if (ancestors.includes(value)) return refuse('a cycle', path);
    const within = [...ancestors, value];
    if (Array.isArray(value)) {
      // Array.from visits the holes of a sparse array; map would skip them.
      return `[${Array.from(value, (item, index) => canonical(item, `${path}[${index}]`, within)).join(',')}]`;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype) return refuse(`a ${value.constructor.name}`, path);
    if (Object.getOwnPropertySymbols(value).length > 0) return refuse('a symbol as key', path);
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    const texts = members.map(
      ([key, member]) => `${JSON.stringify(key)}:${canonical(member, `${path}.${key}`, within)}`,
    );
    return `{${texts.join(',')}}`;
  };
  const hash = createHash('sha256')
    .update(canonical(inputs, 'inputs', []))
    .digest('hex');
  return `${name}#${hash.slice(0, hashLength)}`;
}

/** A result as it is stored. */
export function encode(value: unknown, name: string): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AgentosError(
      { code: 'internal', detail: `step ${name}: its result is not JSON: ${why}` },
      { cause: error },
    );
  }
}
