import { AgentosError } from '../core/errors.ts';
import type { Database, Sql } from './database.ts';

/*
 * The shared schema. A released migration is never changed; a new one is added. Migrations run in one transaction under a lock, so that two
 * machines can start at once, and a kill leaves the schema at the old version or at the new one.
 */

const FIRST = `
CREATE TABLE agentos.hub (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  addresses text[] NOT NULL,
  certificate text NOT NULL,
  fingerprint text NOT NULL,
  version text NOT NULL,
  lease_ms integer NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  -- No key has quota: nothing new is claimed while something is under way.
  exhausted boolean NOT NULL DEFAULT false,
  -- What agentos keys shows: ids, states and limits.
  keys json
);

CREATE TABLE agentos.machines (
  id text PRIMARY KEY,
  name text NOT NULL,
  -- Of its session lock.
  number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  token_hash text NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  -- 0: it only submits.
  parallel integer NOT NULL DEFAULT 0,
  -- It holds its session lock while it lives.
  has_session boolean NOT NULL DEFAULT false,
  version text NOT NULL,
  joined_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  left_at timestamptz,
  revoked_at timestamptz
);

CREATE TABLE agentos.runs (
  id text PRIMARY KEY,
  repository text NOT NULL,
  -- The state folder that it was submitted from.
  checkout text NOT NULL,
  token_hash text NOT NULL,
  version text NOT NULL,
  settings json NOT NULL,
  -- What its run.json says, for those who look at it from elsewhere.
  record json NOT NULL,
  -- The commit with the documents as they were submitted; null: they are not pushed yet.
  documents text,
  submitted_at timestamptz NOT NULL,
  -- Why nothing new of it is started.
  stopped json,
  collected_at timestamptz
);
CREATE INDEX runs_token ON agentos.runs (token_hash);

CREATE TABLE agentos.items (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repository text NOT NULL,
  key text NOT NULL,
  -- Of the text that it is made from.
  hash text NOT NULL,
  -- The run that it was first submitted by: its settings count.
  run text NOT NULL REFERENCES agentos.runs,
  state text NOT NULL CHECK (state IN ('held', 'ready', 'running', 'ended')),
  stage integer NOT NULL DEFAULT 0,
  needs text[] NOT NULL DEFAULT '{}',
  after text[] NOT NULL DEFAULT '{}',
  exclusive text[] NOT NULL DEFAULT '{}',
  ahead boolean NOT NULL DEFAULT false,
  input json NOT NULL,
  paid_usd double precision NOT NULL DEFAULT 0,
  spent_usd double precision NOT NULL DEFAULT 0,
  since timestamptz NOT NULL,
  machine text,
  fence bigint NOT NULL DEFAULT 0,
  token_hash text,
  claimed_at timestamptz,
  lease_until timestamptz,
  used_ms bigint NOT NULL DEFAULT 0,
  -- How often its machine was lost.
  lost integer NOT NULL DEFAULT 0,
  cancel json,
  events bigint NOT NULL DEFAULT 0,
  ending json,
  -- The files that it left; null: there are none, or all that wanted them have them.
  result json,
  is_handled boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX items_unfinished ON agentos.items (repository, key) WHERE state <> 'ended';
CREATE INDEX items_ready ON agentos.items (ahead DESC, id) WHERE state = 'ready';
CREATE INDEX items_held ON agentos.items (repository, id) WHERE state = 'held';
CREATE INDEX items_running ON agentos.items (machine) WHERE state = 'running';
CREATE INDEX items_unhandled ON agentos.items (id) WHERE state = 'ended' AND NOT is_handled;
CREATE INDEX items_token ON agentos.items (token_hash) WHERE state = 'running';
CREATE INDEX items_of_run ON agentos.items (run);
CREATE INDEX items_by_key ON agentos.items (repository, key, id DESC);

CREATE TABLE agentos.run_items (
  run text NOT NULL REFERENCES agentos.runs ON DELETE CASCADE,
  item bigint NOT NULL REFERENCES agentos.items ON DELETE CASCADE,
  position integer NOT NULL,
  -- Where files went that did not go to their own place; null: they are not where it was submitted from yet.
  delivered json,
  PRIMARY KEY (run, item)
);
CREATE INDEX run_items_item ON agentos.run_items (item);

-- A row holds several events of an item, as JSON lines.
CREATE TABLE agentos.events (
  item bigint NOT NULL REFERENCES agentos.items ON DELETE CASCADE,
  seq bigint NOT NULL,
  -- Who wrote it, and the how-manieth of that writer's: a repeated write is one.
  writer text NOT NULL,
  number bigint NOT NULL,
  lines text NOT NULL,
  PRIMARY KEY (item, seq),
  UNIQUE (item, writer, number)
);

-- What the pool of the hub says, for all that follow a run.
CREATE TABLE agentos.pool_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  event text NOT NULL
);

CREATE TABLE agentos.journals (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repository text NOT NULL,
  key text NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  -- The state folder that has a copy of all of it, and may have changed that since.
  checkout text,
  UNIQUE (repository, key)
);

CREATE TABLE agentos.steps (
  journal bigint NOT NULL REFERENCES agentos.journals ON DELETE CASCADE,
  id text NOT NULL,
  name text NOT NULL,
  number bigint NOT NULL,
  starts integer NOT NULL,
  started_at text NOT NULL,
  finished_at text,
  finish_order bigint,
  result text,
  PRIMARY KEY (journal, id)
);
`;

const MIGRATIONS: readonly string[] = [FIRST];

/** The schema version that this program needs. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The advisory lock that migrations run under. */
const LOCK = 0x6167_6e74;

/** Returns the versions before and after. Throws, and changes nothing, if the schema is newer. */
export async function migrate(database: Database, program: string): Promise<{ from: number; to: number }> {
  return database.transaction(async (sql) => {
    await sql.rows('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    // The role may own the schema without the right to create one.
    const [schema] = await sql.rows(`SELECT 1 FROM pg_namespace WHERE nspname = 'agentos'`);
    if (schema === undefined) await sql.rows('CREATE SCHEMA agentos');
    await sql.rows(`CREATE TABLE IF NOT EXISTS agentos.migrations (
      version integer PRIMARY KEY, program text NOT NULL, at timestamptz NOT NULL DEFAULT now())`);
    const from = await versionIn(sql);
    if (from > SCHEMA_VERSION) throw wrongVersion(database, from);
    for (let version = from + 1; version <= SCHEMA_VERSION; version++) {
      await sql.rows(MIGRATIONS[version - 1] ?? '');
      await sql.rows('INSERT INTO agentos.migrations (version, program) VALUES ($1, $2)', [version, program]);
    }
    return { from, to: SCHEMA_VERSION };
  });
}

/** 0 if the database has no schema of ours. */
export async function schemaVersion(sql: Sql): Promise<number> {
  const [found] = await sql.rows<{ there: boolean }>(`SELECT to_regclass('agentos.migrations') IS NOT NULL AS there`);
  return found?.there ? versionIn(sql) : 0;
}

/** Throws unless the schema has exactly the version that this program needs. */
export async function requireSchema(database: Database): Promise<void> {
  const found = await schemaVersion(database);
  if (found !== SCHEMA_VERSION) throw wrongVersion(database, found);
}

function wrongVersion({ name }: Database, found: number): AgentosError {
  return new AgentosError({ code: 'database-schema', database: name, found, known: SCHEMA_VERSION });
}

async function versionIn(sql: Sql): Promise<number> {
  const [row] = await sql.rows<{ version: number }>(
    'SELECT coalesce(max(version), 0)::integer AS version FROM agentos.migrations',
  );
  return row?.version ?? 0;
}
