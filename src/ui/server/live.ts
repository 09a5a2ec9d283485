import { realpath, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isItemId } from '../../core/ids.ts';
import { isInside, type Paths, WORKFLOWS } from '../../core/paths.ts';
import { followFile, isFolded, pause } from '../../run/history/run-files.ts';
import type { LiveMessages } from '../api.ts';
import { isRunId, type Pages } from '../data/pages.ts';

/** The open pages. */
export interface Live {
  /** Sends events to a page until it disconnects. `query`: what the page shows. */
  attach(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void;
  tell<Name extends keyof LiveMessages>(name: Name, message: LiveMessages[Name]): void;
  close(): void;
}

/** How often we check whether anything but the displayed run has changed. */
const LOOK_EVERY_MS = 1_000;
const KEEP_ALIVE_MS = 15_000;
/** A page that does not read is disconnected. It reconnects by itself and asks for the state. */
const MOST_UNREAD_BYTES = 16 << 20;
/** How much of the end of a log is sent at first. */
const LOG_TAIL_BYTES = 512 << 10;

export function createLive(pages: Pages, paths: Paths, mask: (text: string) => string): Live {
  const attached = new Set<ServerResponse>();
  let looking: AbortController | null = null;

  const write = (response: ServerResponse, name: keyof LiveMessages, json: string, id?: number): void => {
    if (response.writableLength > MOST_UNREAD_BYTES) {
      response.destroy();
      return;
    }
    response.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${mask(json)}\n\n`);
  };
  const tell: Live['tell'] = (name, message) => {
    const json = JSON.stringify(message);
    for (const response of attached) write(response, name, json);
  };

  /** Only while a page is open. */
  const look = async (signal: AbortSignal): Promise<void> => {
    let known = '';
    while (!signal.aborted) {
      const json = await pages.overview().then(JSON.stringify, () => known);
      if (json !== known && known !== '') for (const response of attached) write(response, 'overview', json);
      known = json;
      await pause(LOOK_EVERY_MS, signal);
    }
  };

  const followEvents = async (
    response: ServerResponse,
    runId: string,
    from: number,
    signal: AbortSignal,
  ): Promise<void> => {
    const { events } = paths.run(runId);
    await followFile(events, from, {
      signal,
      onPiece: ({ text, end }) => {
        const lines = text.split('\n').filter((line) => line !== '' && isFolded(line));
        if (lines.length > 0) write(response, 'events', JSON.stringify(lines), end);
      },
    });
  };

  const followLog = async (response: ServerResponse, which: string, signal: AbortSignal): Promise<void> => {
    const path = await logPath(paths, which);
    if (path === null) return;
    const { size } = await stat(path);
    let isFirst = size > LOG_TAIL_BYTES;
    await followFile(path, Math.max(0, size - LOG_TAIL_BYTES), {
      signal,
      onPiece: ({ text }) => {
        // The first line of a tail is incomplete.
        const lines = text.split('\n').slice(isFirst ? 1 : 0, -1);
        isFirst = false;
        write(response, 'log', JSON.stringify(lines));
      },
    });
  };

  return {
    attach(request, response, query) {
      const leaving = new AbortController();
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
      response.write(': here\n\n');
      attached.add(response);
      looking ??= begin(look);
      const alive = setInterval(() => response.write(': alive\n\n'), KEEP_ALIVE_MS).unref();
      response.on('close', () => {
        clearInterval(alive);
        leaving.abort();
        attached.delete(response);
        if (attached.size > 0) return;
        looking?.abort();
        looking = null;
      });
      const runId = query.get('run') ?? '';
      // After a lost connection, the browser sends the id of the last event.
      const from = Number(request.headers['last-event-id'] ?? query.get('from') ?? 0);
      const log = query.get('log');
      const { signal } = leaving;
      const giveUp = (): void => void response.destroy();
      if (isRunId(runId) && Number.isSafeInteger(from)) followEvents(response, runId, from, signal).catch(giveUp);
      if (log !== null) followLog(response, log, signal).catch(giveUp);
    },
    tell,
    close() {
      looking?.abort();
      for (const response of attached) response.destroy();
    },
  };
}

function begin(look: (signal: AbortSignal) => Promise<void>): AbortController {
  const controller = new AbortController();
  void look(controller.signal);
  return controller;
}

/** From `<runId>/<workflow>/<id>`; null: there is no such log, or a link leads out of the run's folder. */
async function logPath(paths: Paths, which: string): Promise<string | null> {
  const [runId = '', stage, id = ''] = which.split('/');
  const workflow = WORKFLOWS.find((one) => one === stage);
  if (!isRunId(runId) || workflow === undefined || !isItemId(id)) return null;
  const run = paths.run(runId);
  const path = run.log(workflow, id);
  const isOurs = await Promise.all([realpath(run.directory), realpath(path)]).then(
    ([folder, file]) => isInside(folder, file),
    () => false,
  );
  return isOurs ? path : null;
}
