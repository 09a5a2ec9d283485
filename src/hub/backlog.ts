import type { ErrorRecord } from '../core/errors.ts';
import type { ItemEnd } from '../core/item.ts';
import { hashOfToken } from './certificate.ts';
import type { Database, Sql } from './database.ts';
import { SESSION_LOCKS } from './machines.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import type { ItemResult } from './results.ts';
import type { RunSettings } from './run-settings.ts';

/*
 * The items of all runs. An item goes
 *
 *   held ──▶ ready ──▶ running ──▶ ended
 *              ▲          │ its machine handed it back, or was lost
 *              └──────────┘
 *
 * A held item waits for another item, or for a free place in its run; the hub decides (`scheduler.ts`). Each claim raises the fence, and
 * every later statement of the machine names it, so that a former owner can't change anything.
 */

export interface SubmittedItem {
  key: string;
  /** Hash of the text that the item is made from. */
  hash: string;
  /** The first stage that the item still has to pass. */
  stage: number;
  needs: readonly string[];
  after: readonly string[];
  exclusive: readonly string[];
  /** The worker's input for this item alone, by stage. */
  input: Record<string, object>;
  /** Paid by earlier runs. */
  paidUsd: number;
}

export interface SubmittedRun {
  id: string;
  repository: string;
  /** The state folder that submitted the run. */
  checkout: string;
  token: string;
  version: string;
  settings: RunSettings;
  /** The content of run.json. */
  record: object;
}

/** Adds the run without its items. Its token then lets the submitter push what the items need. */
export async function registerRun(sql: Sql, run: SubmittedRun): Promise<void> {
  const { id, repository, checkout, token, version, settings, record } = run;
  await sql.rows(
    `INSERT INTO agentos.runs (id, repository, checkout, token_hash, version, settings, record, submitted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp()) ON CONFLICT (id) DO NOTHING`,
    [id, repository, checkout, hashOfToken(token), version, JSON.stringify(settings), JSON.stringify(record)],
  );
}

/** Where a submitted item is in the backlog. The hub refuses an item that is already under way for another text. */
export interface Placed {
  key: string;
  /** Null: refused. */
  item: number | null;
  /** The item was in the backlog already. */
  isShared: boolean;
}

/**
 * Adds the items of a run. An item that is submitted twice exists once: the second run follows the first one's.
 *
 * `documents` is the commit that was pushed. `onFresh` is called in the same transaction, with the keys of the new items.
 */
export async function submitItems(
  database: Database,
  { id, repository, checkout, settings }: SubmittedRun,
  documents: string,
  items: readonly SubmittedItem[],
  onFresh: (sql: Sql, keys: ReadonlySet<string>) => Promise<void>,
): Promise<Placed[]> {
  const isLimited = settings.parallel !== null;
  const given = items.map((item, position) => ({
    ...item,
    position,
    state: isLimited || item.after.length + item.exclusive.length > 0 ? 'held' : 'ready',
  }));
  return database.transaction(async (sql) => {
    await sql.rows(`SELECT pg_advisory_xact_lock(hashtext('agentos submit'), hashtext($1))`, [repository]);
    await sql.rows('UPDATE agentos.runs SET documents = $2 WHERE id = $1', [id, documents]);
    const placed = await sql.rows<Placed>(
      `WITH given AS (
          SELECT * FROM json_to_recordset($1) AS g(position integer, key text, hash text, stage integer, state text,
            needs text[], after text[], exclusive text[], input json, "paidUsd" double precision)),
        known AS (
          SELECT i.key, i.id, i.hash FROM agentos.items i JOIN given g ON g.key = i.key
            WHERE i.repository = $2 AND i.state <> 'ended'),
        -- Done for another checkout; this one never got the result.
        done AS (
          SELECT DISTINCT ON (i.key) i.key, i.id FROM agentos.items i JOIN given g ON g.key = i.key AND g.hash = i.hash
            WHERE i.repository = $2 AND i.state = 'ended' AND i.ending->>'status' = 'succeeded' AND i.result IS NOT NULL AND $5::boolean
              AND NOT EXISTS (SELECT 1 FROM agentos.run_items o JOIN agentos.runs r ON r.id = o.run
                WHERE o.item = i.id AND r.checkout = $4)
              AND NOT EXISTS (SELECT 1 FROM agentos.items n WHERE n.repository = i.repository AND n.key = i.key
                AND n.id > i.id)
            ORDER BY i.key, i.id DESC),
        fresh AS (
          INSERT INTO agentos.items (repository, key, hash, run, state, stage, needs, after, exclusive, input, paid_usd, since)
            SELECT $2, g.key, g.hash, $3, g.state, g.stage, g.needs, g.after, g.exclusive, g.input, g."paidUsd",
              clock_timestamp()
            FROM given g WHERE g.key NOT IN (SELECT key FROM known) AND g.key NOT IN (SELECT key FROM done)
            ORDER BY g.position
          RETURNING key, id),
        placed AS (
          SELECT key, id AS item, false AS "isShared" FROM fresh
          UNION ALL SELECT key, id, true FROM done
          UNION ALL SELECT k.key, CASE WHEN k.hash = g.hash THEN k.id END, true FROM known k JOIN given g USING (key)),
        kept AS (
          INSERT INTO agentos.run_items (run, item, position)
            SELECT $3, p.item, g.position FROM placed p JOIN given g USING (key) WHERE p.item IS NOT NULL
            ON CONFLICT DO NOTHING)
        SELECT * FROM placed`,
      [JSON.stringify(given), repository, id, checkout, settings.stages.length === 1],
    );
    await onFresh(sql, new Set(placed.filter(({ isShared }) => !isShared).map(({ key }) => key)));
    await sql.rows(`SELECT pg_notify('agentos_ready', ''), pg_notify('agentos_hub', '')`);
    return placed;
  });
}

/** An item as the machine that claimed it gets it. */
export interface Claim {
  id: number;
  repository: string;
  key: string;
  run: string;
  stage: number;
  input: Record<string, object>;
  fence: number;
  /** Time used by earlier claims. */
  usedMs: number;
  /** The commit that holds the run's documents. */
  documents: string;
  /** The journal has steps of an earlier claim. */
  isResumed: boolean;
  /** Keys of the run's finished implementations. */
  done: string[];
}

interface Claimant {
  machine: string;
  version: string;
  tags: readonly string[];
  /** The token of the new claim. */
  token: string;
  leaseMs: number;
}

/**
 * Claims the first item that this machine may take, or returns null.
 *
 * A machine claims nothing while the schema has another version. It takes items submitted by another version of the program only
 * while no machine of that version is there, because the prompts differ between versions.
 */
export async function claimItem(sql: Sql, { machine, version, tags, token, leaseMs }: Claimant): Promise<Claim | null> {
  const [claim] = await sql.rows<Claim>(
    `WITH next AS (
        SELECT i.id FROM agentos.items i JOIN agentos.runs r ON r.id = i.run
        WHERE i.state = 'ready' AND i.needs <@ $2::text[]
          AND (r.version = $6 OR NOT EXISTS (SELECT 1 FROM agentos.machines m WHERE m.version = r.version AND m.parallel > 0
            AND m.revoked_at IS NULL AND m.left_at IS NULL AND m.seen_at > clock_timestamp() - $4 * interval '1 millisecond'))
          AND EXISTS (SELECT 1 FROM agentos.machines WHERE id = $1 AND revoked_at IS NULL)
          AND (SELECT max(version) FROM agentos.migrations) = $5
          AND (NOT EXISTS (SELECT 1 FROM agentos.hub WHERE exhausted)
            OR NOT EXISTS (SELECT 1 FROM agentos.items WHERE state = 'running'))
        ORDER BY i.ahead DESC, i.id FOR UPDATE OF i SKIP LOCKED LIMIT 1),
      taken AS (
        UPDATE agentos.items i SET state = 'running', machine = $1, fence = fence + 1, token_hash = $3,
            claimed_at = clock_timestamp(), lease_until = clock_timestamp() + $4 * interval '1 millisecond'
          FROM next WHERE i.id = next.id
          RETURNING i.id, i.repository, i.key, i.run, i.stage, i.input, i.fence, i.used_ms AS "usedMs",
            (SELECT documents FROM agentos.runs r WHERE r.id = i.run) AS documents),
      fenced AS (
        UPDATE agentos.journals j SET token = token + 1 FROM taken t WHERE j.repository = t.repository AND j.key = t.key)
      SELECT *,
        EXISTS (SELECT 1 FROM agentos.journals j JOIN agentos.steps s ON s.journal = j.id
          WHERE j.repository = taken.repository AND j.key = taken.key) AS "isResumed",
        ARRAY(SELECT d.key FROM agentos.run_items o JOIN agentos.items d ON d.id = o.item
          WHERE o.run = taken.run AND d.state = 'ended' AND d.key LIKE 'implement-%' AND taken.key LIKE 'implement-%'
            AND d.ending->>'status' = 'succeeded') AS done
      FROM taken`,
    [machine, tags, hashOfToken(token), leaseMs, SCHEMA_VERSION, version],
  );
  return claim ?? null;
}

interface Renewal {
  /** The time by the database's clock. */
  nowMs: number;
  isRevoked: boolean;
  /** All items that the machine holds by the database, including claims whose answer got lost. */
  held: { id: number; fence: number; cancel: ErrorRecord | null }[];
}

/** Renews the leases of all items that the machine holds. */
export async function renewLeases(sql: Sql, machine: string, leaseMs: number): Promise<Renewal> {
  const [row] = await sql.rows<{ nowMs: number; isRevoked: boolean; held: Renewal['held'] | null }>(
    `WITH me AS (
        UPDATE agentos.machines SET seen_at = clock_timestamp() WHERE id = $1 RETURNING revoked_at IS NOT NULL AS revoked),
      renewed AS (
        UPDATE agentos.items SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
          WHERE machine = $1 AND state = 'running' RETURNING id, fence, cancel)
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs",
        coalesce((SELECT revoked FROM me), true) AS "isRevoked",
        (SELECT json_agg(json_build_object('id', id, 'fence', fence, 'cancel', cancel)) FROM renewed) AS held`,
    [machine, leaseMs],
  );
  return { nowMs: row?.nowMs ?? 0, isRevoked: row?.isRevoked ?? true, held: row?.held ?? [] };
}

type Held = Pick<Claim, 'id' | 'fence'>;

const FREED = `machine = NULL, token_hash = NULL, lease_until = NULL,
  used_ms = used_ms + greatest(0, extract(epoch FROM clock_timestamp() - claimed_at) * 1000)::bigint`;

/** Makes the item ready for another machine, which resumes after the last step. `isFault`: this machine could not work on it; that counts as lost. */
export async function handBack(sql: Sql, { id, fence }: Held, isFault = false): Promise<void> {
  await sql.rows(
    `WITH back AS (UPDATE agentos.items SET state = 'ready', ahead = true, lost = lost + $3, ${FREED}
        WHERE id = $1 AND fence = $2 AND state = 'running' RETURNING id)
      SELECT pg_notify('agentos_ready', '') FROM back`,
    [id, fence, isFault ? 1 : 0],
  );
}

interface Ending {
  end: ItemEnd;
  /** By the database's clock. */
  at: string;
  /** The files that it left. */
  result: ItemResult | null;
}

/**
 * Stores how the item ended, together with its last event, so that readers of that event find the result. Returns false if the machine no
 * longer held it. `fence` null: the hub ends an item that no machine works on.
 */
export async function endItem(
  sql: Sql,
  { id, fence }: { id: number; fence: number | null },
  { end, at, result }: Ending,
): Promise<boolean> {
  const last = JSON.stringify({ at, type: 'item-finished', ...end });
  const ended = await sql.rows(
    `WITH done AS (UPDATE agentos.items SET state = 'ended', ending = $3, result = $4, events = events + 1,
          fence = fence + CASE WHEN $2::bigint IS NULL THEN 1 ELSE 0 END, ${FREED}
        WHERE id = $1 AND (CASE WHEN $2::bigint IS NULL THEN state <> 'ended' ELSE fence = $2 AND state = 'running' END)
        RETURNING id, events, repository),
      written AS (INSERT INTO agentos.events (item, seq, writer, number, lines) SELECT id, events, 'end', events, $5 FROM done)
      SELECT pg_notify('agentos_hub', ''), pg_notify('agentos_events', repository) FROM done`,
    [id, fence, JSON.stringify(end), result && JSON.stringify(result), last],
  );
  if (ended.length > 0 || fence === null) return ended.length > 0;
  // The statement took effect before, and its answer got lost.
  const there = await sql.rows(`SELECT 1 FROM agentos.items WHERE id = $1 AND fence = $2 AND state = 'ended'`, [
    id,
    fence,
  ]);
  return there.length > 0;
}

/** A machine whose session is gone for this long is dead: reconnecting takes less. */
const GONE_AFTER_MS = 12_000;
/** An item that lost its machine this often probably kills machines. */
export const MOST_LOST = 5;

interface Expired {
  id: number;
  key: string;
  machine: string;
  lost: number;
}

/** Frees the items of machines that are gone. Items that were lost too often are returned as hopeless and stay in state running. */
export async function expireLeases(sql: Sql): Promise<{ freed: Expired[]; hopeless: (Expired & { fence: number })[] }> {
  const expired = await sql.rows<Expired & { fence: number }>(
    `SELECT i.id, i.key, i.fence, i.lost + 1 AS lost, m.name AS machine FROM agentos.items i
      JOIN agentos.machines m ON m.id = i.machine
      WHERE i.state = 'running' AND (i.lease_until < clock_timestamp()
        OR (m.has_session AND least(m.seen_at, i.lease_until) < clock_timestamp() - $1 * interval '1 millisecond'
          AND NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $2
            AND l.objid = m.number AND l.granted)))`,
    [GONE_AFTER_MS, SESSION_LOCKS],
  );
  const hopeless = expired.filter(({ lost }) => lost >= MOST_LOST);
  const ids = expired.filter(({ lost }) => lost < MOST_LOST).map(({ id }) => id);
  const freed = await sql.rows<{ id: number }>(
    `WITH freed AS (UPDATE agentos.items SET state = 'ready', ahead = true, lost = lost + 1, fence = fence + 1, ${FREED}
        WHERE id = ANY($1) AND state = 'running' RETURNING id),
      told AS (SELECT pg_notify('agentos_ready', '') FROM freed LIMIT 1)
      SELECT id FROM freed, (SELECT count(*) FROM told) AS t`,
    [ids],
  );
  const isFreed = new Set(freed.map(({ id }) => id));
  return { freed: expired.filter(({ id }) => isFreed.has(id)), hopeless };
}

/**
 * Stops the items of a run, or one of them. Items that another run still follows keep running. The hub ends waiting items at once;
 * machines stop those under way.
 */
export async function stopRun(sql: Sql, run: string, reason: ErrorRecord, key: string | null = null): Promise<void> {
  await sql.rows(
    `WITH stopped AS (UPDATE agentos.runs SET stopped = coalesce(stopped, $2) WHERE id = $1 AND $3::text IS NULL),
      asked AS (
        UPDATE agentos.items i SET cancel = $2 FROM agentos.run_items o
          WHERE o.run = $1 AND o.item = i.id AND i.state <> 'ended' AND i.key = coalesce($3, i.key) AND NOT EXISTS (
            SELECT 1 FROM agentos.run_items p JOIN agentos.runs r ON r.id = p.run
              WHERE p.item = i.id AND p.run <> $1 AND r.stopped IS NULL)
          RETURNING i.machine)
      SELECT pg_notify('agentos_machine', machine) FROM asked WHERE machine IS NOT NULL
      UNION ALL SELECT pg_notify('agentos_hub', '')`,
    [run, JSON.stringify(reason), key],
  );
}
