import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type TestRepository, testRepository } from '../../test/support/repository.ts';
import { createGit, type Git } from './git.ts';

/** Git in a repository, whose program does this before it becomes the real one. */
async function gitAfter(repository: TestRepository, script: string): Promise<Git> {
  const folder = join(repository.home, '..', 'bin');
  const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
  await mkdir(folder);
  await writeFile(
    join(folder, 'git'),
    `#!/bin/sh\ncd '${repository.home}'/..\n${script}\ncd "$OLDPWD"\nexec '${real}' "$@"\n`,
  );
  await chmod(join(folder, 'git'), 0o755);
  return createGit(repository.root, { PATH: `${folder}:${process.env['PATH']}`, HOME: repository.home });
}

test('one process answers all questions, in their order', async () => {
  const repository = await testRepository({}, { commit: false });
  const large = 'x'.repeat(3_000_000);
  await repository.write('large.txt', large);
  await repository.write('with space.txt', 'two words\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Start');
  const git = await gitAfter(repository, 'echo started >> starts');
  const names = [
    'HEAD:src/main.js',
    'HEAD:missing',
    'HEAD:with space.txt',
    'HEAD:large.txt',
    'HEAD:a\nHEAD:b',
    'HEAD:src',
  ];
  const asked = Array.from({ length: 50 }, () => names).flat();
  const objects = await Promise.all(asked.map((name) => git.object(name)));
  const expected = ['export const answer = 42;\n', null, 'two words\n', large, null];
  for (let at = 0; at < objects.length; at += names.length) {
    const texts = objects.slice(at, at + 5).map((object) => object?.content.toString('utf8') ?? null);
    expect(texts).toEqual(expected);
    expect(objects[at + 5]?.type).toBe('tree');
  }
  expect((await git.object('HEAD^{tree}'))?.id).toBe(repository.git('rev-parse', 'HEAD^{tree}'));
  // What is new is found by a process that has looked before.
  await repository.write('new.txt', 'new\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Second');
  expect((await git.object('HEAD:new.txt'))?.content.toString('utf8')).toBe('new\n');
  expect(await readFile(join(repository.home, '..', 'starts'), 'utf8')).toBe('started\n');
});

test('a process that ends fails its questions, and the next one starts another', async () => {
  const repository = await testRepository({});
  const git = await gitAfter(repository, 'if mkdir failed 2> /dev/null; then exit 3; fi');
  const asked = await Promise.allSettled(['HEAD', 'HEAD:src'].map((name) => git.object(name)));
  for (const { status, ...rest } of asked) {
    expect(status).toBe('rejected');
    expect(rest).toMatchObject({ reason: { problem: { code: 'git-failed', command: 'git cat-file --batch' } } });
  }
  expect((await git.object('HEAD:src'))?.type).toBe('tree');
});

test('a machine without git says so', async () => {
  const repository = await testRepository({});
  const git = createGit(repository.root, { PATH: repository.home });
  await expect(git.object('HEAD')).rejects.toMatchObject({ problem: { code: 'git-missing' } });
});

test('it does not keep a program alive, and does not end one that waits for an answer', async () => {
  const { root } = await testRepository({});
  const module = new URL('./git.ts', import.meta.url).href;
  const program = `import { createGit } from '${module}';
    const object = await createGit(process.cwd(), process.env).object('HEAD:src/main.js');
    process.stdout.write(object.content);`;
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program];
  const began = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout).toBe('export const answer = 42;\n');
  expect(performance.now() - began).toBeLessThan(4_500);
});
