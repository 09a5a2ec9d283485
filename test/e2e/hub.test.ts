import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeGitHub, TOKEN } from '../support/hosts/github.ts';
import { hostedProject } from '../support/hosts/project.ts';
import { startTestHub, type TestHub, type TestMachine } from '../support/hub.ts';
import { commitProject, implementer } from '../support/implement.ts';
import { ISSUE, issueOf, review, script, taskOf, vendorEnv } from '../support/models.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from '../support/postgres.ts';
import { agentos, type Ended, type Started, startAgentos } from '../support/program.ts';
import { repositoryIn, type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { startVendor, type Vendor } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const KEY = 'sk-of-the-hub-0123456789abcdef';

const isPossible = hasPostgres();
let postgres: TestPostgres;
let folder: string;
let vendor: Vendor;
let hub: TestHub;
/** The repository whose runs the hub shows. */
let shown: TestRepository;
const machines: TestMachine[] = [];

/** Drafts that wait until they are let go, by the id of their issue. */
const held = new Map<string, Promise<void>>();
/** Reviews that are not approvals, by the id of their issue. */
const discussed = new Set<string>();

beforeAll(async () => {
  if (!isPossible) return;
  postgres = await testPostgres();
  folder = await mkdtemp(join(tmpdir(), 'agentos-hub-'));
  const answer = script({
    review: (call) => review({ verdict: discussed.has(issueOf(call)) ? 'DISCUSS' : 'APPROVED' }),
  });
  vendor = await startVendor({
    script: async (call) => {
      if (taskOf(call) === 'draft') await held.get(issueOf(call));
      return answer(call);
    },
  });
  shown = await repositoryIn(join(folder, 'shown'), { 601: ISSUE });
  const flags = ['--repo', shown.root];
  hub = await startTestHub({ url: await freshDatabase(postgres), folder, env: vendorEnv(vendor.url, KEY), flags });
  machines.push(await hub.machine('one'), await hub.machine('two', { flags: ['--tag', 'gpu'] }));
});

afterAll(async () => {
  await hub?.close();
  await vendor?.close();
  await postgres?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

function placeOf(repository: TestRepository): { cwd: string; env: Record<string, string> } {
  return { cwd: repository.root, env: { HOME: repository.home, AGENTOS_DATABASE_URL: hub.url } };
}

const onHub = (repository: TestRepository, ...args: string[]): Promise<Ended> => agentos(args, placeOf(repository));
const startOnHub = (repository: TestRepository, ...args: string[]): Started => startAgentos(args, placeOf(repository));

const callsFor = (...ids: string[]): string[] =>
  vendor.calls
    .filter((call) => ids.includes(issueOf(call)))
    .map((call) => `${taskOf(call)} ${issueOf(call)}`)
    .toSorted();

describe.skipIf(!isPossible)('two machines, one backlog', () => {
  test('a batch leaves the same files as a local one, and each model call is made once', async () => {
    const repository = await testRepository({ 101: ISSUE, 102: ISSUE, 103: ISSUE, 104: ISSUE });
    const { code, stdout, stderr } = await onHub(repository, 'lld', '--all', ...MODELS);
    expect(code, stdout + stderr).toBe(0);
    const ids = ['101', '102', '103', '104'];
    expect(callsFor(...ids)).toEqual(ids.flatMap((id) => [`draft ${id}`, `review ${id}`]).toSorted());
    for (const id of ids) {
      expect(await repository.read(`docs/lld/LLD-${id}.md`)).toContain('status: approved');
      expect(await repository.list(`docs/lineage/${id}`)).toEqual([
        '001-issue.md',
        '002-draft.md',
        '003-verdict.md',
        '004-final.md',
      ]);
      expect(stdout).toContain(`[LLD-${id}] succeeded`);
    }
    const [run = ''] = await repository.list('.agentos/runs');
    const summary = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
    expect(summary.counts).toMatchObject({ succeeded: 4 });
    expect(summary.items[0]).toMatchObject({ outputs: [`docs/lld/LLD-101.md`, 'docs/lineage/101'] });
    expect(await repository.list(`.agentos/runs/${run}/logs`)).toEqual(ids.map((id) => `lld-${id}.log`));
    expect(await repository.list(`.agentos/runs/${run}/audit`)).toEqual(ids.map((id) => `lld-${id}.jsonl`));
    const events = (await repository.read(`.agentos/runs/${run}/events.jsonl`))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({ type: 'run-started', runId: run });
    expect(events.at(-1)).toMatchObject({ type: 'run-finished', exitCode: 0 });
    expect(events.filter(({ type }) => type === 'gateway-call')).toHaveLength(8);
    expect(await repository.list('.agentos/checkpoints')).toEqual([]);
    expect(repository.git('for-each-ref', 'refs/agentos', 'refs/agentos-hub')).toBe('');
    for (const machine of machines) expect(machine.program.stdout()).toMatch(/\[LLD-10\d\] succeeded/);
    // Neither in the database nor in the environment of any machine.
    const [dump] = await hub.database.rows<{ all: string }>(`SELECT database_to_xml(true, false, '')::text AS all`);
    expect(dump?.all).toContain('LLD-101');
    expect(dump?.all).not.toContain(KEY);
  });

  test('the whole way: designs, then branches that build on each other, on whichever machine', async () => {
    const repository = await testRepository({}, { commit: false });
    await commitProject(repository);
    await repository.write('issues/201.md', ISSUE);
    await repository.write('issues/202.md', ISSUE);
    // In the sandbox of its machine, where it could not write down how it was called.
    const models = [...MODELS, '--implementer', implementer()];
    const { code, stdout, stderr } = await onHub(repository, 'run', '--all', ...models);
    expect(code, stdout + stderr).toBe(0);
    for (const step of ['IMPL-201] tests-1', 'IMPL-201] code-1', 'IMPL-202] tests-1', 'IMPL-202] code-1'])
      expect(stdout.split(`[${step} …`)).toHaveLength(2);
    for (const id of ['201', '202']) {
      const branch = `agentos/${id}-add-a-number`;
      expect(repository.git('log', '--format=%an %s', `main..${branch}`).split('\n')).toEqual([
        `Test Report on ${id}: Add a number`,
        'Test Add a number',
        `Test Tests for ${id}: Add a number`,
      ]);
      expect(repository.git('show', `${branch}:docs/reports/${id}.md`)).toContain('Add a number');
    }
    expect(repository.git('for-each-ref', 'refs/agentos', 'refs/agentos-hub')).toBe('');
    expect(repository.git('status', '--porcelain', '--', 'src', 'test')).toBe('');
    const again = await onHub(repository, 'run', '--all', ...models);
    expect(again.stdout).toContain('Nothing to do');
  });

  test('two submitters at once, and the same submission twice, are one item; each gets the files', async () => {
    const first = await testRepository({ 301: ISSUE, 302: ISSUE });
    const second = await testRepository({ 301: ISSUE, 302: ISSUE });
    const all = await Promise.all([
      onHub(first, 'lld', '--all', ...MODELS),
      onHub(second, 'lld', '--all', ...MODELS),
      onHub(first, 'lld', '301', ...MODELS),
    ]);
    for (const { code, stdout, stderr } of all) expect(code, stdout + stderr).toBe(0);
    expect(callsFor('301', '302')).toEqual(['draft 301', 'draft 302', 'review 301', 'review 302']);
    for (const id of ['301', '302'])
      expect(await first.read(`docs/lld/LLD-${id}.md`)).toBe(await second.read(`docs/lld/LLD-${id}.md`));
    // Later, and from a third checkout that has never seen the result.
    const third = await testRepository({ 301: ISSUE, 302: ISSUE });
    expect((await onHub(third, 'lld', '302', ...MODELS)).code).toBe(0);
    expect(await third.read('docs/lld/LLD-302.md')).toBe(await first.read('docs/lld/LLD-302.md'));
    expect(callsFor('302')).toHaveLength(2);
  });

  test('models that are programs read the base commit, in worktrees that items of a machine use one after another', async () => {
    const ids = ['351', '352', '353', '354', '355'];
    const repository = await testRepository(Object.fromEntries(ids.map((id) => [id, ISSUE])));
    const models = await scriptedModels(repository);
    const { code, stdout, stderr } = await onHub(repository, 'lld', '--all', '--parallel', '2', ...models.flags);
    expect(code, stdout + stderr).toBe(0);
    expect((await models.calls()).toSorted()).toEqual(
      ids.flatMap((id) => [`lld ${id}`, `review-lld ${id}`]).toSorted(),
    );
    expect(repository.git('status', '--porcelain', '--', 'src', 'test', 'issues')).toBe('');
  });

  test('an item waits for a machine that has what it needs', async () => {
    const repository = await testRepository({
      401: `---\nlabels: [needs:gpu]\n---\n\n${ISSUE}`,
      402: `---\nlabels: [needs:tpu]\n---\n\n${ISSUE}`,
    });
    const program = startOnHub(repository, 'lld', '--all', ...MODELS);
    await program.printed('[LLD-401] succeeded');
    expect(machines[1]?.program.stdout()).toContain('[LLD-401] succeeded');
    expect(machines[0]?.program.stdout()).not.toContain('LLD-401');
    program.child.kill('SIGINT');
    const { code, stdout } = await program.ended;
    expect(code, stdout).toBe(130);
    expect(stdout).toMatch(/402 +cancelled/);
    expect(callsFor('402')).toEqual([]);
  });

  test('a run that was left is shown, followed to its end and stopped by later commands', async () => {
    const repository = await testRepository({ 501: ISSUE, 502: ISSUE, 503: ISSUE });
    const release = hold('501');
    const left = await onHub(repository, 'lld', '501', '--detach', ...MODELS);
    expect(left.code, left.stdout + left.stderr).toBe(0);
    expect(left.stdout).toContain('The run continues at the hub');
    const status = await until(
      () => onHub(repository, 'status', '--json'),
      ({ stdout }) => JSON.parse(stdout).runs[0].items[0].step === 'draft',
    );
    expect(JSON.parse(status.stdout).runs[0]).toMatchObject({
      state: 'running',
      items: [{ id: '501', status: 'running' }],
    });
    expect((await onHub(repository, 'logs', '501')).stdout).toContain('draft …');
    // What has no log can't be followed: the command ends, and with it what it follows at the hub.
    expect((await onHub(repository, 'logs', '599', '--follow')).code).toBe(2);
    release();
    const resumed = await onHub(repository, 'resume');
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
    expect(resumed.stdout).toContain('[LLD-501] succeeded');
    expect(callsFor('501')).toEqual(['draft 501', 'review 501']);
    // Nobody follows it: the commands that look at it bring its files.
    expect((await onHub(repository, 'lld', '503', '--detach', ...MODELS)).code).toBe(0);
    const looked = await until(
      () => onHub(repository, 'status', '--json'),
      ({ stdout }) => JSON.parse(stdout).runs[0].state !== 'running',
    );
    expect(JSON.parse(looked.stdout).runs[0]).toMatchObject({ state: 'finished', items: [{ status: 'succeeded' }] });
    expect(await repository.read('docs/lld/LLD-503.md')).toContain('status: approved');

    const letGo = hold('502');
    const followed = startOnHub(repository, 'lld', '502', ...MODELS);
    await followed.printed('draft …');
    followed.child.kill('SIGTERM');
    const machine = machines.find(({ program }) => program.stdout().includes('[LLD-502] claimed'));
    await machine?.program.printed('[LLD-502] cancelled');
    expect((await followed.ended).code).toBe(143);
    letGo();
    expect((await onHub(repository, 'resume')).code).toBe(0);
    // The call in flight was given up, as after an interruption of a local run.
    expect(callsFor('502')).toEqual(['draft 502', 'draft 502', 'review 502']);
  });

  test('a new issue gets its number where it was submitted; a decision made there is the one that counts', async () => {
    const repository = await testRepository({ 7: ISSUE });
    for (const name of ['alpha', 'beta', 'gamma'])
      await repository.write(`briefs/${name}.md`, `# The ${name} thing\n\nSomething new.\n`);
    discussed.add('gamma');
    const { code, stdout } = await onHub(repository, 'issue', '--all', ...MODELS);
    expect(code, stdout).toBe(3);
    expect(await repository.list('issues')).toEqual(['7.md', '8.md', '9.md']);
    const briefs = await Promise.all(['8', '9'].map((id) => repository.read(`issues/${id}.md`)));
    expect(briefs.map((text) => /^brief: (\w+)$/m.exec(text)?.[1] ?? '').toSorted()).toEqual(['alpha', 'beta']);
    expect(await repository.list('.agentos/checkpoints')).toEqual(['issue-gamma.db']);
    discussed.delete('gamma');
    const decided = await onHub(repository, 'decide', 'gamma', '--approve', '--reason', 'it is small');
    expect(decided.code, decided.stdout + decided.stderr).toBe(0);
    const before = callsFor('gamma').length;
    expect((await onHub(repository, 'resume')).code).toBe(0);
    expect(callsFor('gamma')).toHaveLength(before);
    expect(await repository.list('issues')).toEqual(['10.md', '7.md', '8.md', '9.md']);
    const keys = JSON.parse((await onHub(repository, 'keys', '--json')).stdout).keys;
    expect(keys.map(({ vendor: name, state }: { vendor: string; state: string }) => `${name} ${state}`)).toContain(
      'anthropic available',
    );
  });
});

test.skipIf(!isPossible)('an issue of GitHub becomes a pull request, posted where it was submitted', async () => {
  const { repository, bare, flags, remote } = await hostedProject();
  const github = await fakeGitHub({ bare });
  github.issue({ number: 42, title: 'Add a number', body: ISSUE });
  const used = github.comment(42, 'Please keep it small.');
  const command = ['run', '42', '--source', 'github:acme/widget', '--comment', '--pr', ...flags];
  const env = { ...github.env, AGENTOS_DATABASE_URL: hub.url };
  const run = () => agentos(command, { cwd: repository.root, env });
  const { code, stdout, stderr } = await run();
  expect(code, stdout + stderr).toBe(0);
  expect(github.pulls).toHaveLength(1);
  expect(github.pulls[0]?.head.sha).toBe(remote('rev-parse', 'agentos/42-add-a-number'));
  expect(github.reactions).toEqual([{ comment: used.id, content: 'eyes' }]);
  expect(github.comments.filter(({ body }) => body.includes('agentos:item 42'))).toHaveLength(1);
  expect(await repository.read('docs/lineage/42/001-issue.md')).toContain('> Please keep it small.');
  // Machines ask no service, and have no token to ask with.
  const [dump] = await hub.database.rows<{ all: string }>(`SELECT database_to_xml(true, false, '')::text AS all`);
  expect(dump?.all).not.toContain(TOKEN);
  const written = github.writes().length;
  expect((await run()).code).toBe(0);
  expect(github.writes()).toHaveLength(written);
});

test.skipIf(!isPossible)('a watch runs what is pending on the machines', async () => {
  const repository = await testRepository({ 701: ISSUE });
  const watched = await onHub(repository, 'watch', '--once', '--until', 'lld', ...MODELS);
  expect(watched.code, watched.stdout + watched.stderr).toBe(0);
  expect(await repository.read('docs/lld/LLD-701.md')).toContain('status: approved');
  expect(machines.some(({ program }) => program.stdout().includes('[LLD-701] succeeded'))).toBe(true);
});

test.skipIf(!isPossible)(
  'the hub shows runs from wherever they were submitted, to those who know its token',
  async () => {
    const { code, stdout } = await onHub(shown, 'lld', '601', ...MODELS);
    expect(code, stdout).toBe(0);
    const [run = ''] = await shown.list('.agentos/runs');
    const token = (await readFile(join(folder, 'hub-state/hub/pages-token'), 'utf8')).trim();
    expect((await ask('/')).text).toContain('<div id="app">');
    expect(await ask('/api/overview')).toMatchObject({ status: 401 });
    const signedIn = await ask('/api/session', { token });
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0];
    const found = await until(
      () => ask('/api/overview', undefined, cookie),
      ({ text }) => text.includes(run) && text.includes('succeeded'),
    );
    expect(found.status).toBe(200);
    expect(await ask('/api/stop', { runId: run }, cookie)).toMatchObject({ status: 403 });
    // It has a folder of its own for that: what the submitter has is as it was.
    expect(await shown.list('.agentos/runs')).toEqual([run]);
    expect(hub.program().stdout()).not.toContain(token);
  },
);

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Of the hub's pages; with a body: POST. */
function ask(path: string, body?: object, cookie = ''): Promise<Answer> {
  const origin = `https://127.0.0.1:${hub.port()}`;
  const headers = { origin, cookie, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const request = https.request(`${origin}${path}`, { method, headers, rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on('error', reject).end(body && JSON.stringify(body));
  });
}

/** Looks until it is as wanted. */
async function until<T>(look: () => Promise<T>, isWanted: (found: T) => boolean, withinMs = 30_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (isWanted(found)) return found;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${JSON.stringify(found)}`);
  }
}

/** The drafts of an issue wait until the returned function is called. */
function hold(id: string): () => void {
  const gate = Promise.withResolvers<void>();
  held.set(id, gate.promise);
  return () => {
    held.delete(id);
    gate.resolve();
  };
}
