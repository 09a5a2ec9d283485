import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import type { Database, Sql } from './database.ts';
import type { MachineIdentity } from './machines.ts';
import { AWAY_HEADER, FACTS_PATH, type HubFacts, MACHINE_HEADER } from './server.ts';

/** The hub's entry in the database. */
export interface HubRecord {
  addresses: string[];
  certificate: string;
  fingerprint: string;
  version: string;
  leaseMs: number;
}

/** Throws `hub-missing` if no hub was ever started on this database. */
export async function readHub(database: Pick<Database, 'name'> & Sql): Promise<HubRecord> {
  const [row] = await database.rows<HubRecord>(
    'SELECT addresses, certificate, fingerprint, version, lease_ms AS "leaseMs" FROM agentos.hub',
  );
  if (row === undefined)
    throw new AgentosError({ code: 'hub-missing', database: database.name, reason: 'none was ever started on it' });
  return row;
}

interface Asking {
  method: string;
  path: string;
  headers?: IncomingHttpHeaders;
  body?: Buffer | NodeJS.ReadableStream | null;
  signal?: AbortSignal;
}

/** Sends requests to the hub. Accepts only the certificate that the database names. */
export interface HubLink {
  /** Rejects with `HubAway` if the hub can't be reached or can't answer now. */
  ask(asking: Asking): Promise<IncomingMessage>;
  facts(): Promise<HubFacts>;
  /** Repeats the work while the hub is away. */
  patiently<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** The hub answered the last health check. */
  isThere(): boolean;
  close(): void;
}

export class HubAway extends Error {
  override readonly name = 'HubAway';
}

const CONNECT_MS = 3_000;
const LOOK_EVERY_MS = 2_000;
/** A hub that does not answer a health check for this long counts as away; pending requests are repeated. */
const LOOK_MS = 5_000;
const PAUSE_MS = 300;

export function openHubLink(readRecord: () => Promise<HubRecord>, { id, token }: MachineIdentity): HubLink {
  let agent: https.Agent | null = null;
  let address: URL | null = null;
  let isThere = true;
  let looking: NodeJS.Timeout | null = null;
  let isClosed = false;
  const open = new Set<AbortController>();

  const request = (
    to: URL,
    through: https.Agent,
    { method, path, headers, body, signal }: Asking,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const hungUp = new AbortController();
      open.add(hungUp);
      const away = (error?: unknown): void => {
        open.delete(hungUp);
        reject(signal?.aborted === true ? signal.reason : new HubAway('the hub can not be reached', { cause: error }));
      };
      // Only the path is used: a caller of the relay must not choose the host.
      const { pathname, search } = URL.parse(path, 'https://hub') ?? new URL('https://hub/');
      const client = https.request(to, {
        path: `${pathname}${search}`,
        method,
        headers: { ...headers, [MACHINE_HEADER]: `${id} ${token}` },
        agent: through,
        signal: AbortSignal.any([hungUp.signal, ...(signal === undefined ? [] : [signal])]),
      });
      client.setNoDelay(true);
      client.on('socket', (socket) => {
        if (!socket.connecting) return;
        const timer = setTimeout(() => client.destroy(), CONNECT_MS);
        socket.once('secureConnect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
      });
      client.on('error', away);
      client.on('response', (response) => {
        response.on('close', () => open.delete(hungUp));
        if (response.headers[AWAY_HEADER] === undefined) return resolve(response);
        response.resume();
        away();
      });
      if (body === undefined || body === null) client.end();
      else if (Buffer.isBuffer(body)) client.end(body);
      else body.pipe(client);
    });

  /** Tries the hub's addresses in turn. They are read again each time, because a restarted hub may have new ones. */
  const connect = async (): Promise<{ to: URL; through: https.Agent }> => {
    if (agent !== null && address !== null) return { to: address, through: agent };
    const record = await readRecord();
    const through = new https.Agent({
      keepAlive: true,
      maxFreeSockets: 64,
      ca: record.certificate,
      allowPartialTrustChain: true,
      // The certificate itself is known, so its host name does not matter.
      checkServerIdentity: (_, { fingerprint256 }) =>
        fingerprint256 === record.fingerprint ? undefined : new Error('another certificate'),
    });
    for (const candidate of record.addresses) {
      const to = new URL(candidate);
      const response = await request(to, through, {
        method: 'GET',
        path: FACTS_PATH,
        signal: AbortSignal.timeout(LOOK_MS),
      }).catch(() => null);
      if (response === null) continue;
      response.resume();
      agent = through;
      address = to;
      return { to, through };
    }
    through.destroy();
    throw new HubAway('no address of the hub answers');
  };

  const ask = async (asking: Asking): Promise<IncomingMessage> => {
    const { to, through } = await connect();
    return request(to, through, asking);
  };

  const facts = async (signal?: AbortSignal): Promise<HubFacts> => {
    const response = await ask({ method: 'GET', path: FACTS_PATH, ...(signal && { signal }) });
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    if (response.statusCode === 403) throw new AgentosError({ code: 'machine-revoked', machine: id });
    if (response.statusCode !== 200) throw new HubAway(`the hub answers with ${response.statusCode}`);
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as HubFacts;
  };

  const look = async (): Promise<void> => {
    const found = await facts(AbortSignal.timeout(LOOK_MS)).then(
      () => true,
      (error: unknown) => error instanceof AgentosError,
    );
    isThere = found;
    if (!found) {
      // Requests on half-open connections would otherwise wait for hours.
      agent?.destroy();
      agent = null;
      for (const hungUp of open) hungUp.abort();
      open.clear();
    }
    if (!isClosed) looking = setTimeout(() => void look(), LOOK_EVERY_MS).unref();
  };
  looking = setTimeout(() => void look(), LOOK_EVERY_MS).unref();

  return {
    ask,
    facts,
    isThere: () => isThere,
    async patiently(signal, work) {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof HubAway) && !(error instanceof AgentosError && error.code === 'database-unreachable'))
            throw error;
        }
        await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    },
    close() {
      isClosed = true;
      if (looking !== null) clearTimeout(looking);
      agent?.destroy();
      for (const hungUp of open) hungUp.abort();
    },
  };
}
