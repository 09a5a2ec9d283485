import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import { VENDORS, type VendorName } from '../core/keys.ts';
import { keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import type { PlannedItem } from '../core/plan.ts';
import { trustCertificates } from '../models/settings.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
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

/** The credential pool and its server for one run. Null: the run calls no vendor's API. */
export async function openRunGateway(options: RunGatewayOptions) {
  const { project, models, open, traceRequest } = options;
  const { emitter, itemAt } = options.recording;
  const { config, paths, env } = project;
  const { bounds, prices } = config;
  const clock = systemClock;
  const vendors = vendorsOf(config, models);
  if (vendors.length === 0) return null;
  const [{ CredentialPool }, { gatewayBounds, startGateway }, { limitsIn, readKeysFile, writeKeysFile }] =
    await Promise.all([import('../pool/pool.ts'), import('../gateway/server.ts'), import('./keys-file.ts')]);
  const calls = new Map<string, ItemCalls>();
  const callsOf = (id: string): ItemCalls => {
    const known = calls.get(id) ?? { token: null, waiting: 0, attempt: 1, replayedUsd: 0 };
    calls.set(id, known);
    return known;
  };

  const pool = new CredentialPool({
    keys: config.keys,
    vendors,
    limits: config.limits,
    remembered: limitsIn(await readKeysFile(paths.keys)),
    clock,
    random: Math.random,
    onEvent: (event) => emitter.run(event),
  });
  const distrust = trustCertificates(env);
  if (distrust !== null) emitter.run({ type: 'warning', text: distrust });
  const gateway = await startGateway({
    pool,
    upstreams: config.endpoints,
    env,
    prices,
    budget: bounds,
    clock,
    onEvent(id, event) {
      const known = callsOf(id);
      if (event.type === 'quota-waiting') known.waiting += 1;
      if (event.type === 'quota-resumed') known.waiting = Math.max(0, known.waiting - 1);
      const item = itemAt(id);
      if (item !== null) emitter.item(item, event);
    },
    traceRequest,
    bounds: gatewayBounds(bounds),
  });
  const endMs = clock.now() + (bounds.globalTimeoutMs ?? Number.POSITIVE_INFINITY);

  emitter.subscribe((event) => {
    if (!('item' in event)) return;
    const id = event.item;
    const known = callsOf(id);
    if (event.type === 'item-started') known.attempt = event.attempt;
    // A later attempt replays steps that this run has paid for and counted.
    if (event.type === 'step-finished' && event.replayed && known.attempt === 1) {
      known.replayedUsd += event.costUsd ?? 0;
      gateway.spentBefore(id, known.replayedUsd);
    }
    // A retry sends its calls again, unless its worker died while a response was on its way.
    if (event.type === 'item-retrying' && !DIED.has(event.error.problem.code)) gateway.forget(id);
    if (event.type !== 'item-finished') return;
    if (known.token !== null) gateway.revoke(known.token);
    Object.assign(known, { token: null, waiting: 0 });
    gateway.forget(id);
  });
  const resumed = open.filter((item) => item.state === 'resumed');
  if (resumed.length > 0) {
    // What earlier runs paid counts towards the item's limit, not the run's.
    const { readPastCosts } = await import('./history/past-costs.ts');
    const past = await readPastCosts(paths, prices);
    for (const { id } of resumed) gateway.spentBefore(id, past.paidUsd(id));
  }

  return {
    access(id: string, used: readonly string[]): ItemAccess {
      const known = callsOf(id);
      const deadlineMs = Math.min(clock.now() + bounds.timeoutMs, endMs);
      const token = (known.token ??= gateway.issueToken({ item: id, models: [...used], deadlineMs }));
      return { token, endpoints: Object.fromEntries(vendors.map((vendor) => [vendor, gateway.endpointOf(vendor)])) };
    },
    /** A call of the item waits for quota, so its silence is not idleness. */
    isWaiting: (id: string): boolean => callsOf(id).waiting > 0,
    hasQuota: (): boolean => pool.hasQuota(),
    async close(): Promise<void> {
      await gateway.close();
      // A full disk must not keep the run from ending.
      await writeKeysFile(paths.keys, pool.view()).catch(() => undefined);
    },
  };
}

function vendorsOf({ keys, ownLogins }: Config, models: readonly string[]): VendorName[] {
  const specs = models.map(parseModelSpec);
  const used = new Set(specs.map((spec) => keyVendorOf(spec, ownLogins)));
  // An ACP agent may call any vendor that there is a key for.
  const any = specs.some((spec) => spec.provider === 'acp' && !ownLogins.includes('acp'));
  return VENDORS.filter((vendor) => used.has(vendor) || (any && keys.some((key) => key.vendor === vendor)));
}
