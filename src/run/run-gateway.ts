import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import { VENDORS, type VendorName } from '../core/keys.ts';
import { keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import type { PlannedItem } from '../core/plan.ts';
import type { OnItemEvent } from '../gateway/exchange.ts';
import type { Gateway } from '../gateway/server.ts';
import { trustCertificates } from '../models/settings.ts';
import type { LearnedLimits } from '../pool/keys.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
import type { KeysFile } from './keys-file.ts';
import type { Project } from './project.ts';
import type { Recording } from './recording.ts';
import type { ItemAccess } from './run-items.ts';

interface RunGatewayOptions {
  project: Project;
  /** The models that the run uses. */
  models: readonly string[];
  /** Items that need a worker. */
  open: readonly PlannedItem[];
  recording: Pick<Recording, 'emitter' | 'itemAt'>;
  traceRequest: RunTrace['request'];
}

/** The credential pool and its server for one run. */
interface RunGateway {
  access(id: string, models: readonly string[]): ItemAccess;
  /** A call of the item waits for quota, so its silence is not idleness. */
  isWaiting(id: string): boolean;
  hasQuota(): boolean;
  close(): Promise<void>;
}

/** What the gateway's owner remembers about an item. */
interface ItemCalls {
  token: string | null;
  waiting: number;
  attempt: number;
  /** What the steps from its checkpoint had cost. */
  replayedUsd: number;
}

/** After these ends of an attempt a response may still be on its way to the gateway. */
const DIED: ReadonlySet<string> = new Set(['worker-crashed', 'item-stalled']);

/** Null: the run calls no vendor's API. */
export async function openRunGateway(options: RunGatewayOptions): Promise<RunGateway | null> {
  const { project, models, open } = options;
  const { emitter, itemAt } = options.recording;
  const { config, paths } = project;
  const vendors = vendorsOf(config, models);
  if (vendors.length === 0) return null;
  const [{ CredentialPool }, { gatewayBounds, startGateway }, { readKeysFile, writeKeysFile }] = await Promise.all([
    import('../pool/pool.ts'),
    import('../gateway/server.ts'),
    import('./keys-file.ts'),
  ]);
  const calls = new Map<string, ItemCalls>();
  const callsOf = (id: string): ItemCalls => {
    const known = calls.get(id) ?? { token: null, waiting: 0, attempt: 1, replayedUsd: 0 };
    calls.set(id, known);
    return known;
  };

  const onGateway: OnItemEvent = (item, event) => {
    const known = callsOf(item);
    if (event.type === 'quota-waiting') known.waiting += 1;
    if (event.type === 'quota-resumed') known.waiting = Math.max(0, known.waiting - 1);
    const at = itemAt(item);
    if (at !== null) emitter.item(at, event);
  };

  const pool = new CredentialPool({
    keys: config.keys,
    vendors,
    limits: config.limits,
    remembered: remembered(await readKeysFile(paths.keys)),
    clock: systemClock,
    random: Math.random,
    onEvent: (event) => emitter.run(event),
  });
  const distrust = trustCertificates(project.env);
  if (distrust !== null) emitter.run({ type: 'warning', text: distrust });
  const gateway: Gateway = await startGateway({
    pool,
    upstreams: config.endpoints,
    env: project.env,
    prices: config.prices,
    budget: config.bounds,
    clock: systemClock,
    onEvent: onGateway,
    traceRequest: options.traceRequest,
    bounds: gatewayBounds(config.bounds),
  });
  const endMs = systemClock.now() + (config.bounds.globalTimeoutMs ?? Number.POSITIVE_INFINITY);
  const deadlineOf = (): number => Math.min(systemClock.now() + config.bounds.timeoutMs, endMs);

  const countReplayed = (id: string, costUsd: number): void => {
    const known = callsOf(id);
    // A later attempt replays steps that this run has paid for and counted.
    if (known.attempt > 1) return;
    known.replayedUsd += costUsd;
    gateway.spentBefore(id, known.replayedUsd);
  };

  emitter.subscribe((event) => {
    if (!('item' in event)) return;
    const id = event.item;
    if (event.type === 'item-started') callsOf(id).attempt = event.attempt;
    if (event.type === 'step-finished' && event.replayed) countReplayed(id, event.costUsd ?? 0);
    // A retry sends its calls again, unless its worker died while a response was on its way.
    if (event.type === 'item-retrying' && !DIED.has(event.error.problem.code)) gateway.forget(id);
    if (event.type !== 'item-finished') return;
    const known = callsOf(id);
    if (known.token !== null) gateway.revoke(known.token);
    Object.assign(known, { token: null, waiting: 0 });
    gateway.forget(id);
  });
  const resumed = open.filter((item) => item.state === 'resumed');
  if (resumed.length > 0) {
    // What earlier runs paid counts towards the item's limit, not the run's.
    const { readPastCosts } = await import('./history/past-costs.ts');
    const past = await readPastCosts(paths, config.prices);
    for (const { id } of resumed) gateway.spentBefore(id, past.paidUsd(id));
  }

  return {
    access(id, used) {
      const known = callsOf(id);
      const token = known.token ?? gateway.issueToken({ item: id, models: [...used], deadlineMs: deadlineOf() });
      known.token = token;
      return { token, endpoints: Object.fromEntries(vendors.map((vendor) => [vendor, gateway.endpointOf(vendor)])) };
    },
    isWaiting: (id) => callsOf(id).waiting > 0,
    hasQuota: () => pool.hasQuota(),
    async close() {
      await gateway.close();
      // A full disk must not keep the run from ending.
      await writeKeysFile(paths.keys, pool.view()).catch(() => undefined);
    },
  };
}

/** Only limits are remembered: whether a key works and has quota, the vendor says. */
function remembered(file: KeysFile | null): ReadonlyMap<string, LearnedLimits> {
  return new Map(file?.keys.map(({ id, limits }) => [id, limits]));
}

function vendorsOf({ keys, ownLogins }: Config, models: readonly string[]): VendorName[] {
  const specs = models.map(parseModelSpec);
  const used = new Set(specs.map((spec) => keyVendorOf(spec, ownLogins)));
  // An ACP agent may call any vendor that there is a key for.
  const any = specs.some((spec) => spec.provider === 'acp' && !ownLogins.includes('acp'));
  return VENDORS.filter((vendor) => used.has(vendor) || (any && keys.some((key) => key.vendor === vendor)));
}
