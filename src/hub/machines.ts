import { randomBytes, randomUUID } from 'node:crypto';
import { AgentosError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import { hashOfToken } from './certificate.ts';
import type { Database, Session, Sql } from './database.ts';
import { keptSecret } from './secret-file.ts';

/** The tag of machines with a sandbox, for items that must not run without one. */
export const SANDBOX_TAG = 'sandbox';

/** A machine's id is public; its token is known to the machine and the hub. */
export interface MachineIdentity {
  id: string;
  token: string;
}

/** Reads the identity, and creates it at the first call. */
export async function machineIdentity(file: string): Promise<MachineIdentity> {
  const text = await keptSecret(file, () => `${randomUUID()} ${randomBytes(24).toString('base64url')}`);
  const [id = '', token = ''] = text.split(' ');
  return { id, token };
}

interface JoiningMachine extends MachineIdentity {
  name: string;
  tags: readonly string[];
  parallel: number;
  version: string;
}

/** Registers the machine, or updates its entry. Returns the number of its session lock. */
export async function joinMachine(
  sql: Sql,
  { id, token, name, tags, parallel, version }: JoiningMachine,
): Promise<number> {
  const [row] = await sql.rows<{ number: number }>(
    `INSERT INTO agentos.machines AS m (id, name, token_hash, tags, parallel, version, joined_at, seen_at)
      VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, token_hash = excluded.token_hash, tags = excluded.tags,
        parallel = excluded.parallel, version = excluded.version, seen_at = excluded.seen_at, left_at = NULL
        WHERE m.revoked_at IS NULL
      RETURNING number`,
    [id, name, hashOfToken(token), tags, parallel, version],
  );
  if (row === undefined) throw new AgentosError({ code: 'machine-revoked', machine: name });
  return row.number;
}

export async function leaveMachine(sql: Sql, id: string): Promise<void> {
  await sql.rows('UPDATE agentos.machines SET left_at = clock_timestamp(), has_session = false WHERE id = $1', [id]);
}

/** The first half of the key of a session lock; the second half is the machine's number. */
export const SESSION_LOCKS = 0x6167_6d63;

/**
 * Holds a lock that ends with the connection, so that the hub notices a dead process. Returns false behind a transaction pooler, where
 * the connection serves others between two statements and the lock means nothing.
 */
export async function holdSession(session: Session, id: string, number: number): Promise<boolean> {
  const [first] = await session.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await session.rows('SELECT pg_try_advisory_lock_shared($1, $2)', [SESSION_LOCKS, number]);
  const [held] = await session.rows<{ pid: number; held: boolean }>(
    `SELECT pg_backend_pid() AS pid, EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
      AND classid = $1 AND objid = $2 AND pid = pg_backend_pid()) AS held`,
    [SESSION_LOCKS, number],
  );
  const isHeld = held?.held === true && held.pid === first?.pid;
  await session.rows('UPDATE agentos.machines SET has_session = $2 WHERE id = $1', [id, isHeld]);
  return isHeld;
}

export interface MachineView {
  id: string;
  name: string;
  state: 'working' | 'silent' | 'left' | 'revoked' | 'submitter';
  tags: string[];
  parallel: number;
  running: number;
  version: string;
  joinedAt: string;
  seenAt: string;
}

export async function listMachines(sql: Sql, leaseMs: number): Promise<MachineView[]> {
  return sql.rows<MachineView>(
    `SELECT m.id, m.name, m.tags, m.parallel, m.version,
        CASE WHEN m.revoked_at IS NOT NULL THEN 'revoked' WHEN m.parallel = 0 THEN 'submitter'
          WHEN m.left_at IS NOT NULL THEN 'left'
          WHEN m.seen_at < clock_timestamp() - $1 * interval '1 millisecond' THEN 'silent' ELSE 'working' END AS state,
        (SELECT count(*) FROM agentos.items i WHERE i.machine = m.id AND i.state = 'running') AS running,
        to_char(m.joined_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "joinedAt",
        to_char(m.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "seenAt"
      FROM agentos.machines m ORDER BY m.joined_at`,
    [leaseMs],
  );
}

/** Revokes a machine by its name, its id or the beginning of its id. Its items are ready for others at once. */
export async function revokeMachine(database: Database, which: string): Promise<{ name: string; items: number }> {
  const known = await database.rows<{ id: string; name: string }>('SELECT id, name FROM agentos.machines');
  const found = known.filter(
    ({ id, name }) => id === which || name === which || (which.length >= 6 && id.startsWith(which)),
  );
  const [machine] = found;
  if (machine === undefined)
    throw new AgentosError({
      code: 'machine-missing',
      machine: which,
      near: nearest(
        which,
        known.map(({ name }) => name),
      ),
    });
  if (found.length > 1) {
    const hint = `Name one by its id: ${found.map(({ id }) => id).join(', ')}`;
    throw new AgentosError({ code: 'usage', reason: `${found.length} machines are called ${which}.`, hint });
  }
  const items = await database.transaction(async (sql) => {
    await sql.rows('UPDATE agentos.machines SET revoked_at = clock_timestamp() WHERE id = $1', [machine.id]);
    const released = await sql.rows(
      `UPDATE agentos.items SET state = 'ready', machine = NULL, token_hash = NULL, fence = fence + 1
        WHERE machine = $1 AND state = 'running' RETURNING id`,
      [machine.id],
    );
    await sql.rows(`SELECT pg_notify('agentos_ready', ''), pg_notify('agentos_machine', $1)`, [machine.id]);
    return released.length;
  });
  return { name: machine.name, items };
}
