import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commitProject } from '../support/implement.ts';
import { ISSUE } from '../support/models.ts';
import { agentos, type Ended, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';

const KEY = 'sk-ant-api03-0123456789abcdef0123456789';
/** A reader that takes the square of its input would take minutes for these. */
const LINES = 200_000;
const SOON_MS = 40_000;

function beside({ home }: TestRepository, name: string): string {
  return join(home, '..', name);
}

/** Ends with the test when it takes longer than any linear reader does. */
async function soon(args: string[], repository: TestRepository, env: Record<string, string> = {}): Promise<Ended> {
  const under = ['timeout', '--signal=KILL', String(SOON_MS / 1_000)];
  return agentos(args, { cwd: repository.root, env: { HOME: repository.home, ...env }, under });
}

test('committed files that are links, pipes, bombs or programs are not followed, waited for, worked off or run', async () => {
  const repository = await testRepository({}, { commit: false });
  await commitProject(repository);
  const { root } = repository;
  const outside = beside(repository, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret.md'), '# The secret of this person\n\nIt must not be read.\n');
  await repository.write('issues/1.md', ISSUE);
  await symlink(join(outside, 'secret.md'), join(root, 'issues/2.md'));
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', join(root, 'issues/3.md')]);
  await repository.write('issues/4.md', `# Large\n\n${'x'.repeat(1_100_000)}\n`);
  await repository.write('issues/5.md', `# Brackets\n\n${'['.repeat(LINES)}\n\n${' '.repeat(LINES)}x\n\n- [ ] a\n`);
  await repository.write('issues/6.md', `---\nx: "${'y'.repeat(20_000)}"\ntitle: Front matter bomb\n---\n${ISSUE}`);
  await repository.write('issues/7.md', ISSUE);
  await mkdir(join(root, 'docs/lld'), { recursive: true });
  await symlink(join(outside, 'secret.md'), join(root, 'docs/lld/LLD-7.md'));
  await mkdir(join(root, 'src', 'a\u001b[2J\u202e\n[LLD-1] succeeded'), { recursive: true });
  await writeFile(join(root, 'src', 'a\u001b[2J\u202e\n[LLD-1] succeeded', 'item-1.js'), 'export const item42 = 1;\n');

  // Scripts that multiply, a pattern that takes for ever, and settings of package managers with very many empty lines.
  const scripts = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [
      `s${at}`,
      Array(40)
        .fill(`npm run s${at + 1}`)
        .join(' && '),
    ]),
  );
  const bomb = {
    name: 'bomb',
    scripts: { ...scripts, test: 'npm run s0; pnpm run "/^(a+)+$/"', [`${'a'.repeat(60)}!`]: 'x' },
  };
  await repository.write('package.json', JSON.stringify(bomb));
  for (const name of ['.npmrc', 'pyproject.toml', 'requirements.txt', 'go.work', 'go.mod'])
    await repository.write(name, '\n'.repeat(LINES));

  // Programs of every name that this program may start, where npm puts what a repository installed.
  const bin = join(root, 'node_modules', '.bin');
  await mkdir(bin, { recursive: true });
  const sprung = beside(repository, 'sprung');
  for (const name of ['git', 'claude', 'bwrap', 'sh', 'rg', 'gh', 'npm'])
    await writeFile(join(bin, name), `#!/bin/sh\necho ${name} >> '${sprung}'\n`, { mode: 0o755 });
  repository.git('add', '--all', '--force', 'src', 'node_modules', 'docs', 'package.json', '.npmrc');
  repository.git('commit', '--quiet', '-m', 'Traps');
  const env = { PATH: [bin, '.', process.env['PATH'] ?? ''].join(delimiter) };

  const lld = await soon(['lld', '--all', '--offline', '--parallel', '2', '--max-retries', '0'], repository, env);
  const shown = lld.stdout + lld.stderr;
  expect.soft(lld.code, shown).toBe(1);
  for (const reason of [
    /\[LLD-2\].*2\.md is a link that leaves the folder/,
    /\[LLD-3\].*3\.md is not a regular file/,
    /\[LLD-4\].*4\.md is larger than 1 MB/,
    /\[LLD-5\] discuss/,
    // What is not parsed names nothing.
    /\[LLD-6\] Add a number/,
    /\[LLD-7\].*LLD-7\.md is a link that leaves the folder/,
  ])
    expect.soft(shown).toMatch(reason);
  expect.soft(shown).not.toContain('secret of this person');

  const context = await soon(['context', '1'], repository, env);
  expect.soft(context.code, context.stderr).toBe(0);
  const doctor = await soon(['doctor'], repository, env);
  expect.soft(doctor.stdout, doctor.stderr).toMatch(/^\S+ +sandbox /m);
  for (const { stdout, stderr } of [lld, context, doctor]) {
    expect.soft(stdout + stderr).not.toMatch(/[\u001b\u202e]/);
    expect.soft(stdout + stderr).not.toMatch(/^\[LLD-1\] succeeded$/m);
  }

  const agent = ['--drafter', 'claude-code:claude-sonnet-4-5', '--reviewer', 'command:false'];
  const refused = await soon(['lld', '1', ...agent, ...WITHOUT_SANDBOX], repository, {
    ...env,
    ANTHROPIC_API_KEY: KEY,
  });
  expect.soft(refused.code, refused.stdout).not.toBe(0);
  expect.soft(existsSync(sprung)).toBe(false);

  const names = Array.from({ length: LINES }, (_, at) => at.toString(36)).join(',');
  await repository.write('agentos.yaml', `{${names}}`);
  const bombed = await soon(['status'], repository, env);
  expect.soft([bombed.code, bombed.stderr]).toEqual([2, expect.stringContaining('longer than 64 KB')]);
  await rm(join(root, 'agentos.yaml'));

  // Short rows below a long header, which a reader could pad.
  await repository.write(
    'wide.md',
    `# 1 - Feature: x\n\n${'|a'.repeat(80_000)}\n${'|-'.repeat(80_000)}\n${'|b\n'.repeat(8_000)}`,
  );
  expect.soft((await soon(['check', 'wide.md'], repository, env)).code).toBe(1);

  // The name of a model that a program would take for an option: models need no trust.
  await repository.write('agentos.yaml', 'models: { drafter: "gemini-cli:--yolo" }\n');
  const option = await soon(['lld', '1'], repository, env);
  expect.soft([option.code, option.stderr]).toEqual([2, expect.stringContaining('does not begin with a hyphen')]);
  await rm(join(root, 'agentos.yaml'));

  // Folders of ours that lead elsewhere are refused as a whole.
  for (const name of ['docs/lineage', 'docs/lld', 'issues']) {
    await rm(join(root, name), { recursive: true, force: true });
    await symlink(outside, join(root, name));
    const linked = await soon(['lld', '1', '--offline'], repository, env);
    expect.soft([linked.code, linked.stderr], name).toEqual([2, expect.stringContaining(name)]);
    await rm(join(root, name));
  }
}, 180_000);

test('no key leaves for an address that a repository names, and no command of a committed run is resumed', async () => {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(JSON.stringify(request.headers));
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const repository = await testRepository({ 1: ISSUE });
  const { root } = repository;
  const token = 'ghp_0123456789abcdef0123';
  const env = { HOME: repository.home, ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: `${KEY}g`, GITHUB_TOKEN: token };
  const options = { cwd: root, env };
  await repository.write(
    'agentos.yaml',
    [
      `endpoints: &all { anthropic: "${url}", google: "${url}", openai: "${url}/v1", openai-compatible: "${url}/v1" }`,
      'keys: { openai: [GITHUB_TOKEN], openai-compatible: [ANTHROPIC_API_KEY] }',
      'passEnvironment: [GITHUB_TOKEN]',
      '',
    ].join('\n'),
  );
  for (const args of [['doctor', '--keys'], ['lld', '1'], ['keys']]) await agentos(args, options);
  expect.soft(received).toEqual([]);
  // With a yes, what was named goes there; a vendor's standard key still goes to that vendor alone.
  const models = ['--drafter', 'openai:gpt-5', '--reviewer', 'openai-compatible:x', '--max-retries', '0'];
  await agentos(['lld', '1', '--trust', ...models], options);
  const trusted = await agentos(['lld', '1', '--trust', '--max-retries', '0'], options);
  expect.soft(trusted.code).toBe(2);
  expect.soft(trusted.stderr).toContain("which is not the host of that key's vendor");
  expect.soft(received.join('\n')).not.toContain(KEY);
  // Nor does it go to another vendor that the repository names it for.
  await repository.write('agentos.yaml', 'keys: { openai: [ANTHROPIC_API_KEY] }\n');
  const lent = await agentos(['lld', '1', '--trust', ...models.slice(0, 2), '--reviewer', 'command:x'], options);
  expect.soft([lent.code, lent.stderr]).toEqual([2, expect.stringContaining('a standard key to api.openai.com')]);
  await rm(join(root, 'agentos.yaml'));

  // A copied `.git` that says that another folder holds its files.
  const victim = beside(repository, 'victim');
  await cp(join(root, 'issues'), join(victim, 'issues'), { recursive: true });
  repository.git('config', 'core.worktree', victim);
  const led = await agentos(['lld', '1', '--offline'], options);
  expect.soft([led.code, led.stderr]).toEqual([2, expect.stringContaining('core.worktree')]);
  expect.soft(readdirSync(victim)).toEqual(['issues']);
  execFileSync('git', ['config', '--file', join(root, '.git', 'config'), '--unset', 'core.worktree']);

  // A run of somebody else, committed with its state: resuming it would run what that person chose.
  const ran = beside(repository, 'ran');
  const command = ['--drafter', `command:echo x >> '${ran}'; exit 1`, '--reviewer', 'command:false'];
  await agentos(['lld', '1', ...command, '--max-retries', '0', ...WITHOUT_SANDBOX], options);
  expect(existsSync(ran)).toBe(true);
  await rm(ran);
  const clone = beside(repository, 'clone');
  repository.git('add', '--all', '--force', '.agentos');
  repository.git('commit', '--quiet', '-m', 'A state folder');
  execFileSync('git', ['clone', '--quiet', root, clone]);
  await cp(join(root, 'issues'), join(clone, 'issues'), { recursive: true });
  await chmod(join(clone, '.agentos'), 0o755);
  const resumed = await agentos(['resume'], { cwd: clone, env });
  expect.soft([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining('committed to the repository')]);
  expect.soft(existsSync(ran)).toBe(false);
}, 120_000);
