import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CoordinatedEnd, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import { VENDORS } from '../core/keys.ts';
import { createLineReader } from '../core/lines.ts';
import { labelOf } from '../core/paths.ts';
import { wordingOf } from '../core/wording.ts';
import { diskFault } from '../process/disk.ts';
import { namesIn } from '../process/files.ts';
import { compiledCodeFolder, packageRoot } from '../process/package-root.ts';
import { findSandbox, withoutSandbox } from '../process/sandbox/find.ts';
import { claimItem, handBack, renewLeases } from './backlog.ts';
import { isAway, openDatabase } from './database.ts';
import { type HeldItem, holdItem, type MachineParts } from './held-item.ts';
import { openHubLink, readHub } from './hub-link.ts';
import { createEventWriter } from './item-events.ts';
import { holdSession, joinMachine, leaveMachine, machineIdentity, SANDBOX_TAG } from './machines.ts';
import { requireSchema } from './migrations.ts';
import { keepListening } from './notices.ts';
import { clearPlaces } from './place.ts';
import { startRelay } from './relay.ts';
import { openRepositoryCache, type RepositoryCache } from './repository-cache.ts';
import { openRunDocuments, type RunDocuments } from './run-documents.ts';
import type { RunSettings } from './run-settings.ts';

export interface MachineOptions {
  databaseUrl: string;
  /** The state folder. */
  base: string;
  name: string;
  tags: readonly string[];
  parallel: number;
  version: string;
  /** What programs that it starts may see of the environment. */
  childEnv: Record<string, string>;
  /** Finishes or hands back what it holds, then ends. */
  drain: AbortSignal;
  /** Hands back at once. */
  now: AbortSignal;
  onLine: (line: string) => void;
}

const LONGEST_BEAT_MS = 5_000;
/** Of a lease, how long before its end agents are stopped: they have to be gone when it is over. */
const MARGIN_MS = 6_000;
/** A step in flight may still take so long when the machine is drained. */
const DRAIN_MS = 20_000;
const IDLE_LOOK_MS = 2_000;
const POLL_MS = 500;
/** Of so many runs documents are kept in memory. */
const MOST_RUNS = 8;
/** Of a disk that is full. */
const FAULT_LOOK_MS = 5_000;

/** A machine that takes items of the hub's backlog until it is drained. Throws what it could not begin with, or what ended it. */
export async function runMachine(options: MachineOptions): Promise<void> {
  const { base, name, parallel, version, childEnv, drain, now, onLine } = options;
  const sandbox = await findSandbox(childEnv, base);
  if (sandbox.tool === null) onLine(withoutSandbox(sandbox));
  const tags = [...options.tags, ...(sandbox.tool === null ? [] : [SANDBOX_TAG])];
  const folder = join(base, 'machine');
  const identity = await machineIdentity(join(folder, 'id'));
  for (const repository of await namesIn(join(folder, 'work'))) await clearPlaces(join(folder, 'work', repository));
  const database = openDatabase(options.databaseUrl, {
    application: `agentos worker ${name}`.slice(0, 60),
    connections: 3,
  });
  const stopped = new AbortController();
  await using resources = new AsyncDisposableStack();
  resources.defer(() => database.close());
  await requireSchema(database);
  const { leaseMs } = await readHub(database);
  const number = await joinMachine(database, { ...identity, name, tags, parallel, version });
  const link = openHubLink(() => readHub(database), identity);
  resources.defer(() => link.close());
  const facts = await link.patiently(drain, async () => {
    const found = await link.facts().catch((error: unknown) => {
      onLine('the hub does not answer yet');
      throw error;
    });
    return found;
  });
  const relay = await startRelay(link);
  resources.defer(() => relay.close());

  const held = new Map<string, HeldItem>();
  const ends = new Map<string, (end: CoordinatedEnd) => void>();
  const settings = new Map<string, Promise<RunSettings>>();
  const caches = new Map<string, RepositoryCache>();
  const documents = new Map<string, RunDocuments>();
  let offsetMs = 0;
  let fatal: AgentosError | null = null;
  const timestamp = (): string => new Date(Date.now() + offsetMs).toISOString();
  const events = createEventWriter(database.patient(stopped.signal), `${identity.id} ${process.pid} ${Date.now()}`);

  const coordinator = new ParallelCoordinator({
    task: { builtIn: 'lld' },
    parallel,
    worker: {
      script: join(packageRoot(), 'dist', 'worker.js'),
      env: childEnv,
      cwd: base,
      compileCache: compiledCodeFolder(),
    },
    maxRetries: 0,
    timeoutMs: 3_600_000,
    idleTimeoutMs: 300_000,
    globalTimeoutMs: null,
    // Whether a run continues after failures is for the hub to say, which sees all of it.
    haltAfter: Number.POSITIVE_INFINITY,
    finishStepMs: () => (drain.aborted && !now.aborted ? DRAIN_MS : 2_000),
    onEvent: (id, event) => held.get(id)?.onEvent(event),
    isWaiting: (id) => relay.isWaiting(held.get(id)?.token ?? ''),
    attachOutput: (id, { stdout, stderr }) => {
      const readers = (
        [
          ['stdout', stdout],
          ['stderr', stderr],
        ] as const
      ).map(([stream, from]) => {
        const reader = createLineReader((line) => held.get(id)?.onEvent({ type: 'output-line', stream, line }));
        const onData = (chunk: Buffer): void => reader.push(chunk);
        from.on('data', onData);
        return () => {
          from.off('data', onData);
          reader.end();
        };
      });
      return { detach: () => readers.forEach((detach) => detach()) };
    },
    runTag: `machine-${identity.id.slice(0, 8)}-${process.pid}`,
  });
  const parts: MachineParts = {
    machine: identity.id,
    name,
    base,
    database,
    link,
    relay,
    vendors: VENDORS.filter((vendor) => facts.vendors.includes(vendor)),
    fingerprints: facts.fingerprints,
    events,
    timestamp,
    folderOf: (repository) => join(folder, 'work', repository.slice(0, 16)),
    cacheOf: (repository) => {
      const cache = caches.get(repository) ?? openRepositoryCache(join(folder, 'cache'), repository, childEnv);
      caches.set(repository, cache);
      return cache;
    },
    settingsOf: (run) => {
      const found = settings.get(run) ?? readSettings(run);
      settings.set(run, found);
      found.catch(() => settings.delete(run));
      return found;
    },
    documentsOf: (run, commit, cache) => {
      const found = documents.get(run) ?? openRunDocuments(database.patient(stopped.signal), run, commit, cache);
      documents.delete(run);
      documents.set(run, found);
      // The one that was used longest ago goes.
      const [oldest] = documents.keys();
      if (documents.size > MOST_RUNS && oldest !== undefined) documents.delete(oldest);
      return found;
    },
    sandbox: sandbox.tool,
    env: childEnv,
    work: (item) =>
      new Promise((resolve) => {
        ends.set(item.id, resolve);
        coordinator.add(item);
      }),
    cancel: (id, reason) => coordinator.cancel(id, reason),
  };
  const readSettings = async (run: string): Promise<RunSettings> => {
    const [row] = await database
      .patient(stopped.signal)
      .rows<{ settings: RunSettings }>('SELECT settings FROM agentos.runs WHERE id = $1', [run]);
    if (row === undefined) throw new TypeError(`there is no run ${run}`);
    return row.settings;
  };

  let wake = Promise.withResolvers<void>();
  const poke = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  const notices = keepListening(database, {
    channels: ['agentos_ready', 'agentos_machine'],
    onSession: (session) => holdSession(session, identity.id, number),
    signal: stopped.signal,
    onNotice: (channel, payload) => {
      if (channel === 'agentos_ready') poke();
      else if (payload === identity.id) void beat();
    },
  });

  /** When the lease of what we hold ends, by a clock that no one sets. */
  let leaseEnds = performance.now() + leaseMs;
  let claiming = false;
  let unknown = new Set<number>();
  const loseAll = (): void => {
    for (const item of held.values()) item.lose();
  };
  const beat = async (): Promise<void> => {
    const began = performance.now();
    try {
      const renewed = await renewLeases(database, identity.id, leaseMs);
      leaseEnds = began + leaseMs;
      offsetMs = renewed.nowMs - Date.now();
      if (renewed.isRevoked) {
        fatal ??= new AgentosError({ code: 'machine-revoked', machine: name });
        loseAll();
        stopped.abort(fatal);
        return poke();
      }
      const fences = new Map(renewed.held.map(({ id, fence }) => [id, fence]));
      for (const item of held.values()) {
        const { id, fence } = item.claim;
        if (fences.get(id) !== fence) item.lose();
        const asked = renewed.held.find((one) => one.id === id)?.cancel ?? null;
        if (asked !== null) item.cancel(asked);
      }
      // A claim whose answer was lost: no one works on it.
      const known = new Set([...held.values()].map(({ claim }) => claim.id));
      const ours = claiming ? [] : renewed.held.filter(({ id }) => !known.has(id));
      for (const one of ours) if (unknown.has(one.id)) await handBack(database, one);
      unknown = new Set(ours.map(({ id }) => id));
    } catch (error) {
      if (!isAway(error)) throw error;
      if (performance.now() > leaseEnds - Math.min(MARGIN_MS, leaseMs / 3) && held.size > 0) {
        onLine('the database can not be reached and the lease ends: what runs here is stopped');
        loseAll();
      }
    }
  };
  const beatMs = Math.min(LONGEST_BEAT_MS, leaseMs / 9);
  const beats = (async () => {
    while (!stopped.signal.aborted) {
      await sleep(beatMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (!stopped.signal.aborted) await beat();
    }
  })();

  const take = async (): Promise<boolean> => {
    const token = `agentos-${randomBytes(24).toString('base64url')}`;
    claiming = true;
    try {
      const claim = await claimItem(database, { machine: identity.id, version, tags, token, leaseMs });
      if (claim === null) return false;
      const item = holdItem(claim, token, parts);
      const id = `${claim.key}#${claim.id}.${claim.fence}`;
      held.set(id, item);
      const label = labelOf(item.item.workflow, item.item.id);
      onLine(`[${label}] claimed`);
      void item.done.then(({ end, fault }) => {
        held.delete(id);
        if (fault !== null) disk = { fault, since: performance.now() };
        onLine(`[${label}] ${end === null ? `handed back${fault === null ? '' : `: ${fault}`}` : end.status}`);
        poke();
      });
      return true;
    } catch (error) {
      if (!isAway(error)) throw error;
      return false;
    } finally {
      claiming = false;
    }
  };
  let disk: { fault: string; since: number } | null = null;
  const mayTake = (): boolean => {
    if (disk !== null && performance.now() - disk.since > FAULT_LOOK_MS) {
      disk = diskFault(base) === null ? null : { ...disk, since: performance.now() };
    }
    return held.size < parallel && disk === null && link.isThere() && !drain.aborted && !stopped.signal.aborted;
  };

  const run = coordinator.run([], {
    isOpen: true,
    next: (end) => {
      ends.get(end.id)?.(end);
      ends.delete(end.id);
      return [];
    },
  });
  coordinator.warmUp(parallel);
  const onDrain = (): void => {
    onLine(`draining: ${held.size} item(s) finish their step, or are handed back`);
    for (const item of held.values()) item.giveBack();
    coordinator.stop(new AgentosError({ code: 'interrupted', signal: 'SIGTERM' }));
    poke();
  };
  drain.addEventListener('abort', onDrain, { once: true });
  now.addEventListener('abort', () => coordinator.kill(), { once: true });
  onLine(
    `joined as ${name} (${identity.id.slice(0, 8)}): ${parallel} item(s) at a time${tags.length > 0 ? `, tags ${tags.join(', ')}` : ''}`,
  );

  try {
    while (!drain.aborted && !stopped.signal.aborted) {
      const woken = wake.promise;
      while (mayTake() && (await take()));
      await Promise.race([woken, sleep(notices.isHeard() ? IDLE_LOOK_MS : POLL_MS, undefined, { ref: true })]);
    }
    await Promise.all([...held.values()].map(({ done }) => done));
  } catch (error) {
    loseAll();
    const { problem } = toErrorRecord(error);
    onLine(wordingOf(problem).message);
    throw error;
  } finally {
    await leaveMachine(database, identity.id).catch(() => undefined);
    stopped.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the machine' }));
    coordinator.close();
    if (!drain.aborted) coordinator.stop(new AgentosError({ code: 'interrupted', signal: 'SIGTERM' }));
    await run;
    await beats;
    await notices.closed;
  }
  if (fatal !== null) throw fatal;
}
