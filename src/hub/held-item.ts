import { readFile } from 'node:fs/promises';
import type { CoordinatedEnd, CoordinatedItem } from '../coordinator/coordinator.ts';
import type { Config } from '../core/config.ts';
import { AgentosError, type ErrorRecord, isDiskReason } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import { type Item, type ItemEnd, itemOfKey } from '../core/item.ts';
import type { VendorName } from '../core/keys.ts';
import type { Fingerprint } from '../core/mask.ts';
import { shownPath } from '../core/paths.ts';
import { messageOf } from '../core/wording.ts';
import type { StepStore } from '../journal/port.ts';
import { postgresSteps } from '../journal/postgres.ts';
import { diskFault } from '../process/files.ts';
import type { SandboxTool } from '../process/sandbox/sandbox.ts';
import { type Claim, endItem, handBack } from './backlog.ts';
import type { Database } from './database.ts';
import type { HubLink } from './hub-link.ts';
import type { EventWriter } from './item-events.ts';
import { type Place, preparePlace } from './place.ts';
import type { Relay } from './relay.ts';
import type { RepositoryCache } from './repository-cache.ts';
import type { createDocumentsCache } from './run-documents.ts';
import type { RunSettings, SettingsCache } from './run-settings.ts';
import { FORGET_PATH } from './server.ts';

/** The parts of a machine that all its items share. */
export interface MachineParts {
  /** The machine's name, for messages. */
  name: string;
  /** The machine's state folder. */
  base: string;
  database: Database;
  link: HubLink;
  relay: Pick<Relay, 'url' | 'gitHeader'>;
  vendors: readonly VendorName[];
  fingerprints: readonly Fingerprint[];
  events: EventWriter;
  /** The time now by the database's clock. */
  timestamp: () => string;
  /** The folder for everything that the machine keeps of a repository. */
  folderOf: (repository: string) => string;
  cacheOf: (repository: string) => RepositoryCache;
  settings: SettingsCache;
  documentsOf: ReturnType<typeof createDocumentsCache>;
  /** Null: this machine has no sandbox. */
  sandbox: SandboxTool | null;
  env: Record<string, string>;
  /** Adds the item to the coordinator; resolves with the item's end. */
  work: (item: CoordinatedItem) => Promise<CoordinatedEnd>;
  /** Ends an item early. */
  cancel: (id: string, reason: AgentosError) => void;
}

/** An item that this machine holds, from its claim to its end. */
export interface HeldItem {
  /** Names this claim of the item: a later claim of the same item has another one. */
  readonly key: string;
  readonly claim: Claim;
  readonly item: Item;
  readonly token: string;
  /** How the item ended. A `fault` of this machine makes it hand the item back. */
  readonly done: Promise<{ end: ItemEnd | null; fault: string | null }>;
  onEvent(event: ItemEvent): void;
  /** The claim is over: stops the worker and writes nothing more. */
  lose(): void;
  /** Hands the item back once its step has ended. */
  giveBack(): void;
  /** The submitter, or the hub, wants it stopped. */
  cancel(reason: ErrorRecord): void;
}

/** After these failures the hub may still have the answer of the call in flight. */
const KEEPS_ANSWERS: ReadonlySet<string> = new Set([
  'worker-crashed',
  'item-stalled',
  'provider-unreachable',
  'database-unreachable',
]);

export function holdItem(claim: Claim, token: string, parts: MachineParts): HeldItem {
  const { database, events, link, timestamp } = parts;
  const item = itemOfKey(claim.key);
  if (item === null) throw new TypeError(`${claim.key} is no key of an item`);
  const key = `${claim.key}#${claim.id}.${claim.fence}`;
  const lost = new AbortController();
  const { signal } = lost;
  let givenBack = false;

  const note = (event: ItemEvent): void => {
    if (!signal.aborted) events.add(claim.id, claim.fence, { at: timestamp(), ...event });
  };

  const perform = async (): Promise<{ end: ItemEnd | null; fault: string | null }> => {
    const settings = await parts.settings.of(claim.run);
    const stage = settings.stages[claim.stage];
    if (stage === undefined) throw new TypeError(`the run ${claim.run} has no stage ${claim.stage}`);
    const place = await placeFor(claim, item, token, settings, parts, signal);
    try {
      const { bounds } = settings;
      const { id: _, ...end } = await parts.work({
        id: key,
        task: { builtIn: item.workflow },
        checkpoint: withStates(
          postgresSteps(database.patient(signal), { ...claim, claim: { item: claim.id, fence: claim.fence } }),
          place,
        ),
        bounds: { ...bounds, timeoutMs: Math.max(1_000, bounds.timeoutMs - claim.usedMs) },
        input: {
          ...stage.input,
          ...claim.input[item.workflow],
          // Hashed before any program of the item runs, which could change the file.
          ...(item.workflow === 'implement' ? { digest: await digestOf(place.paths.lld(item.id)) } : {}),
          id: item.id,
          runId: claim.run,
          repository: place.paths.repository,
          base: place.paths.base,
          sandbox: sandboxModeOf(stage.input) === 'off' ? null : parts.sandbox,
          // Holds the machine's token and files of other repositories.
          hidden: [parts.base],
          token,
          endpoints: Object.fromEntries(parts.vendors.map((vendor) => [vendor, `${parts.relay.url}/${vendor}`])),
          fingerprints: parts.fingerprints,
        },
      });
      if (signal.aborted) return { end: null, fault: null };
      const fault = end.error === null ? null : faultOf(place, end.error);
      if (fault !== null || (givenBack && end.status === 'cancelled')) {
        if (fault !== null) note({ type: 'notice', text: `handed back by ${parts.name}: ${fault}` });
        await events.flush();
        await handBack(database.patient(signal), claim, fault !== null);
        return { end: null, fault };
      }
      return { end: await finish(place, end), fault: null };
    } finally {
      await place.remove();
    }
  };

  const finish = async (place: Place, end: ItemEnd): Promise<ItemEnd> => {
    const shown = { ...end, outputs: end.outputs.map((path) => shownPath(place.paths.repository, path)) };
    const result = await place.collect();
    await events.flush();
    const isStored = await endItem(database.patient(signal), claim, { end: shown, at: timestamp(), result });
    if (!isStored) throw new AgentosError({ code: 'lease-lost' });
    return shown;
  };

  const done = perform().catch(async (error: unknown) => {
    if (signal.aborted) return { end: null, fault: null };
    // The repository could not be prepared, or the result not be pushed: another machine may succeed.
    const fault = diskFault(parts.base) ?? messageOf(error);
    note({ type: 'notice', text: `handed back by ${parts.name}: ${fault}` });
    await events.flush().catch(() => undefined);
    await handBack(database.patient(signal), claim, true).catch(() => undefined);
    return { end: null, fault };
  });

  return {
    key,
    claim,
    item,
    token,
    done,
    onEvent(event) {
      if (event.type === 'item-finished') return;
      note(event);
      // The retry makes a new call, unless the answer to the old one may still arrive.
      if (event.type === 'item-retrying' && !KEEPS_ANSWERS.has(event.error.problem.code))
        void forget(link, token).catch(() => undefined);
    },
    lose() {
      lost.abort(new AgentosError({ code: 'lease-lost' }));
      parts.cancel(key, new AgentosError({ code: 'lease-lost' }));
    },
    giveBack() {
      givenBack = true;
    },
    cancel: ({ problem, retry }) => parts.cancel(key, new AgentosError(problem, { retry })),
  };
}

async function digestOf(file: string): Promise<string> {
  return sha256(await readFile(file, 'utf8').catch(() => ''));
}

/** The mode in the submitter's configuration. */
function sandboxModeOf(input: object): string {
  return (input as { config: Pick<Config, 'sandbox'> }).config.sandbox.mode;
}

async function placeFor(
  claim: Claim,
  item: Item,
  token: string,
  settings: RunSettings,
  parts: MachineParts,
  signal: AbortSignal,
): Promise<Place> {
  const { repository, run, documents, done, isResumed } = claim;
  const remote = { relay: parts.relay, token, link: parts.link, signal };
  const cache = parts.cacheOf(repository);
  await cache.fetchRun(remote, { run, base: settings.base, documents });
  return preparePlace({
    folder: parts.folderOf(repository),
    repository,
    item,
    run,
    settings,
    documents: await parts.documentsOf(run, { base: settings.base, documents }, cache).filesFor(item),
    done,
    isResumed,
    cache,
    remote,
    env: parts.env,
  });
}

/** Pushes states of the worktree to the hub before it stores the step that names them. */
function withStates(store: StepStore, place: Place): StepStore {
  return {
    ...store,
    async put(step) {
      if (step.end !== null) await place.pushStates();
      await store.put(step);
    },
  };
}

/** The fault of this machine's disk, if the item failed because of it. */
function faultOf({ paths }: Place, { problem }: ErrorRecord): string | null {
  const reason = 'reason' in problem && typeof problem.reason === 'string' ? problem.reason : '';
  if (isDiskReason(reason)) return reason;
  return diskFault(paths.base) ?? diskFault(paths.work) ?? (problem.code === 'journal-full' ? 'ENOSPC' : null);
}

async function forget(link: HubLink, token: string): Promise<void> {
  const response = await link.ask({ method: 'POST', path: FORGET_PATH, headers: { authorization: `Bearer ${token}` } });
  response.resume();
}
