import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import type { RunEvent } from '../core/events.ts';
import { VENDORS, type VendorName } from '../core/keys.ts';
import type { OnItemEvent } from '../gateway/exchange.ts';
import { createGateway, type GatewayCore, gatewayBounds } from '../gateway/server.ts';
import type { KeyView, LearnedLimits } from '../pool/keys.ts';
import { CredentialPool } from '../pool/pool.ts';
import type { Sql } from './database.ts';
import type { EventWriter } from './item-events.ts';
import { type RunSettings, readSettings } from './run-settings.ts';

interface RunGatewaysOptions {
  sql: Sql;
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  /** Limits that an earlier hub learned, by key. */
  remembered: ReadonlyMap<string, LearnedLimits>;
  events: EventWriter;
  /** The time now by the database's clock. */
  timestamp: () => string;
  onPool: (event: RunEvent) => void;
}

interface RunGateway {
  gateway: GatewayCore;
  settings: RunSettings;
}

/** One gateway per run, all over one pool. */
export interface RunGateways {
  /** Created at the run's first call. */
  of(run: string): Promise<RunGateway>;
  /** Drops the item's recorded answer. */
  forget(run: string, item: number): void;
  /** Vendors that the hub has a key for. */
  readonly vendors: readonly VendorName[];
  /** A vendor is out of quota: machines should start nothing new. */
  isExhausted(): boolean;
  keys(): KeyView[];
  /** The run has ended. */
  drop(run: string): void;
  close(): Promise<void>;
}

export function createRunGateways(options: RunGatewaysOptions): RunGateways {
  const { sql, config, env, remembered, events, timestamp, onPool } = options;
  const hasServer = config.endpoints['openai-compatible'] !== undefined;
  const vendors = VENDORS.filter(
    (vendor) => config.keys.some((key) => key.vendor === vendor) || (vendor === 'openai-compatible' && hasServer),
  );
  const pool = new CredentialPool({
    keys: config.keys,
    vendors,
    limits: config.limits,
    remembered,
    clock: systemClock,
    random: Math.random,
    onEvent: onPool,
  });
  const gateways = new Map<string, Promise<RunGateway>>();

  const onGateway: OnItemEvent = (id, event) => {
    const item = Number(id);
    events.add(item, null, { at: timestamp(), ...event });
    // A restarted hub enforces the budgets by this sum. An outage of the database may lose a little of it.
    if (event.type === 'gateway-call' && event.costUsd !== null && event.costUsd > 0)
      sql
        .rows('UPDATE agentos.items SET spent_usd = spent_usd + $2 WHERE id = $1', [item, event.costUsd])
        .catch(() => undefined);
  };

  const open = async (run: string): Promise<RunGateway> => {
    const settings = await readSettings(sql, run);
    const { bounds, prices } = settings;
    const gateway = createGateway({
      pool,
      upstreams: config.endpoints,
      env,
      prices,
      budget: bounds,
      clock: systemClock,
      onEvent: onGateway,
      bounds: gatewayBounds(bounds),
    });
    const items = await sql.rows<{ id: number; paid: number; spent: number }>(
      'SELECT id, paid_usd AS paid, spent_usd AS spent FROM agentos.items WHERE run = $1 AND paid_usd + spent_usd > 0',
      [run],
    );
    for (const { id, paid, spent } of items) {
      gateway.spentBefore(String(id), paid + spent);
      gateway.spentByRun(spent);
    }
    return { gateway, settings };
  };

  return {
    vendors,
    of(run) {
      const opened = gateways.get(run) ?? open(run);
      gateways.set(run, opened);
      opened.catch(() => gateways.delete(run));
      return opened;
    },
    forget: (run, item) => void gateways.get(run)?.then(({ gateway }) => gateway.forget(String(item))),
    isExhausted: () => !pool.hasQuota(),
    keys: () => pool.view(),
    drop(run) {
      const gateway = gateways.get(run);
      gateways.delete(run);
      void gateway?.then((it) => it.gateway.close());
    },
    async close() {
      await Promise.all([...gateways.values()].map(async (opened) => (await opened).gateway.close()));
    },
  };
}
