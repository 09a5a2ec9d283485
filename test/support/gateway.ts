import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { AgentosError, ErrorRecord } from '../../src/core/errors.ts';
import type { GatewayCalled, ItemEvent } from '../../src/core/events.ts';
import type { VendorSpec } from '../../src/core/model-spec.ts';
import type { BudgetLimits } from '../../src/core/money.ts';
import { Secret } from '../../src/core/secret.ts';
import { type Gateway, type GatewayBounds, type GatewayOptions, startGateway } from '../../src/gateway/server.ts';
import { createKeyRota, type KeyRota } from './key-rota.ts';
import { startVendor, type Vendor, type VendorOptions } from './vendor/index.ts';

interface Setting {
  vendor?: VendorOptions;
  keys?: string[];
  refuse?: AgentosError;
  /** Refusals go to the caller as they come. */
  passes?: boolean;
  bounds?: Partial<GatewayBounds>;
  budget?: Partial<BudgetLimits>;
  prices?: GatewayOptions['prices'];
  /** Instead of the loopback vendor's. */
  upstream?: string;
}

type HeardEvent = ItemEvent & { item: string };

export interface GatewayUnderTest {
  vendor: Vendor;
  pool: KeyRota;
  gateway: Gateway;
  token: string;
  events: HeardEvent[];
  /** Resolves when n calls have ended. */
  calls: (n: number) => Promise<GatewayCalled[]>;
}

export const REAL_KEY = 'sk-real-0123456789abcdef';

/** A gateway before a loopback vendor, with one key unless said otherwise; all closed when the test ends. */
export async function openGateway(setting: Setting = {}): Promise<GatewayUnderTest> {
  const keys = setting.keys ?? [REAL_KEY];
  const vendor = await startVendor({ keys, ...setting.vendor });
  const { refuse, passes = false } = setting;
  const pool = createKeyRota(keys, { passes, ...(refuse === undefined ? {} : { refuse }) });
  const events: HeardEvent[] = [];
  const watchers = new Set<() => void>();
  const upstream = setting.upstream ?? vendor.url;
  const gateway = await startGateway({
    pool,
    upstreams: { anthropic: upstream, google: upstream, openai: upstream, 'openai-compatible': `${upstream}/v1` },
    prices: setting.prices ?? {},
    budget: { maxCostUsd: null, maxCostPerItemUsd: null, ...setting.budget },
    clock: systemClock,
    bounds: setting.bounds ?? {},
    onEvent(item, event) {
      events.push({ item, ...event });
      for (const look of watchers) look();
    },
  });
  onTestFinished(async () => {
    await gateway.close();
    await vendor.close();
  });
  const calls = (n: number): Promise<GatewayCalled[]> =>
    new Promise((resolve) => {
      const look = (): void => {
        const ended = events.filter((event) => event.type === 'gateway-call');
        if (ended.length < n) return;
        watchers.delete(look);
        resolve(ended);
      };
      watchers.add(look);
      look();
    });
  return { vendor, pool, gateway, token: gateway.issueToken({ item: '7' }), events, calls };
}

/** What our own provider reads to tell a pause from a failure. */
export function errorRecordOf(response: Response): ErrorRecord | null {
  const header = response.headers.get('x-agentos-error');
  return header === null ? null : (JSON.parse(header) as ErrorRecord);
}

/** Resolves when it holds; looks again on every turn of the event loop, so a test that never gets there times out. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** For a model of this spec: a gateway before the vendor that passes on whatever the vendor refuses. */
export async function throughGateway(vendor: Vendor, { provider }: VendorSpec, key = REAL_KEY) {
  const { gateway, token } = await openGateway({ keys: [key], upstream: vendor.url, passes: true });
  /** As before a further attempt: kept answers are asked for again. */
  const forget = (): void => gateway.forget('7');
  return { token: new Secret(token), endpoint: gateway.endpointOf(provider), forget };
}
