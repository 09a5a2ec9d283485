import { type Signal, signal } from '@preact/signals';
import type { Answers, Held, Overview, Settled } from '../api.ts';
import { type Failure, isReport, listen, load } from './source.ts';

/** What was asked for: while `data` is null and `error` is too, it is on its way. */
export interface Resource<Data> {
  data: Data | null;
  error: string | null;
}

const resources = new Map<string, Signal<Resource<unknown>>>();
const asking = new Set<string>();

/** The answer to a path, asked for once; what is shown stays while it is asked for again. */
export function resource<Name extends keyof Answers>(path: string): Signal<Resource<Answers[Name]>> {
  const known = resources.get(path);
  if (known !== undefined) return known as Signal<Resource<Answers[Name]>>;
  const made = signal<Resource<unknown>>({ data: null, error: null });
  resources.set(path, made);
  refresh(path);
  return made as Signal<Resource<Answers[Name]>>;
}

export function refresh(path: string): void {
  const kept = resources.get(path);
  if (kept === undefined || asking.has(path)) return;
  asking.add(path);
  load(path)
    .then(
      (data) => {
        kept.value = { data, error: null };
      },
      (error: Failure) => {
        kept.value = { data: kept.value.data, error: error.message };
      },
    )
    .finally(() => asking.delete(path));
}

export const overview = signal<Overview | null>(null);
export const held = signal<Held[]>([]);
/** Short words at the edge of the screen. */
export const notices = signal<{ key: number; text: string; tone: 'good' | 'bad' }[]>([]);

let lastKey = 0;
const NOTICE_MS = 6_000;

export function notify(text: string, tone: 'good' | 'bad'): void {
  lastKey += 1;
  const key = lastKey;
  notices.value = [...notices.value, { key, text, tone }].slice(-4);
  setTimeout(() => {
    notices.value = notices.value.filter((notice) => notice.key !== key);
  }, NOTICE_MS);
}

export async function loadOverview(): Promise<void> {
  overview.value = await load<'overview'>('overview');
}

function settled({ id, recorded, problem }: Settled): void {
  if (recorded !== null) notify(`The decision on ${id} is recorded in ${recorded}.`, 'good');
  else notify(`The decision on ${id} was not recorded. ${problem ?? ''}`, 'bad');
  refreshShown();
}

/** Pages that are put together from all runs; they are asked for again when something changed, not for every step. */
const SHARED = /^(?:inbox|board|money)$|^(?:item|question)\//;
const LEAST_MS = 1_500;
let refreshing: ReturnType<typeof setTimeout> | null = null;

function refreshShown(): void {
  refreshing ??= setTimeout(() => {
    refreshing = null;
    for (const path of resources.keys()) if (SHARED.test(path)) refresh(path);
  }, LEAST_MS);
}

interface Looked {
  run?: { runId: string; from: number; onEvents: (lines: string[]) => void; onReturn: () => void };
  log?: { which: string; onLines: (lines: string[]) => void };
}

let stop: () => void = () => undefined;

/** Follows what a page looks at; there is one connection, so that the next page's takes its place. */
export function follow({ run, log }: Looked): () => void {
  stop();
  const query = {
    ...(run === undefined ? {} : { run: run.runId, from: String(run.from) }),
    ...(log === undefined ? {} : { log: log.which }),
  };
  const listeners = {
    events: (lines: string[]) => run?.onEvents(lines),
    log: (lines: string[]) => log?.onLines(lines),
    overview: (seen: Overview) => {
      overview.value = seen;
      refreshShown();
    },
    held: (list: Held[]) => {
      held.value = list;
    },
    settled,
  };
  const onReturn = (): void => {
    void loadOverview();
    refreshShown();
    run?.onReturn();
  };
  const end = listen(query, listeners, onReturn);
  stop = end;
  return () => {
    end();
    if (stop === end) stop = () => undefined;
  };
}

export const canAct = (): boolean => !isReport && overview.value?.readOnly === false;
