import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveConfig } from '../../src/core/config.ts';
import type { ItemEnd } from '../../src/core/item.ts';
import {
  type Claim,
  claimItem,
  endItem,
  expireLeases,
  handBack,
  MOST_LOST,
  type Placed,
  registerRun,
  renewLeases,
  type SubmittedItem,
  stopRun,
  submitItems,
} from '../../src/hub/backlog.ts';
import { createCertificate } from '../../src/hub/certificate.ts';
import { type Database, openDatabase } from '../../src/hub/database.ts';
import { appendEvents, type Cursors, readRunNews } from '../../src/hub/item-events.ts';
import { holdSession, joinMachine, revokeMachine } from '../../src/hub/machines.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from '../../src/hub/migrations.ts';
import { postgresSteps } from '../../src/journal/postgres.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from '../support/postgres.ts';

const isPossible = hasPostgres();
let postgres: TestPostgres;
let database: Database;
const open = (url: string): Database => openDatabase(url, { application: 'test', connections: 12 });

beforeAll(async () => {
  if (!isPossible) return;
  postgres = await testPostgres();
  database = open(await freshDatabase(postgres));
});
afterAll(async () => {
  await database?.close();
  await postgres?.stop();
});

const { bounds, prices } = resolveConfig({}, {}, {});
const END: ItemEnd = { status: 'succeeded', attempts: 1, durationMs: 1, reason: null, error: null, outputs: [] };
const NO_FILES = { repository: {}, transcripts: {}, reviews: {}, undone: {} };
const ended = (result: typeof NO_FILES | null) => ({ end: END, at: '', result });
const LEASE_MS = 60_000;
let runs = 0;
let machines = 0;

interface Submitted {
  run: string;
  repository: string;
  placed: Placed[];
}

const itemWith = (key: string, more: Partial<SubmittedItem> = {}): SubmittedItem => ({
  key,
  hash: 'text',
  stage: 0,
  needs: [],
  after: [],
  exclusive: [],
  input: {},
  paidUsd: 0,
  ...more,
});

/** `repository`: tests that name none have one of their own. */
async function submit(
  items: SubmittedItem[],
  { repository, checkout = 'here' }: { repository?: string; checkout?: string } = {},
): Promise<Submitted> {
  runs += 1;
  const run = {
    id: `run-${runs}`,
    repository: repository ?? `repository-${runs}`,
    checkout,
    token: `token of ${runs}`,
    version: '1',
    record: {},
    settings: {
      pipeline: 'lld',
      stages: [{ workflow: 'lld', models: [], needs: [], input: {} }],
      parallel: null,
      haltAfter: null,
      bounds,
      prices,
      base: 'b'.repeat(40),
      identity: null,
    },
  } as const;
  await registerRun(database, run);
  const placed = await submitItems(database, run, 'd'.repeat(40), items, async () => undefined);
  return { run: run.id, repository: run.repository, placed };
}

async function machine(
  tags: string[] = [],
): Promise<{ id: string; number: number; claim: (leaseMs?: number) => Promise<Claim | null> }> {
  machines += 1;
  const id = `machine-${machines}`;
  const number = await joinMachine(database, { id, token: 't', name: id, tags, parallel: 1, version: '1' });
  const claim = (leaseMs = LEASE_MS): Promise<Claim | null> =>
    claimItem(database, { machine: id, version: '1', tags, token: `of ${id}`, leaseMs });
  return { id, number, claim };
}

/** Nothing of an earlier test is left to claim. */
async function clear(): Promise<void> {
  await database.rows(
    `UPDATE agentos.items SET state = 'ended', ending = '{"status":"cancelled"}' WHERE state <> 'ended'`,
  );
}

describe.skipIf(!isPossible)('the schema', () => {
  it('is migrated once, however many machines do it at the same time, and again without effect', async () => {
    const url = await freshDatabase(postgres, { isMigrated: false });
    const several = Array.from({ length: 4 }, () => open(url));
    expect(await schemaVersion(several[0] ?? database)).toBe(0);
    const results = await Promise.all(several.map((one) => migrate(one, 'test')));
    expect(results.filter(({ from }) => from === 0)).toHaveLength(1);
    expect(await migrate(several[0] ?? database, 'test')).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    await Promise.all(several.map((one) => one.close()));
  });

  it('of another version is neither migrated back nor claimed from', async () => {
    await clear();
    await submit([itemWith('lld-1')]);
    const one = await machine();
    await database.rows(`INSERT INTO agentos.migrations (version, program) VALUES ($1, 'later')`, [SCHEMA_VERSION + 1]);
    try {
      await expect(migrate(database, 'test')).rejects.toMatchObject({ code: 'database-schema' });
      expect(await one.claim()).toBeNull();
    } finally {
      await database.rows('DELETE FROM agentos.migrations WHERE version > $1', [SCHEMA_VERSION]);
    }
    expect(await one.claim()).toMatchObject({ key: 'lld-1' });
  });
});

describe.skipIf(!isPossible)('the backlog', () => {
  it('has an item once, whoever submits it how often; one with another text is refused', async () => {
    await clear();
    const repository = 'shared';
    const both = await Promise.all([
      submit([itemWith('lld-1'), itemWith('lld-2')], { repository }),
      submit([itemWith('lld-2'), itemWith('lld-1')], { repository, checkout: 'there' }),
    ]);
    const ids = both.map(({ placed }) => placed.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item));
    expect(ids[0]).toEqual(ids[1]);
    const other = await submit([itemWith('lld-1', { hash: 'another text' })], { repository });
    expect(other.placed).toEqual([{ key: 'lld-1', item: null, isShared: true }]);
  });

  it('gives what was done to a checkout that never got it, and does it over for one that did', async () => {
    await clear();
    const repository = 'done';
    const first = await submit([itemWith('lld-1')], { repository });
    const claim = await (await machine()).claim();
    expect(await endItem(database, claim ?? { id: 0, fence: 0 }, ended(NO_FILES))).toBe(true);
    const elsewhere = await submit([itemWith('lld-1')], { repository, checkout: 'there' });
    expect(elsewhere.placed[0]).toMatchObject({ item: first.placed[0]?.item, isShared: true });
    const again = await submit([itemWith('lld-1')], { repository });
    expect(again.placed[0]).toMatchObject({ isShared: false });
  });

  it('gives each item to one machine, in the order in which they came', async () => {
    await clear();
    const { placed } = await submit(Array.from({ length: 40 }, (_, n) => itemWith(`lld-${n}`)));
    const several = await Promise.all(Array.from({ length: 8 }, () => machine()));
    const claims = (await Promise.all(several.flatMap((one) => Array.from({ length: 6 }, () => one.claim())))).flatMap(
      (claim) => claim ?? [],
    );
    expect(claims).toHaveLength(40);
    expect(new Set(claims.map(({ id }) => id)).size).toBe(40);
    expect(claims.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(
      placed.map(({ item }) => item).toSorted((a, b) => Number(a) - Number(b)),
    );
  });

  it('keeps items for machines that have what they need, and gives none to one that was revoked', async () => {
    await clear();
    await submit([itemWith('lld-1', { needs: ['gpu'] })]);
    expect(await (await machine()).claim()).toBeNull();
    const good = await machine(['gpu', 'docker']);
    await revokeMachine(database, good.id);
    expect(await good.claim()).toBeNull();
    await expect(machine()).resolves.toBeDefined();
    expect(await (await machine(['gpu'])).claim()).toMatchObject({ key: 'lld-1' });
  });

  it('frees an item when its lease is over by the database’s clock, and then nothing that its old owner says counts', async () => {
    await clear();
    const { run, repository } = await submit([itemWith('lld-1')]);
    const [slow, quick] = [await machine(), await machine()];
    const old = await slow.claim(30);
    if (old === null) throw new Error('nothing to claim');
    const store = postgresSteps(database, { repository, key: 'lld-1', claim: { item: old.id, fence: old.fence } });
    await store.open();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await expireLeases(database)).freed).toMatchObject([{ id: old.id, lost: 1 }]);
    const claim = await quick.claim();
    expect(claim).toMatchObject({ id: old.id });
    expect(claim?.fence).toBeGreaterThan(old.fence);
    expect((await renewLeases(database, slow.id, LEASE_MS)).held).toEqual([]);
    expect(await endItem(database, old, ended(null))).toBe(false);
    await handBack(database, old);
    await appendEvents(database, 'old', [
      { item: old.id, fence: old.fence, number: 1, events: [{ at: '', type: 'notice', text: 'stale' }] },
    ]);
    expect((await readRunNews(database, run, { items: new Map(), pool: 0 })).items).toEqual([]);
    const step = { id: 'a#1', name: 'a', number: 1, starts: 1, startedAt: '', end: null };
    await expect(store.put(step)).rejects.toMatchObject({ code: 'journal-fenced' });
    await expect(store.open()).rejects.toMatchObject({ code: 'journal-fenced' });
    expect((await renewLeases(database, quick.id, LEASE_MS)).held).toMatchObject([{ id: old.id, fence: claim?.fence }]);
  });

  it('sees a machine whose process died long before its lease is over, and leaves one alone that is only silent', async () => {
    await clear();
    await submit([itemWith('lld-1'), itemWith('lld-2')]);
    const [dead, silent] = [await machine(), await machine()];
    const session = await database.session();
    const other = await database.session();
    expect(await holdSession(session, dead.id, dead.number)).toBe(true);
    expect(await holdSession(other, silent.id, silent.number)).toBe(true);
    const lost = await dead.claim();
    await silent.claim();
    await session.close();
    expect((await expireLeases(database)).freed).toEqual([]);
    await database.rows(`UPDATE agentos.machines SET seen_at = clock_timestamp() - interval '20 seconds'`);
    expect((await expireLeases(database)).freed.map(({ id }) => id)).toEqual([lost?.id]);
    await other.close();
  });

  it('gives up an item that lost its machine too often', async () => {
    await clear();
    await submit([itemWith('lld-1')]);
    const one = await machine();
    for (let time = 1; time < MOST_LOST; time++) {
      await one.claim(1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect((await expireLeases(database)).freed).toHaveLength(1);
    }
    await one.claim(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await expireLeases(database)).toMatchObject({ freed: [], hopeless: [{ key: 'lld-1', lost: MOST_LOST }] });
  });

  it('stops the items of a run, but for those that another run follows', async () => {
    await clear();
    const repository = 'stopped';
    const first = await submit([itemWith('lld-1'), itemWith('lld-2')], { repository });
    await submit([itemWith('lld-2')], { repository, checkout: 'there' });
    const one = await machine();
    await one.claim();
    await one.claim();
    await stopRun(database, first.run, { problem: { code: 'interrupted', signal: 'SIGINT' }, retry: 'permanent' });
    const { held } = await renewLeases(database, one.id, LEASE_MS);
    expect(held.map(({ cancel }) => cancel?.problem.code ?? null)).toEqual(['interrupted', null]);
  });

  it('has each event once, though it was written twice, and in the order of its item', async () => {
    await clear();
    const { run, placed } = await submit([itemWith('lld-1')]);
    const item = placed[0]?.item ?? 0;
    const say = (number: number, text: string) => ({
      item,
      fence: null,
      number,
      events: [{ at: '', type: 'notice', text } as const],
    });
    await appendEvents(database, 'one', [say(1, 'a')]);
    await appendEvents(database, 'other', [say(1, 'b \u0000')]);
    await appendEvents(database, 'one', [say(1, 'a')]);
    await appendEvents(database, 'one', [say(2, 'c')]);
    const cursors: Cursors = { items: new Map(), pool: 0 };
    const texts = (await readRunNews(database, run, cursors)).items.flatMap(({ events }) =>
      events.map((event) => event.type === 'notice' && event.text),
    );
    expect(texts).toEqual(['a', 'b \u0000', 'c']);
    expect(await readRunNews(database, run, cursors)).toEqual({ items: [], pool: [], isMore: false, isOver: false });
  });
});

describe.skipIf(!isPossible)('the database', () => {
  it('needs a role with its own schema and nothing else', async () => {
    const url = new URL(await freshDatabase(postgres, { isMigrated: false }));
    const admin = open(url.href);
    await admin.rows(`CREATE ROLE limited LOGIN PASSWORD 'limited'`);
    await admin.rows('CREATE SCHEMA agentos AUTHORIZATION limited');
    await admin.rows('REVOKE ALL ON SCHEMA public FROM PUBLIC');
    url.username = 'limited';
    url.password = 'limited';
    const limited = open(url.href);
    expect(await migrate(limited, 'test')).toEqual({ from: 0, to: SCHEMA_VERSION });
    const number = await joinMachine(limited, { id: 'm', token: 't', name: 'm', tags: [], parallel: 1, version: '1' });
    const session = await limited.session();
    expect(await holdSession(session, 'm', number)).toBe(true);
    expect(await expireLeases(limited)).toEqual({ freed: [], hopeless: [] });
    await session.close();
    await limited.close();
    await admin.close();
  });

  it('is reached with the TLS that its URL asks for, and never names the password', async () => {
    const certificate = join(await mkdtemp(join(tmpdir(), 'agentos-tls-')), 'root.crt');
    await writeFile(certificate, createCertificate('another', new Date()).certificate);
    const reach = async (more: string): Promise<unknown> => {
      const one = open(`${postgres.url}?${more}`);
      try {
        const [row] = await one.rows<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
        return row?.ssl;
      } finally {
        await one.close();
      }
    };
    expect(await reach('sslmode=disable')).toBe(false);
    expect(await reach('sslmode=require')).toBe(true);
    await expect(reach(`sslmode=verify-ca&sslrootcert=${certificate}`)).rejects.toMatchObject({
      code: 'database-unreachable',
    });
    await rm(dirname(certificate), { recursive: true });
    for (const more of ['sslmode=verify-all', 'sslmode=verify-ca', `sslmode=verify-full&sslrootcert=${certificate}`])
      expect(() => open(`${postgres.url}?${more}`)).toThrow(expect.objectContaining({ code: 'usage' }));
    const wrong = new URL(postgres.url);
    wrong.password = 'a-wrong-password';
    const refused = open(wrong.href);
    const error: unknown = await refused.rows('SELECT 1').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'database-refused' });
    expect(JSON.stringify(error) + String(error)).not.toContain('a-wrong-password');
    await refused.close();
    expect(() => open('postgres://user:a-secret@')).toThrow(expect.not.stringContaining('a-secret'));
  });
});
