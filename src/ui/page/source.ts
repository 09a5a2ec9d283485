import { signal } from '@preact/signals';
import type { Actions, Answers, LiveMessages } from '../api.ts';
import { replace } from './router.ts';

/*
 * Where the pages have their data from: a server, or the report that they are in. The rest of the page does not know which.
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

/** What `GET /api/<path>` answers. */
export async function load<Name extends keyof Answers>(path: string): Promise<Answers[Name]> {
  if (answers !== null) {
    if (Object.hasOwn(answers, path)) return answers[path] as Answers[Name];
    throw new Failure(404, 'This is not in the report, to keep it small. agentos ui shows it.');
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

/** Hears what happens, until the function that it returns is called. `query`: what is looked at. */
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
