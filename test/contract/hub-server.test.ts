import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveConfig } from '../../src/core/config.ts';
import { parseItemId } from '../../src/core/ids.ts';
import { pathsOf } from '../../src/core/paths.ts';
import { createGit } from '../../src/git/git.ts';
import { type Claim, claimItem, endItem, registerRun, submitItems } from '../../src/hub/backlog.ts';
import { createCertificate, fingerprintOf } from '../../src/hub/certificate.ts';
import { type Database, openDatabase } from '../../src/hub/database.ts';
import { deliver } from '../../src/hub/delivery.ts';
import { filesBelow } from '../../src/hub/document-trees.ts';
import { createGitBackend } from '../../src/hub/git-backend.ts';
import { openHubLink } from '../../src/hub/hub-link.ts';
import { createEventWriter } from '../../src/hub/item-events.ts';
import { joinMachine, type MachineIdentity, revokeMachine } from '../../src/hub/machines.ts';
import { startRelay } from '../../src/hub/relay.ts';
import { gitWithHub } from '../../src/hub/repository-cache.ts';
import { createRunGateways } from '../../src/hub/run-gateways.ts';
import { FACTS_PATH, startHubServer } from '../../src/hub/server.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from '../support/postgres.ts';
import { startVendor, type Vendor } from '../support/vendor/index.ts';

const run = promisify(execFile);
const isPossible = hasPostgres();
const OURS = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);
const MACHINE: MachineIdentity = { id: 'machine-1', token: 'machine-token' };

let postgres: TestPostgres;
let database: Database;
let vendor: Vendor;
let folder: string;
let claim: Claim;
const closing: (() => unknown)[] = [];
let address: string;
let tls: ReturnType<typeof createCertificate>;

beforeAll(async () => {
  if (!isPossible) return;
  postgres = await testPostgres();
  database = openDatabase(await freshDatabase(postgres), { application: 'test', connections: 6 });
  vendor = await startVendor({});
  folder = await mkdtemp(join(tmpdir(), 'agentos-hub-server-'));
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  const config = resolveConfig({}, {}, { ANTHROPIC_API_KEY: 'sk-real', ANTHROPIC_BASE_URL: vendor.url });
  const events = createEventWriter(database, 'hub');
  const gateways = createRunGateways({
    sql: database,
    config,
    env: {},
    remembered: new Map(),
    events,
    timestamp: () => new Date().toISOString(),
    onPool: () => undefined,
  });
  tls = createCertificate('hub', new Date());
  const server = await startHubServer({
    host: '127.0.0.1',
    port: 0,
    tls,
    sql: database,
    pages: () => false,
    gateways,
    git: createGitBackend(join(folder, 'repositories'), env),
    facts: { version: '1', vendors: gateways.vendors, fingerprints: [] },
  });
  closing.push(
    () => server.close(),
    () => gateways.close(),
    () => events.flush(),
  );
  address = `https://127.0.0.1:${server.port}`;
  await joinMachine(database, { ...MACHINE, name: 'one', tags: [], parallel: 1, version: '1' });
  const { bounds, prices } = config;
  const stage = { workflow: 'lld', models: ['anthropic:claude-opus-5'], needs: [], input: {} } as const;
  const settings = {
    pipeline: 'lld',
    stages: [stage],
    parallel: null,
    haltAfter: null,
    bounds,
    prices,
    base: OURS,
    identity: null,
  } as const;
  const submitted = {
    id: 'run-1',
    repository: OURS,
    checkout: 'here',
    token: 'run-token',
    version: '1',
    settings,
    record: {},
  };
  await registerRun(database, submitted);
  const item = { hash: '', stage: 0, needs: [], after: [], exclusive: [], input: {}, paidUsd: 0 };
  const take = { machine: MACHINE.id, version: '1', tags: [], leaseMs: 60_000 };
  await submitItems(database, submitted, OURS, [{ ...item, key: 'implement-7' }], async () => undefined);
  if ((await claimItem(database, { ...take, token: 'other-token' })) === null) throw new Error('nothing to claim');
  await submitItems(database, submitted, OURS, [{ ...item, key: 'lld-42' }], async () => undefined);
  const found = await claimItem(database, { ...take, token: 'item-token' });
  if (found === null) throw new Error('nothing to claim');
  claim = found;
});

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  await vendor?.close();
  await database?.close();
  await postgres?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const linkOf = (identity: MachineIdentity, certificate = tls.certificate) => {
  const record = {
    addresses: [address],
    certificate,
    fingerprint: fingerprintOf(certificate),
    version: '1',
    leaseMs: 1,
  };
  const link = openHubLink(async () => record, identity);
  closing.push(() => link.close());
  return link;
};

async function statusOf(
  path: string,
  token: string | null,
  { identity = MACHINE, method = 'GET' } = {},
): Promise<number | undefined> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await linkOf(identity).ask({ method, path, headers });
  response.resume();
  return response.statusCode;
}

const git = (...args: string[]) =>
  run('git', args, { cwd: folder, env: { PATH: process.env['PATH'] ?? '', HOME: folder } });
const MESSAGE = { model: 'claude-opus-5', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] };

describe.skipIf(!isPossible)('the server of a hub', () => {
  it('what a machine left goes where items write: no other branch is moved, no other file written', async () => {
    const link = linkOf(MACHINE);
    const relay = await startRelay(link);
    closing.push(() => relay.close());
    const root = join(folder, 'checkout');
    await git('init', '--quiet', '--initial-branch=main', root);
    const commit = async (name: string): Promise<void> => {
      await git(
        '-C',
        root,
        '-c',
        'user.name=a',
        '-c',
        'user.email=a@b',
        'commit',
        '--quiet',
        '--allow-empty',
        '-m',
        name,
      );
    };
    await commit('mine');
    const mine = (await git('-C', root, 'rev-parse', 'HEAD')).stdout.trim();
    await git('-C', root, 'switch', '--quiet', '--detach');
    await commit('theirs');
    const theirs = (await git('-C', root, 'rev-parse', 'HEAD')).stdout.trim();
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    const own = createGit(root, env);
    const signal = new AbortController().signal;
    const at = 'refs/agentos/items/implement-7/heads';
    const remote = { relay, link, signal, token: 'other-token' };
    const to = `${relay.url}/git/${OURS}`;
    await gitWithHub(own, remote, ['push', '--quiet', to, `HEAD:${at}/main`, `HEAD:${at}/agentos/7-seven`]);
    const paths = pathsOf(root, join(root, '.agentos'), join(root, '.agentos'));
    const [document, outside] = ['docs/lld/LLD-7.md', 'docs/lld/../../.git/hooks/post-checkout'];
    const result = {
      repository: { [document]: 'x', [outside]: 'x', '../outside': 'x', '.git/hooks/pre-push': 'x' },
      transcripts: { '../../outside': 'x' },
      reviews: {},
      undone: {},
    };
    const ended = { item: { workflow: 'implement', id: parseItemId('7') }, itemId: 1, result } as const;
    const options = { git: own, paths, runId: 'run-1', repository: OURS, submitted: new Map() };
    await deliver({ ...options, remote: { ...remote, token: 'run-token' } }, [ended]);
    const tip = async (branch: string): Promise<string> =>
      (await own.text(['rev-parse', `refs/heads/${branch}`])).trim();
    expect([await tip('main'), await tip('agentos/7-seven')]).toEqual([mine, theirs]);
    expect(await filesBelow(root, '')).toContain(document);
    const written = [...(await filesBelow(root, '')), ...(await filesBelow(folder, ''))];
    expect(written.filter((path) => /outside|post-checkout$|pre-push$/.test(path))).toEqual([]);
  });

  it('answers machines that it knows, with the certificate that they know, and no one else', async () => {
    expect(await linkOf(MACHINE).facts()).toMatchObject({ vendors: ['anthropic'] });
    await expect(linkOf({ ...MACHINE, token: 'guessed' }).facts()).rejects.toMatchObject({ code: 'machine-revoked' });
    const other = createCertificate('hub', new Date());
    await expect(linkOf(MACHINE, other.certificate).facts()).rejects.toThrow('no address of the hub answers');
    await joinMachine(database, { id: 'bad', token: 'known', name: 'bad', tags: [], parallel: 1, version: '1' });
    const bad = linkOf({ id: 'bad', token: 'known' });
    expect(await bad.facts()).toMatchObject({ version: '1' });
    await revokeMachine(database, 'bad');
    await expect(bad.facts()).rejects.toMatchObject({ code: 'machine-revoked' });
    const { status } = await fetch(address + FACTS_PATH).catch(() => ({ status: 'refused by TLS' }));
    expect(status).toBe('refused by TLS');
  });

  it('lets a token do what it is for: one item’s calls, one repository', async () => {
    const refs = (repository: string): string => `/git/${repository}/info/refs?service=git-upload-pack`;
    expect(await statusOf(refs(OURS), 'item-token')).toBe(200);
    expect(await statusOf(refs(OURS), 'run-token')).toBe(200);
    expect(await statusOf(refs(OTHER), 'item-token')).toBe(403);
    expect(await statusOf(refs(OTHER), 'run-token')).toBe(403);
    expect(await statusOf(refs(OURS), null)).toBe(401);
    expect(await statusOf(refs(OURS), 'guessed')).toBe(401);
    // Whatever host a path names, it is this hub that is asked.
    for (const path of ['//127.0.0.1:1/x', 'https://127.0.0.1:1/x', 'https://hub//127.0.0.1:1/x'])
      expect(await statusOf(path, 'guessed')).toBe(401);
    expect(await statusOf('/anthropic/v1/messages', 'run-token', { method: 'POST' })).toBe(403);
    // Through the relay, as workers reach it.
    const relay = await startRelay(linkOf(MACHINE));
    closing.push(() => relay.close());
    const ask = (model: string, token: string) =>
      fetch(`${relay.url}/anthropic/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': token, 'content-type': 'application/json' },
        body: JSON.stringify({ ...MESSAGE, model }),
      });
    const answered = await ask('claude-opus-5', 'item-token');
    expect(answered.status, await answered.text()).toBe(200);
    expect((await ask('claude-haiku-9', 'item-token')).status).toBe(403);
    expect((await ask('claude-opus-5', 'guessed')).status).toBe(401);
    expect(vendor.calls).toHaveLength(1);

    await git('init', '--quiet', 'work');
    await writeFile(join(folder, 'work', 'a'), 'a');
    await git('-C', 'work', 'add', '--all');
    await git('-C', 'work', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'a');
    // An agent has the token of its item, for calls; what git could read with it is not for agents.
    const headers = { authorization: 'Bearer item-token' };
    expect((await fetch(`${relay.url}${refs(OURS)}`, { headers })).status).toBe(403);
    const push = (ref: string, token: string) =>
      git(
        '-C',
        'work',
        '-c',
        `http.extraHeader=${relay.gitHeader}`,
        '-c',
        `http.extraHeader=Authorization: Bearer ${token}`,
        'push',
        '--quiet',
        `${relay.url}/git/${OURS}`,
        `HEAD:${ref}`,
      );
    await push('refs/agentos/items/lld-42/pins/1', 'item-token');
    await push('refs/agentos/runs/run-1/base', 'run-token');
    for (const [ref, token] of [
      ['refs/agentos/items/lld-43/pins/1', 'item-token'],
      ['refs/agentos/runs/run-1/base2', 'item-token'],
      ['refs/heads/main', 'item-token'],
      ['refs/agentos/runs/run-2/base', 'run-token'],
    ] as const)
      await expect(push(ref, token)).rejects.toThrow('may not write');
    const ended = { status: 'succeeded', attempts: 1, durationMs: 1, reason: null, error: null, outputs: [] } as const;
    await endItem(database, claim, { end: { ...ended, outputs: [] }, at: '', result: null });
    expect(await statusOf(refs(OURS), 'item-token')).toBe(401);
    expect((await ask('claude-opus-5', 'item-token')).status).toBe(401);
  });
});
