import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import type { ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import { VENDORS, type VendorName } from '../core/keys.ts';
import { keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import { itemEvent, keysFor, poolEvent } from '../gateway/events.ts';
import { type GatewayEvent, noteCall, type TraceRequest } from '../gateway/exchange.ts';
import type { Gateway } from '../gateway/server.ts';
import { trustCertificates } from '../models/vendor-agents.ts';
import type { LearnedLimits, Pool, PoolEvent } from '../pool/port.ts';
import type { KeysFile } from './keys-file.ts';
import type { Cast } from './pipeline.ts';
import type { Project } from './project.ts';

interface RunGatewayOptions {
  project: Project;
  /** Who takes part in the run. */
  casts: readonly Cast[];
  emitRun: (event: RunEvent) => void;
  emitItem: (id: string, event: ItemEvent) => void;
  traceRequest: TraceRequest;
}

/** What a worker may know: where to ask and its own token, never a key. */
export interface ItemAccess {
  token: string;
  endpoints: Partial<Record<VendorName, string>>;
}

/** The credential pool and its server for one run. */
interface RunGateway {
  /** For the models of this cast. */
  access(id: string, cast: Cast): ItemAccess;
  /** The item's requests wait for quota: silence is not idleness. */
  isWaiting(id: string): boolean;
  /** Every vendor that the run needs has something left, and no call waits for it: one more worker would only wait too. */
  hasQuota(): boolean;
  /** What earlier runs paid for an item that is resumed; it counts for the item, not for the run. */
  addEarlier(id: string, paidUsd: number): void;
  /** Follows the items: what they take from their checkpoints was paid for too, and at their end tokens are revoked. */
  subscriber: Subscriber;
  close(): Promise<void>;
}

/** Ends of an attempt after which an answer may still be on its way to the gateway. */
const DIED: ReadonlySet<string> = new Set(['worker-crashed', 'item-stalled']);

/** Silence before headers and between keep-alives must be well inside what the callers' own watch allows. */
const LONGEST_SILENCE_MS = 10_000;

/** Null where no role is played by a vendor's model: then there is nothing to pass on. */
export async function openRunGateway(options: RunGatewayOptions): Promise<RunGateway | null> {
  const { project, casts, emitRun, emitItem } = options;
  const { config, paths } = project;
  const vendors = vendorsOf(config, casts);
  if (vendors.length === 0) return null;
  const [{ createCredentialPool }, { startGateway }, { readKeysFile, writeKeysFile }] = await Promise.all([
    import('../pool/pool.ts'),
    import('../gateway/server.ts'),
    import('./keys-file.ts'),
  ]);
  const exhausted = new Set<VendorName>();
  const waiting = new Map<string, number>();
  const tokens = new Map<string, string>();
  /** Of what earlier runs paid, what no step from the checkpoint has accounted for yet. */
  const earlier = new Map<string, number>();
  const attempts = new Map<string, number>();

  const onPool = (event: PoolEvent): void => {
    if (event.type === 'exhausted') exhausted.add(event.vendor);
    if (event.type === 'resumed') exhausted.delete(event.vendor);
    emitRun(poolEvent(event));
  };
  const onGateway = (event: GatewayEvent): void => {
    const { item } = event;
    const change = event.type === 'gateway-waiting' ? 1 : event.type === 'gateway-resumed' ? -1 : 0;
    if (change !== 0) waiting.set(item, Math.max(0, (waiting.get(item) ?? 0) + change));
    const told = itemEvent(event);
    if (told !== null) emitItem(item, told);
    if (event.type === 'gateway-call') noteCall(event);
  };

  const pool: Pool = createCredentialPool({
    keys: keysFor(config.keys, vendors),
    limits: config.limits,
    remembered: remembered(await readKeysFile(paths.keys)),
    clock: systemClock,
    random: Math.random,
    onEvent: onPool,
    longestWaitMs: config.bounds.maxQuotaWaitMs,
  });
  const distrust = trustCertificates(project.env);
  if (distrust !== null) emitRun({ type: 'warning', text: distrust });
  const silenceMs = Math.max(50, Math.min(LONGEST_SILENCE_MS, config.bounds.idleTimeoutMs / 3));
  const gateway: Gateway = await startGateway({
    pool,
    upstreams: config.endpoints,
    env: project.env,
    prices: config.prices,
    budget: config.bounds,
    clock: systemClock,
    onEvent: onGateway,
    traceRequest: options.traceRequest,
    bounds: {
      earlyHeadersMs: silenceMs,
      keepAliveMs: silenceMs,
      idleMs: config.bounds.idleTimeoutMs,
      maxWaitMs: config.bounds.maxQuotaWaitMs,
    },
  });
  const deadlineOf = (): number =>
    systemClock.now() + Math.min(config.bounds.timeoutMs, config.bounds.globalTimeoutMs ?? config.bounds.timeoutMs);

  const countReplayed = (id: string, costUsd: number): void => {
    // What a later attempt takes from the checkpoint was paid in this run, and counted then.
    if ((attempts.get(id) ?? 1) > 1) return;
    const counted = earlier.get(id) ?? 0;
    earlier.set(id, Math.max(0, counted - costUsd));
    gateway.addSpent(id, Math.max(0, costUsd - counted));
  };

  return {
    access(id, cast) {
      const models = cast.roles.map((role) => cast.config.models[role]);
      const token = tokens.get(id) ?? gateway.issueToken({ item: id, models, deadlineMs: deadlineOf() });
      tokens.set(id, token);
      return { token, endpoints: Object.fromEntries(vendors.map((vendor) => [vendor, gateway.endpointOf(vendor)])) };
    },
    isWaiting: (id) => (waiting.get(id) ?? 0) > 0,
    hasQuota: () => exhausted.size === 0 && vendors.every((vendor) => pool.counts(vendor).waiting === 0),
    addEarlier(id, paidUsd) {
      gateway.addSpent(id, paidUsd);
      earlier.set(id, paidUsd);
    },
    subscriber(event) {
      if (!('item' in event)) return;
      const id = event.item;
      if (event.type === 'item-started') attempts.set(id, event.attempt);
      if (event.type === 'step-finished' && event.replayed) countReplayed(id, event.costUsd ?? 0);
      // A retry asks again, unless its worker died with the answer on its way.
      if (event.type === 'item-retrying' && !DIED.has(event.error.problem.code)) gateway.forget(id);
      if (event.type !== 'item-finished') return;
      const token = tokens.get(id);
      if (token !== undefined) gateway.revoke(token);
      tokens.delete(id);
      waiting.delete(id);
      gateway.forget(id);
    },
    async close() {
      await gateway.close();
      // A full disk must not cost the run its end.
      await writeKeysFile(paths.keys, pool.view()).catch(() => undefined);
    },
  };
}

/** Limits only: whether a key works or has quota again is for the vendor to say. */
function remembered(file: KeysFile | null): ReadonlyMap<string, LearnedLimits> {
  return new Map(file?.keys.map(({ id, limits }) => [id, limits]));
}

function vendorsOf({ keys, ownLogins }: Config, casts: readonly Cast[]): VendorName[] {
  const specs = casts.flatMap(({ config, roles }) => roles.map((role) => parseModelSpec(config.models[role])));
  const used = new Set(specs.map((spec) => keyVendorOf(spec, ownLogins)));
  // What it speaks is not known: it may use whatever there is a key for.
  const any = specs.some((spec) => spec.provider === 'acp' && !ownLogins.includes('acp'));
  return VENDORS.filter((vendor) => used.has(vendor) || (any && keys.some((key) => key.vendor === vendor)));
}
