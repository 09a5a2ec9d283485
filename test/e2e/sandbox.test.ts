import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/core/summary.ts';
import { approve, designedRepository, IMPLEMENTER, reviewerSaying } from '../support/implement.ts';
import { ISSUE, lldFor, review, vendorEnv } from '../support/models.ts';
import { eventually, processesWith } from '../support/processes.ts';
import { agentos, type Ended, PROJECT, startAgentos } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { outerAddress, pathWithout, whyNoSandbox } from '../support/sandbox.ts';
import { startVendor } from '../support/vendor/index.ts';

const SECRET = 'must-not-be-seen';
const PROBE = join(PROJECT, 'test', 'support', 'sandbox-probe.mjs');
const missing = whyNoSandbox();
if (missing !== null) process.stderr.write(`sandboxes are not tested: ${missing}\n`);

async function listening(server: Server, where: ListenOptions): Promise<number> {
  await new Promise<void>((resolve) => server.listen(where, () => resolve()));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function summaryOf(repository: TestRepository): Promise<Summary> {
  const [run] = (await repository.list('.agentos/runs')).toReversed();
  return JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`)) as Summary;
}

type Found = Record<string, string>;

interface Prepared {
  repository: TestRepository;
  /** Holds the probe and its targets; a `command:` names it. */
  tools: string;
  mark: string;
  env: Record<string, string>;
}

/** A repository around which everything is that a program of an item must not get at. */
async function prepared(): Promise<Prepared> {
  const repository = await designedRepository([]);
  const { home, work } = repository;
  const root = await realpath(repository.root);
  const around = dirname(home);
  const tools = join(around, 'tools');
  for (const folder of [tools, join(home, '.ssh'), join(home, '.cargo'), join(work, 'caches')])
    await mkdir(folder, { recursive: true });
  for (const folder of ['worktrees', 'homes']) await mkdir(join(work, folder, 'implement-99'), { recursive: true });
  const files = {
    [join(home, '.ssh', 'id')]: SECRET,
    [join(home, '.netrc')]: SECRET,
    [join(home, 'notes.txt')]: SECRET,
    [join(around, 'other.txt')]: SECRET,
    [join(root, 'untracked.txt')]: SECRET,
    [join(work, 'worktrees', 'implement-99', 'x')]: SECRET,
    [join(work, 'homes', 'implement-99', 'x')]: SECRET,
    [join(tools, 'beside.txt')]: 'named by the command, with what is beside it',
  };
  for (const [path, text] of Object.entries(files)) await writeFile(path, text);
  await copyFile(PROBE, join(tools, 'probe.mjs'));
  repository.git('config', 'http.extraHeader', `Authorization: ${SECRET}`);
  repository.git('remote', 'add', 'origin', `https://me:${SECRET}@example.org/x.git`);

  const outer = outerAddress();
  const port = await listening(createServer(), { port: 0, host: '0.0.0.0' });
  const abstract = `\0agentos-test-${process.pid}-${port}`;
  await listening(createServer(), { path: abstract });
  const socket = join(around, 'x.sock');
  await listening(createServer(), { path: socket });
  const mark = `agentos-probe-${process.pid}-${port}`;
  const targets = {
    secret: SECRET,
    mark,
    hidden: home,
    link: join(home, 'notes.txt'),
    read: {
      home: join(home, 'notes.txt'),
      keys: join(home, '.ssh', 'id'),
      netrc: join(home, '.netrc'),
      'the checkout': join(root, 'src', 'main.js'),
      'what is not tracked': join(root, 'untracked.txt'),
      'the state folder': join(root, '.agentos', 'runs'),
      'the worktree of another item': join(work, 'worktrees', 'implement-99', 'x'),
      'the home of another item': join(work, 'homes', 'implement-99', 'x'),
      'hooks of the repository': join(root, '.git', 'hooks'),
      'the system': '/etc/passwd',
      'passwords of the system': '/etc/shadow',
    },
    list: { 'the home': home, 'the checkout': root, 'sockets of the system': '/run' },
    write: {
      'the checkout': join(root, 'by-probe.txt'),
      'the repository': join(root, '.git', 'by-probe'),
      'objects of the repository': join(root, '.git', 'objects', 'by-probe'),
      'beside the worktree': '../by-probe.txt',
      'the system': '/etc/by-probe',
      'shared caches': join(work, 'caches', 'by-probe'),
    },
    reach: {
      'loopback of the machine': { host: '127.0.0.1', port },
      'the internet': { host: outer ?? '203.0.113.1', port },
      'an abstract socket': { path: abstract },
      'a socket': { path: socket },
    },
    fetch: { 'what is not allowed': `http://${outer ?? '203.0.113.1'}:${port}/` },
  };
  await writeFile(join(tools, 'targets.json'), JSON.stringify(targets));
  const env = { HOME: home, ANTHROPIC_API_KEY: SECRET };
  return { repository, tools, mark, env };
}

/** The same wherever a program of an item runs. */
const CONFINED: Found = {
  'read home': 'ENOENT',
  'read keys': 'ENOENT',
  'read netrc': 'ENOENT',
  'read the checkout': 'ENOENT',
  'read what is not tracked': 'ENOENT',
  'read the state folder': 'ENOENT',
  'read the worktree of another item': 'ENOENT',
  'read the home of another item': 'ENOENT',
  'read hooks of the repository': 'ENOENT',
  'read the system': 'yes',
  'read passwords of the system': 'EACCES',
  'list the home': '',
  'list the checkout': '.git',
  'list sockets of the system': '',
  'write the checkout': 'EROFS',
  'write the repository': 'EROFS',
  'write objects of the repository': 'EROFS',
  'write beside the worktree': 'EROFS',
  'write the system': 'EROFS',
  'reach loopback of the machine': 'ECONNREFUSED',
  'reach the internet': 'ENETUNREACH',
  'reach an abstract socket': 'ECONNREFUSED',
  'reach a socket': 'ENOENT',
  'reach own loopback': 'yes',
  'other processes': 'none',
  environments: 'none',
  rights: '0000000000000000 0000000000000000 1',
  devices: '',
  'change the kernel': process.getuid?.() === 0 ? 'EROFS' : 'EACCES',
  mount: 'refused',
  unmount: 'refused',
  keyrings: expect.stringMatching(/^(?:1|untried)$/),
  'sockets out of a virtual machine': expect.stringMatching(/^(?:97|untried)$/),
  'git config': 'clean',
  'git commit': 'refused',
};

describe.skipIf(missing !== null)('in bubblewrap', () => {
  test('set-up, tests and an implementer see, change and reach nothing outside, and leave nothing behind', async () => {
    const { repository, tools, mark, env } = await prepared();
    // A key that we know of stays hidden, also in a folder that the command names.
    const keyFile = join(tools, 'app.pem');
    await writeFile(keyFile, SECRET);
    const targets = JSON.parse(await readFile(join(tools, 'targets.json'), 'utf8')) as { read: Record<string, string> };
    targets.read['the key of the app'] = keyFile;
    await writeFile(join(tools, 'targets.json'), JSON.stringify(targets));
    const config = join(repository.home, '..', 'agentos.yaml');
    await writeFile(config, JSON.stringify({ github: { app: { id: 1, installation: 2, keyFile } } }));
    // The set-up and the suite run it from the worktree, where it is committed.
    await copyFile(PROBE, join(repository.root, 'probe.mjs'));
    await copyFile(join(tools, 'targets.json'), join(repository.root, 'targets.json'));
    const probe = (name: string): string => `node probe.mjs targets.json "$HOME/by-${name}.json"`;
    const scripts = { preinstall: probe('setup'), test: `${probe('tests')}; node --test` };
    await repository.write('package.json', JSON.stringify({ name: 'sample', type: 'module', scripts }));
    repository.git('add', 'package.json', 'probe.mjs', 'targets.json');
    repository.git('commit', '--quiet', '-m', 'Probes');
    await approve(repository, '42', lldFor('42'));
    const command = `node '${tools}/probe.mjs' '${tools}/targets.json' "$HOME/by-agent.json"; cat '${tools}/beside.txt'; exit 3`;
    const models = ['--implementer', `command:${command}`, '--reviewer', 'command:false', '--config', config];
    const ended = await agentos(['implement', '42', '--max-retries', '0', '--sandbox', 'on', ...models], {
      cwd: repository.root,
      env,
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(1);
    expect(ended.stdout).toContain('named by the command, with what is beside it');
    expect(ended.stdout).toMatch(/ended with exit code 3/);
    expect(ended.stdout + ended.stderr).toContain('It ran in the sandbox');
    const home = join(repository.work, 'homes', 'implement-42');
    const found = async (name: string): Promise<Found> =>
      JSON.parse(await readFile(join(home, `by-${name}.json`), 'utf8'));
    const inside = {
      'write the worktree': 'yes',
      'write the home': 'yes',
      'write the temporary folder': 'yes',
      // It leads to where nothing is, in a home that is the program's own.
      'write through a link': 'yes',
      'read through a link': 'yes',
      'git log': 'Probes',
      'read the key of the app': expect.stringMatching(/^E/),
    };
    const confined = { ...CONFINED, ...inside };
    expect(await found('setup')).toEqual({
      ...confined,
      'write shared caches': 'yes',
      'fetch what is not allowed': '403',
    });
    for (const program of ['tests', 'agent'])
      expect(await found(program), program).toEqual({
        ...confined,
        'write shared caches': 'EROFS',
        'fetch what is not allowed': 'no proxy',
      });
    expect(await readFile(join(repository.home, 'notes.txt'), 'utf8')).toBe(SECRET);
    expect(existsSync('/tmp/made-by-probe')).toBe(false);
    expect(repository.git('status', '--porcelain', '--untracked-files=all', '--', 'src', 'probe.mjs')).toBe('');
    expect(processesWith(mark)).toEqual([]);
    expect(ended.stdout).toMatch(/the set-up may not reach \S+; if it has to, add it to sandbox\.hosts/);
  });

  test('a drafter reads its worktree and changes nothing in it', async () => {
    const { repository, tools, mark, env } = await prepared();
    await repository.write('issues/42.md', ISSUE);
    await writeFile(join(tools, 'lld.md'), lldFor('42'));
    await writeFile(join(tools, 'review.md'), review({ verdict: 'APPROVED' }));
    const drafter = `node '${tools}/probe.mjs' '${tools}/targets.json' >&2; cat '${tools}/lld.md'`;
    const models = ['--drafter', `command:${drafter}`, '--reviewer', `command:cat '${tools}/review.md'`];
    const ended = await agentos(['lld', '42', ...models], { cwd: repository.root, env });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    const found = JSON.parse(/PROBE (.*)/.exec(ended.stdout)?.[1] ?? '{}') as Found;
    expect(found).toEqual({
      ...CONFINED,
      'write the worktree': 'EROFS',
      'write the home': 'yes',
      'write the temporary folder': 'yes',
      'write through a link': 'EROFS',
      'read through a link': 'ENOENT',
      'write shared caches': 'EROFS',
      'fetch what is not allowed': 'no proxy',
      'git log': 'Start',
    });
    expect((await readdir(repository.home)).sort()).toEqual(['.cargo', '.netrc', '.ssh', 'notes.txt']);
    expect(processesWith(mark)).toEqual([]);
  });

  test('when the program is killed, everything in its sandboxes ends, also what has left group and environment', async () => {
    const repository = await designedRepository(['42']);
    const mark = `agentos-escaped-${process.pid}`;
    const escape = `setsid env -i sh -c 'cd /; (sleep 600 # ${mark}\n) & sleep 600 # ${mark}' &`;
    const command = `${escape} while :; do echo held; sleep 0.1; done`;
    const models = ['--implementer', `command:${command}`, '--reviewer', 'command:false', '--sandbox', 'on'];
    const env = { HOME: repository.home };
    const started = startAgentos(['implement', '42', ...models], { cwd: repository.root, env });
    await started.printed('[IMPL-42] held');
    await eventually('the escaped processes are there', () => processesWith(mark).length > 0);
    started.child.kill('SIGKILL');
    await started.ended;
    await eventually('nothing is left', () => processesWith(mark).length === 0);
    expect(processesWith(mark)).toEqual([]);
  });

  test('a program that is stopped has time to end by itself', async () => {
    const repository = await designedRepository(['42']);
    const command = `trap 'echo said go""odbye; exit 1' TERM; echo rea""dy; while :; do sleep 0.05; done`;
    const models = ['--implementer', `command:${command}`, '--reviewer', 'command:false', '--sandbox', 'on'];
    const env = { HOME: repository.home };
    const started = startAgentos(['implement', '42', ...models], { cwd: repository.root, env });
    await started.printed('[IMPL-42] ready');
    started.child.kill('SIGTERM');
    const { code, stdout } = await started.ended;
    expect(code).toBe(143);
    expect(stdout).toContain('[IMPL-42] said goodbye');
  });

  test('an agent reaches the gateway, and no vendor by itself', async () => {
    const vendor = await startVendor({ script: () => ({ text: lldFor('42') }) });
    onTestFinished(() => vendor.close());
    const repository = await testRepository({ 42: ISSUE });
    const bin = join(repository.home, '..', 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'claude'), CLAUDE);
    await chmod(join(bin, 'claude'), 0o755);
    const file = join(repository.home, '..', 'review.md');
    await writeFile(file, review({ verdict: 'APPROVED' }));
    await repository.write('vendor-url.txt', vendor.url);
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '-m', 'Where the vendor is');
    const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
    const models = ['--drafter', 'claude-code:claude-sonnet-4-5', '--reviewer', `command:cat '${file}'`];
    const ended = await agentos(['lld', '42', '--sandbox', 'on', ...models], {
      cwd: repository.root,
      env: { ...vendorEnv(vendor.url), HOME: repository.home, PATH },
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout).toContain('the vendor itself: ECONNREFUSED');
    expect((await summaryOf(repository)).items[0]?.costUsd).toBeGreaterThan(0);
  });

  test('an agent with its own login has its settings and the network, and nothing else of the home', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const { home } = repository;
    const bin = join(home, '..', 'bin');
    for (const folder of [bin, join(home, '.claude'), join(home, '.ssh')]) await mkdir(folder);
    const port = await listening(createServer(), { port: 0, host: '127.0.0.1' });
    const files = {
      [join(home, '.claude', 'login')]: 'a login',
      [join(home, '.ssh', 'id')]: SECRET,
      [join(bin, 'lld.md')]: lldFor('42'),
      [join(bin, 'review.md')]: review({ verdict: 'APPROVED' }),
      [join(bin, 'port')]: String(port),
      [join(bin, 'claude')]: OWN_LOGIN,
    };
    for (const [path, text] of Object.entries(files)) await writeFile(path, text);
    await chmod(join(bin, 'claude'), 0o755);
    await repository.write('agentos.yaml', 'agents: { claude-code: { login: agent } }\n');
    const models = ['--drafter', 'claude-code', '--reviewer', `command:cat '${bin}/review.md'`];
    const ended = await agentos(['lld', '42', '--trust', '--sandbox', 'on', ...models], {
      cwd: repository.root,
      env: { HOME: home, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout).toContain('[LLD-42] login: a login, network: yes, keys: ENOENT, checkout: ENOENT');
    expect(await readFile(join(home, '.claude', 'used'), 'utf8')).toBe('x');
  });

  test('npm installs from a registry on loopback and from one behind the proxy', async () => {
    const tarball = await packed();
    const asked: string[] = [];
    const registry = createHttpServer((request, response) => {
      asked.push(`${request.headers.host} ${request.url}`);
      const name = decodeURIComponent(/^\/([^/]+)/.exec(request.url ?? '')?.[1] ?? '');
      const dist = { tarball: `http://${request.headers.host}/${encodeURIComponent(name)}/-/${name.slice(-4)}.tgz` };
      const versions = { '1.0.0': { name, version: '1.0.0', main: 'index.js', dist } };
      const facts = JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions });
      response.end(request.url?.endsWith('.tgz') ? tarball : facts);
    });
    const port = await listening(registry, { port: 0, host: '0.0.0.0' });
    const [near, far] = [`127.0.0.1:${port}`, `${outerAddress() ?? '127.0.0.1'}:${port}`];
    const repository = await designedRepository([]);
    const dependencies = { tiny: '1.0.0', '@near/tiny': '1.0.0' };
    const manifest = { name: 'sample', type: 'module', scripts: { test: 'node --test' }, dependencies };
    await repository.write('package.json', JSON.stringify(manifest));
    await repository.write('.gitignore', 'node_modules\n');
    await repository.write('.npmrc', `@near:registry=http://${near}/\n`);
    await repository.write('agentos.yaml', `sandbox: { hosts: ["${near}"] }\n`);
    await repository.write('src/main.js', "import 'tiny';\nexport { answer } from '@near/tiny';\n");
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '-m', 'Dependencies');
    await approve(repository, '42', lldFor('42'));
    const models = ['--implementer', 'command:exit 3', '--reviewer', 'command:false', '--sandbox', 'on'];
    const ended = await agentos(['implement', '42', '--trust', '--max-retries', '0', ...models], {
      cwd: repository.root,
      env: { HOME: repository.home, npm_config_registry: `http://${far}/` },
    });
    expect(ended.stdout, ended.stderr).toMatch(/baseline: .*1 passed/);
    for (const host of [near, far])
      expect(asked).toContainEqual(expect.stringMatching(new RegExp(`^${host.replaceAll('.', '\\.')} .*tiny\\.tgz$`)));
    expect(await readdir(join(repository.work, 'caches'))).toContain('npm');
  });
});

/** Answers as Claude Code does, with what it is told by the gateway; and tries to pass it by. */
const CLAUDE = `#!/usr/bin/env node
const fs = require('node:fs');
const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = process.env;
const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
const body = { model: 'claude-sonnet-4-5', max_tokens: 4096, messages: [{ role: 'user', content: fs.readFileSync(0, 'utf8') }] };
(async () => {
  const direct = await fetch(fs.readFileSync('vendor-url.txt', 'utf8')).catch((error) => error.cause);
  say({ type: 'assistant', message: { content: [{ type: 'tool_use', name: 'the vendor itself: ' + direct.code, input: {} }] } });
  const answer = await fetch(ANTHROPIC_BASE_URL + '/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': ANTHROPIC_API_KEY, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  });
  const { content } = await answer.json();
  say({ type: 'result', subtype: 'success', is_error: false, result: content[0].text });
})();
`;

const OWN_LOGIN = `#!/usr/bin/env node
const fs = require('node:fs');
const { join } = require('node:path');
const attempt = (work) => { try { return String(work()); } catch (error) { return error.code; } };
const home = process.env.HOME;
const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
fs.writeFileSync(join(home, '.claude', 'used'), 'x');
const login = attempt(() => fs.readFileSync(join(home, '.claude', 'login')));
const keys = attempt(() => fs.readFileSync(join(home, '.ssh', 'id')));
const checkout = attempt(() => fs.readFileSync(join(home, '..', 'repo sitory', 'src', 'main.js')));
const socket = require('node:net').connect(Number(fs.readFileSync(join(__dirname, 'port'))), '127.0.0.1');
const end = (network) => {
  socket.destroy();
  const name = 'login: ' + login + ', network: ' + network + ', keys: ' + keys + ', checkout: ' + checkout;
  say({ type: 'assistant', message: { content: [{ type: 'tool_use', name, input: {} }] } });
  const result = fs.readFileSync(join(__dirname, 'lld.md'), 'utf8');
  say({ type: 'result', subtype: 'success', is_error: false, result });
};
socket.on('connect', () => end('yes')).on('error', (error) => end(error.code));
`;

async function packed(): Promise<Buffer> {
  const folder = join((await testRepository({}, { commit: false })).home, 'pack');
  await mkdir(join(folder, 'package'), { recursive: true });
  const manifest = { name: 'tiny', version: '1.0.0', type: 'module', main: 'index.js' };
  await writeFile(join(folder, 'package', 'package.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'package', 'index.js'), 'export const answer = 42;\n');
  const { status, stderr } = spawnSync('tar', ['czf', 'x.tgz', 'package'], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return readFile(join(folder, 'x.tgz'));
}

describe('without bubblewrap', () => {
  test('on is refused with what to do, auto says once what is not protected, off says nothing', async () => {
    const repository = await designedRepository(['42']);
    const plain = pathWithout('bwrap', join(repository.home, '..', 'plain'));
    const broken = join(repository.home, '..', 'broken');
    await mkdir(broken);
    await writeFile(
      join(broken, 'bwrap'),
      '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2; exit 1\n',
    );
    await chmod(join(broken, 'bwrap'), 0o755);
    const models = ['--implementer', 'command:exit 3', '--reviewer', 'command:false'];
    const implement = (PATH: string, ...flags: string[]): Promise<Ended> =>
      agentos(['implement', '42', '--max-retries', '0', ...models, ...flags], {
        cwd: repository.root,
        env: { HOME: repository.home, PATH },
      });
    expectRefusal(
      await implement(plain, '--sandbox', 'on'),
      'There is no sandbox: bubblewrap (bwrap) is not installed.',
      'apt-get install bubblewrap',
    );
    expectRefusal(
      await implement(`${broken}${delimiter}${plain}`, '--sandbox', 'on'),
      'does not work here: bwrap: No permissions to create new namespace',
      'Or run without one: --sandbox off',
    );
    expect(await repository.list('.agentos/runs')).toEqual([]);
    expectRefusal(
      await implement(plain, '--sandbox', 'maybe'),
      "argument 'maybe' is invalid",
      'Write auto, on or off.',
    );

    const auto = await implement(plain);
    expect(auto.code).toBe(1);
    expect(auto.stdout.match(/No sandbox: bubblewrap \(bwrap\) is not installed/g)).toHaveLength(1);
    expect(auto.stdout).toContain('can read and change your files, use the network and leave processes behind');
    const off = await implement(plain, '--sandbox', 'off');
    expect(off.code).toBe(1);
    expect(off.stdout).not.toContain('No sandbox');
    expect(off.stdout).toMatch(/Retry with: agentos implement --ids 42 .*--sandbox off/);
    const [run] = (await repository.list('.agentos/runs')).toReversed();
    const { request } = JSON.parse(await repository.read(`.agentos/runs/${run}/run.json`));
    expect(request.config).toMatchObject({ sandbox: 'off' });

    const doctor = await agentos(['doctor'], { cwd: repository.root, env: { HOME: repository.home, PATH: plain } });
    expect(doctor.stdout).toMatch(/^note +sandbox +none: bubblewrap \(bwrap\) is not installed$/m);
  });
});

test.skipIf(missing !== null)('links that an agent leaves in its home lead the program nowhere', async () => {
  const repository = await designedRepository(['42']);
  const outside = join(repository.home, '..', 'outside');
  await mkdir(outside);
  const { mtimeMs } = await stat(outside);
  const agent = join(repository.home, '..', 'agent.sh');
  const leaveLink = `rm -rf "$HOME/test-reports"; ln -s '${outside}' "$HOME/test-reports"`;
  await writeFile(agent, `sh '${IMPLEMENTER}' || exit 1\n${leaveLink}\n`);
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const implementers = ['--implementer', `command:sh '${agent}' '${IMPLEMENTER}'`, '--reviewer', reviewer];
  const ended = await agentos(['implement', '42', ...implementers], {
    cwd: repository.root,
    env: { HOME: repository.home },
  });
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  expect((await stat(outside)).mtimeMs).toBe(mtimeMs);
});

test.skipIf(missing !== null)('a folder that the shell left open leads no program out of the sandbox', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const secret = join(repository.home, 'secret.txt');
  await writeFile(secret, SECRET);
  const drafter = `command:ls /proc/self/fd/20/ /proc/self/fd/200/ >&2; cat '/proc/self/fd/20${secret}' >&2; exit 3`;
  const models = ['--drafter', drafter, '--reviewer', 'command:false'];
  const ended = await agentos(['lld', '42', '--max-retries', '0', ...models], {
    cwd: repository.root,
    env: { HOME: repository.home },
    under: ['bash', '-c', 'exec 20</ 200</; exec "$@"', 'bash'],
  });
  expect(ended.stdout).toContain('ended with exit code 3');
  expect(ended.stdout).not.toContain(SECRET);
  for (const fd of [20, 200]) expect(ended.stdout).toContain(`cannot access '/proc/self/fd/${fd}/'`);
});

test('a repository that turns the sandbox off or names hosts has to be trusted', async () => {
  const repository = await designedRepository(['42']);
  const env = { HOME: repository.home };
  const implement = (): Promise<Ended> =>
    agentos(
      ['implement', '42', '--implementer', 'command:exit 3', '--reviewer', 'command:false', '--max-retries', '0'],
      {
        cwd: repository.root,
        env,
      },
    );
  await repository.write('agentos.yaml', 'sandbox: { mode: off, hosts: [packages.example.org, "127.0.0.1:4873"] }\n');
  const refused = await implement();
  expectRefusal(refused, 'turns off the sandbox (sandbox.mode)', 'agentos trust');
  expect(refused.stderr).toContain('lets the set-up reach packages.example.org, 127.0.0.1:4873 (sandbox.hosts)');
  await repository.write('agentos.yaml', 'sandbox: { mode: auto }\n');
  expect((await implement()).code).toBe(1);
  await repository.write('agentos.yaml', 'sandbox: { hosts: ["https://x"] }\n');
  expectRefusal(
    await implement(),
    'agentos.yaml:1: sandbox.hosts.0 is not a host such as registry.example.com',
    'agentos init --print',
  );
});
