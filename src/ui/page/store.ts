import { type Signal, signal } from '@preact/signals';
import type { Actions, Answers, Held, LiveMessages, Overview, Settled } from '../api.ts';
import { replace } from './navigation.ts';

/*
 * The data of the pages, from a server or embedded in a report. The rest of the page does not know which.
 */

const embedded = document.getElementById('data');
const answers = embedded === null ? null : (JSON.parse(embedded.textContent) as Record<string, unknown>);

export const isReport = answers !== null;

/** `lost`: the server does not answer; the browser keeps trying. `signed-out`: the token is missing or was for another start. */
export const connection = signal<'open' | 'lost' | 'signed-out'>('open');

export class Failure extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The response to `GET /api/<path>`. */
export async function load<Name extends keyof Answers>(path: string): Promise<Answers[Name]> {
  if (answers !== null) {
    if (Object.hasOwn(answers, path)) return answers[path] as Answers[Name];
    throw new Failure(404, 'The report does not contain this, to stay small. agentos ui shows it.');
  }
  return (await ask(`/api/${path}`)) as Answers[Name];
}

export async function act<Name extends keyof Actions>(
  name: Name,
  body: Actions[Name]['body'],
): Promise<Actions[Name]['answer']> {
  return (await post(name, body)) as Actions[Name]['answer'];
}

function post(name: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  return ask(`/api/${name}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function ask(path: string, init?: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    connection.value = 'lost';
    throw new Failure(0, 'The server does not answer.');
  }
  if (response.ok) return response.json();
  if (response.status === 401) connection.value = 'signed-out';
  const said = (await response.json().catch(() => ({}))) as { error?: string };
  throw new Failure(response.status, said.error ?? `The server answered ${response.status}.`);
}

/** Exchanges the token in the address for a cookie, and takes it out of the address and the history. */
export async function signIn(): Promise<void> {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (isReport || token === undefined) return;
  replace('inbox');
  await post('session', { token }).catch(() => undefined);
}

type Listener<Name extends keyof LiveMessages> = (message: LiveMessages[Name]) => void;
type Listeners = { [Name in keyof LiveMessages]?: Listener<Name> };

const NAMES: (keyof LiveMessages)[] = ['events', 'log', 'overview', 'held', 'settled'];

/** Listens to live events until the returned function is called. `query`: what the page shows. */
export function listen(query: Record<string, string>, listeners: Listeners, onReturn: () => void): () => void {
  if (isReport) return () => undefined;
  const source = new EventSource(`/api/live?${new URLSearchParams(query)}`);
  let wasLost = false;
  source.addEventListener('open', () => {
    if (connection.value === 'lost') connection.value = 'open';
    if (wasLost) onReturn();
    wasLost = false;
  });
  source.addEventListener('error', () => {
    wasLost = true;
    if (connection.value === 'open') connection.value = 'lost';
  });
  for (const name of NAMES) {
    source.addEventListener(name, (event) => {
      const listener = listeners[name] as Listener<typeof name> | undefined;
      listener?.(JSON.parse((event as MessageEvent<string>).data) as never);
    });
  }
  return () => source.close();
}

/** While both are null, it is loading. */
export interface Resource<Data> {
  data: Data | null;
  error: string | null;
}

const resources = new Map<string, Signal<Resource<unknown>>>();
const asking = new Set<string>();

/** The response to a path, requested once. While it is refreshed, the old one stays. */
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
/** Messages at the edge of the screen. */
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

/** Responses that are collected from all runs. They are refreshed when something changed, but not at every step. */
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

/** Follows what a page shows. There is one connection, which the next page replaces. */
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

/** Does something, and shows the result. */
export async function attempt(work: () => Promise<string>): Promise<void> {
  await work().then(
    (text) => notify(text, 'good'),
    (error: Error) => notify(error.message, 'bad'),
  );
}

/** The current time, updated every second. */
export const nowMs = signal(Date.now());

setInterval(() => {
  if (!document.hidden) nowMs.value = Date.now();
}, 1_000);
