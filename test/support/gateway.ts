import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { AgentosError, ErrorRecord } from '../../src/core/errors.ts';
import type { BudgetLimits } from '../../src/core/money.ts';
import type { GatewayCall, GatewayEvent } from '../../src/gateway/exchange.ts';
import { type Gateway, type GatewayBounds, type GatewayOptions, startGateway } from '../../src/gateway/server.ts';
import { createKeyRota, type KeyRota } from './key-rota.ts';
import { startVendor, type Vendor, type VendorOptions } from './vendor/index.ts';

interface Setting {
  vendor?: VendorOptions;
  keys?: string[];
  refuse?: AgentosError;
  bounds?: Partial<GatewayBounds>;
  budget?: Partial<BudgetLimits>;
  prices?: GatewayOptions['prices'];
  /** Instead of the loopback vendor's. */
  upstream?: string;
}

export interface GatewayUnderTest {
  vendor: Vendor;
  pool: KeyRota;
  gateway: Gateway;
  token: string;
  events: GatewayEvent[];
  /** Resolves when n calls have ended. */
  calls: (n: number) => Promise<GatewayCall[]>;
}

export const REAL_KEY = 'sk-real-0123456789abcdef';

/** A gateway before a loopback vendor, with one key unless said otherwise; all closed when the test ends. */
export async function openGateway(setting: Setting = {}): Promise<GatewayUnderTest> {
  const keys = setting.keys ?? [REAL_KEY];
  const vendor = await startVendor({ keys, ...setting.vendor });
  const pool = createKeyRota(keys, setting.refuse === undefined ? {} : { refuse: setting.refuse });
  const events: GatewayEvent[] = [];
  const watchers = new Set<() => void>();
  const upstream = setting.upstream ?? vendor.url;
  const gateway = await startGateway({
    pool,
    upstreams: { anthropic: upstream, google: upstream, openai: upstream, 'openai-compatible': `${upstream}/v1` },
    prices: setting.prices ?? {},
    budget: { maxCostUsd: null, maxCostPerItemUsd: null, ...setting.budget },
    clock: systemClock,
    bounds: setting.bounds ?? {},
    onEvent(event) {
      events.push(event);
      for (const look of watchers) look();
    },
  });
  onTestFinished(async () => {
    await gateway.close();
    await vendor.close();
  });
  const calls = (n: number): Promise<GatewayCall[]> =>
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
