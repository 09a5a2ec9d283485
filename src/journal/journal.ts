import { createHash } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { OpenSteps, SettlingJournal, StepContext, StepKey, StepResult, StepStore, StoredStep } from './port.ts';

/** The journal in a store that is opened over a network. */
export async function openStoredJournal(store: StepStore, clock: Clock): Promise<SettlingJournal> {
  return journalOver(store, clock, await store.open());
}

/** The journal over any store. It answers from memory, and writes to the store first. */
export function journalOver(store: OpenSteps, clock: Clock, stored: readonly StoredStep[]): SettlingJournal {
  const { location } = store;
  const steps = new Map(stored.map((step) => [step.id, step]));
  const inFlight = new Map<string, Promise<StepResult<unknown>>>();
  let lastNumber = Math.max(0, ...stored.map(({ number }) => number));
  let lastOrder = Math.max(0, ...stored.map(({ end }) => end?.order ?? 0));
  let isClosed = false;

  const timestamp = (): string => new Date(clock.dateMs()).toISOString();
  const requireOpen = (): void => {
    if (isClosed) throw new AgentosError({ code: 'journal-unusable', file: location, reason: 'it was closed' });
  };
  const put = async (step: StoredStep): Promise<void> => {
    requireOpen();
    await store.put(step);
    steps.set(step.id, step);
  };
  const finish = async (step: Omit<StoredStep, 'end'>, result: string): Promise<void> => {
    lastOrder += 1;
    await put({ ...step, end: { finishedAt: timestamp(), order: lastOrder, result } });
  };
  const finished = () => {
    requireOpen();
    return [...steps.values()]
      .flatMap(({ end, ...step }) => (end === null ? [] : [{ ...step, ...end }]))
      .sort((a, b) => a.order - b.order);
  };
  const perform = async <T>(
    id: string,
    name: string,
    run: (step: StepContext) => Promise<T>,
  ): Promise<StepResult<T>> => {
    requireOpen();
    const known = steps.get(id);
    if (known?.end) return { value: JSON.parse(known.end.result) as T, replayed: true };
    const earlierStarts = known?.starts ?? 0;
    lastNumber += 1;
    const started = { id, name, number: lastNumber, starts: earlierStarts + 1, startedAt: timestamp() };
    await put({ ...started, end: null });
    const result = encode(await run({ id, earlierStarts }), name);
    await finish(started, result);
    // The same value as a replay returns, so no caller depends on what JSON drops.
    return { value: JSON.parse(result) as T, replayed: false };
  };
  const close = (): void => {
    isClosed = true;
    store.close?.();
  };

  return {
    location,
    async step<T>({ name, inputs }: StepKey, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>> {
      const id = stepId({ name, inputs });
      const running = inFlight.get(id);
      // The id names the step and its inputs, so both callers asked for the same type.
      if (running !== undefined) return running as Promise<StepResult<T>>;
      const started = perform(id, name, run).finally(() => inFlight.delete(id));
      inFlight.set(id, started);
      return started;
    },
    has(key) {
      requireOpen();
      return (steps.get(stepId(key))?.end ?? null) !== null;
    },
    steps: () => finished().map(({ id, name, startedAt, finishedAt }) => ({ id, name, startedAt, finishedAt })),
    last(name) {
      const step = finished().findLast((candidate) => candidate.name === name);
      return step === undefined ? undefined : (JSON.parse(step.result) as unknown);
    },
    async settle(name, value) {
      const result = encode(value, name);
      requireOpen();
      const last = [...steps.values()]
        .filter((step) => step.name === name && (step.end === null || step.number === lastNumber))
        .sort((a, b) => b.number - a.number)[0];
      if (last === undefined) return false;
      await finish(last, result);
      return true;
    },
    check: () => store.check?.(),
    async remove() {
      requireOpen();
      await store.remove();
      close();
    },
    close,
  };
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
