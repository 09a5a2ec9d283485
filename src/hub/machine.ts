import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import { VENDORS } from '../core/keys.ts';
import { labelOf } from '../core/paths.ts';
import { messageOf } from '../core/wording.ts';
import { diskFault, namesIn } from '../process/files.ts';
import { findSandbox, withoutSandbox } from '../process/sandbox/sandbox.ts';
import { claimItem } from './backlog.ts';
import { isAway, openDatabase } from './database.ts';
import { startHeartbeat } from './heartbeat.ts';
import { type HeldItem, holdItem, type MachineParts } from './held-item.ts';
import { openHubLink, readHub } from './hub-link.ts';
import { createEventWriter } from './item-events.ts';
import { startMachineWorkers } from './machine-workers.ts';
import { holdSession, joinMachine, leaveMachine, machineIdentity, SANDBOX_TAG } from './machines.ts';
import { requireSchema } from './migrations.ts';
import { createBell, keepListening } from './notices.ts';
import { clearPlaces } from './place.ts';
import { startRelay } from './relay.ts';
import { openRepositoryCaches } from './repository-cache.ts';
import { createDocumentsCache } from './run-documents.ts';
import { createSettingsCache } from './run-settings.ts';

export interface MachineOptions {
  databaseUrl: string;
  /** The state folder. */
  base: string;
  name: string;
  tags: readonly string[];
  parallel: number;
  version: string;
  /** The part of the environment that child processes may see. */
  childEnv: Record<string, string>;
  /** Finish or hand back the items, then end. */
  drain: AbortSignal;
  /** Hand back the items at once. */
  now: AbortSignal;
  onLine: (line: string) => void;
}

const IDLE_LOOK_MS = 2_000;
/** Without notices from the database. */
const POLL_MS = 500;
/** How often a disk that was full is looked at again. */
const DISK_LOOK_MS = 5_000;

/** Takes items from the hub's backlog until it is drained. Throws why it could not start, or what ended it. */
export async function runMachine(options: MachineOptions): Promise<void> {
  const { base, name, parallel, version, childEnv, drain, now, onLine } = options;
  const sandbox = await findSandbox(childEnv);
  if (sandbox.tool === null) onLine(withoutSandbox(sandbox));
  const tags = [...options.tags, ...(sandbox.tool === null ? [] : [SANDBOX_TAG])];
  const folder = join(base, 'machine');
  const identity = await machineIdentity(join(folder, 'id'));
  for (const repository of await namesIn(join(folder, 'work'))) await clearPlaces(join(folder, 'work', repository));

  await using resources = new AsyncDisposableStack();
  const application = `agentos worker ${name}`.slice(0, 60);
  const database = openDatabase(options.databaseUrl, { application, connections: 3 });
  resources.defer(() => database.close());
  await requireSchema(database);
  const { leaseMs } = await readHub(database);
  const number = await joinMachine(database, { ...identity, name, tags, parallel, version });
  const link = openHubLink(() => readHub(database), identity);
  resources.defer(() => link.close());
  const facts = await link.patiently(drain, () =>
    link.facts().catch((error: unknown) => {
      onLine('the hub does not answer yet');
      throw error;
    }),
  );
  const relay = await startRelay(link);
  resources.defer(() => relay.close());

  const held = new Map<string, HeldItem>();
  const stopped = new AbortController();
  let fatal: unknown = null;
  const bell = createBell();
  const fail = (error: unknown): void => {
    fatal ??= error;
    stopped.abort(error);
    bell.ring();
  };
  let isClaiming = false;
  const notices = keepListening(database, {
    channels: ['agentos_ready', 'agentos_machine'],
    onSession: (session) => holdSession(session, identity.id, number),
    signal: stopped.signal,
    onNotice: (channel, payload) => {
      if (channel === 'agentos_ready') bell.ring();
      else if (payload === identity.id) heartbeat.beat().catch(fail);
    },
  });
  const heartbeat = startHeartbeat({
    database,
    machine: { id: identity.id, name },
    leaseMs,
    held,
    isClaiming: () => isClaiming,
    isHeard: () => notices.isHeard(),
    onRevoked: fail,
    onLine,
    signal: stopped.signal,
  });
  heartbeat.closed.catch(fail);

  const workers = startMachineWorkers(options, `machine-${identity.id.slice(0, 8)}-${process.pid}`, held, relay);
  const sql = database.patient(stopped.signal);
  const parts: MachineParts = {
    name,
    base,
    database,
    link,
    relay,
    vendors: VENDORS.filter((vendor) => facts.vendors.includes(vendor)),
    fingerprints: facts.fingerprints,
    events: createEventWriter(sql, `${identity.id} ${process.pid} ${Date.now()}`),
    timestamp: () => heartbeat.timestamp(),
    folderOf: (repository) => join(folder, 'work', repository.slice(0, 16)),
    cacheOf: openRepositoryCaches(join(folder, 'cache'), childEnv),
    settings: createSettingsCache(sql),
    documentsOf: createDocumentsCache(sql),
    sandbox: sandbox.tool,
    env: childEnv,
    work: workers.work,
    cancel: workers.cancel,
  };

  let disk: { fault: string; sinceMs: number } | null = null;
  const mayClaim = (): boolean => {
    if (disk !== null && performance.now() - disk.sinceMs > DISK_LOOK_MS)
      disk = diskFault(base) === null ? null : { ...disk, sinceMs: performance.now() };
    return held.size < parallel && disk === null && link.isThere() && !drain.aborted && !stopped.signal.aborted;
  };
  /** False: there is nothing to claim, or the database is away. */
  const claimOne = async (): Promise<boolean> => {
    const token = `agentos-${randomBytes(24).toString('base64url')}`;
    isClaiming = true;
    try {
      const claim = await claimItem(database, { machine: identity.id, version, tags, token, leaseMs });
      if (claim === null) return false;
      const item = holdItem(claim, token, parts);
      held.set(item.key, item);
      const label = labelOf(item.item.workflow, item.item.id);
      onLine(`[${label}] claimed`);
      void item.done.then(({ end, fault }) => {
        held.delete(item.key);
        if (fault !== null) disk = { fault, sinceMs: performance.now() };
        onLine(`[${label}] ${end === null ? `handed back${fault === null ? '' : `: ${fault}`}` : end.status}`);
        bell.ring();
      });
      return true;
    } catch (error) {
      if (!isAway(error)) throw error;
      return false;
    } finally {
      isClaiming = false;
    }
  };

  const onDrain = (): void => {
    onLine(`draining: ${held.size} item(s) finish their step, or are handed back`);
    for (const item of held.values()) item.giveBack();
    workers.stop();
    bell.ring();
  };
  drain.addEventListener('abort', onDrain, { once: true });
  now.addEventListener('abort', workers.kill, { once: true });
  const tagged = tags.length > 0 ? `, tags ${tags.join(', ')}` : '';
  onLine(`joined as ${name} (${identity.id.slice(0, 8)}): ${parallel} item(s) at a time${tagged}`);

  try {
    while (!drain.aborted && !stopped.signal.aborted) {
      const rung = bell.rung();
      while (mayClaim() && (await claimOne()));
      await Promise.race([rung, sleep(notices.isHeard() ? IDLE_LOOK_MS : POLL_MS)]);
    }
    await Promise.all([...held.values()].map(({ done }) => done));
  } catch (error) {
    for (const item of held.values()) item.lose();
    onLine(messageOf(error));
    throw error;
  } finally {
    await leaveMachine(database, identity.id).catch(() => undefined);
    stopped.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the machine' }));
    await workers.close();
    await heartbeat.closed.catch(() => undefined);
    await notices.closed;
  }
  if (fatal !== null) throw fatal;
}
