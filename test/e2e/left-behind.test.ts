import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, review } from '../support/models.ts';
import { eventually } from '../support/processes.ts';
import { agentos, PROJECT, type ProgramOptions, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { type ScriptedModels, scriptedModels } from '../support/scripted-models.ts';

interface Place {
  repository: TestRepository;
  models: ScriptedModels;
  options: ProgramOptions & { env: Record<string, string> };
}

async function place(...ids: string[]): Promise<Place> {
  const repository = await testRepository(Object.fromEntries(ids.map((id) => [id, ISSUE])));
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  return { repository, models: await scriptedModels(repository), options };
}

test('the lock of a process that has ended, but that nobody noticed the end of, is not held', async () => {
  const { repository, models, options } = await place('1');
  await models.hold('lld', '1');
  // The shell becomes a program that never asks after its children.
  const parent = spawn(
    'sh',
    ['-c', '"$0" "$@" & exec sleep 600', `${PROJECT}/bin/agentos`, 'lld', '1', ...models.flags],
    {
      cwd: repository.root,
      env: { PATH: process.env['PATH'], ...options.env },
      stdio: 'ignore',
    },
  );
  onTestFinished(() => void parent.kill('SIGKILL'));
  await eventually('it works on the item', () => existsSync(join(repository.home, '..', 'models', 'calls')));
  const { pid } = JSON.parse(await repository.read('.agentos/locks/lld-1.lock'));
  process.kill(pid, 'SIGKILL');
  await eventually('it is a zombie', () => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  await models.release('lld', '1');
  expect((await agentos(['status'], options)).stdout).toContain('  interrupted  ');
  const { code, stdout } = await agentos(['resume'], options);
  expect(code, stdout).toBe(0);
  expect(await repository.list('.agentos/locks')).toEqual([]);
});

test('what killed writers left is removed by the next run, and by clean; what living ones write stays', async () => {
  const { repository, models, options } = await place('1', '2');
  expect((await agentos(['lld', '1', ...models.flags], options)).code).toBe(0);
  const [run = ''] = await repository.list('.agentos/runs');
  const { pid: gone } = spawnSync('true');
  const left = [
    `docs/lld/.${gone}-1.tmp`,
    `docs/lineage/1/.${gone}-2.tmp`,
    `issues/.${gone}-1.tmp`,
    `.agentos/.${gone}-3.tmp`,
    `.agentos/runs/${run}/.${gone}-4.tmp`,
    `.agentos/locks/.${gone}-2.tmp`,
    `.agentos/locks/lld-9.lock`,
    `.agentos/checkpoints/.${gone}-5.tmp`,
    '.agentos/checkpoints/lld-1.db',
  ];
  const kept = [`docs/lld/.${process.pid}-1.tmp`, 'docs/lld/.notes.tmp', `.agentos/locks/.${process.pid}-2.tmp`];
  const isThere = (path: string): boolean => existsSync(join(repository.root, path));
  const leaveAll = async (): Promise<void> => {
    for (const path of left) await repository.write(path, JSON.stringify({ pid: gone, processStart: '1', since: '' }));
  };
  for (const path of kept) await repository.write(path, '');

  await leaveAll();
  const cleaned = await agentos(['clean'], options);
  expect(cleaned.stdout).toContain(`removed  unfinished .${gone}-1.tmp: the process that wrote it is gone\n`);
  expect(left.filter(isThere)).toEqual([]);
  await leaveAll();
  expect((await agentos(['lld', '2', ...models.flags], options)).code).toBe(0);
  expect(left.filter(isThere)).toEqual([]);
  expect(kept.filter(isThere)).toEqual(kept);
});

test('what is left of a worktree whose files are gone is removed by the next run', async () => {
  const { repository, models, options } = await place('1');
  const { root } = repository;
  const git = (...args: string[]): string => repository.git(...args);
  const name = 'implement-7';
  git('worktree', 'add', '--quiet', '-b', 'agentos/7-done', join(repository.work, 'worktrees', name));
  git('update-ref', `refs/agentos/${name}/1`, 'HEAD');
  await rm(join(root, '.agentos'), { recursive: true, force: true });
  await rm(repository.work, { recursive: true });
  // One of a person, whose files are on a disk that is not mounted.
  git('worktree', 'add', '--quiet', '-b', 'mine', '../mine');
  await rm(join(root, '..', 'mine'), { recursive: true });
  expect((await agentos(['lld', '1', ...models.flags], options)).code).toBe(0);
  // Also where there is nothing to do, of a run that was killed after its last commit.
  const { pid } = spawnSync('true');
  await repository.write('.agentos/locks/implement-7.lock', JSON.stringify({ pid, processStart: '1', since: 'then' }));
  await repository.write(join(repository.work, 'homes', name, '.gitconfig'), '');
  expect((await agentos(['lld', '--all', ...models.flags], options)).stdout).toMatch(/^Nothing to do/m);
  expect(await repository.list('.agentos/locks')).toEqual([]);
  expect(await repository.list(join(repository.work, 'homes'))).toEqual([]);
  expect(await repository.list('.git/worktrees')).toEqual(['mine']);
  expect(git('for-each-ref', 'refs/agentos')).toBe('');
  expect(git('branch', '--list', 'agentos/7-done')).toContain('agentos/7-done');
});

test('a state folder that is deleted in the middle of a run costs its history, and locks nobody out', async () => {
  const { repository, models, options } = await place('1', '2');
  await models.hold('review-lld', '1');
  const program = startAgentos(['lld', '--all', ...models.flags], options);
  await program.printed('asked for review-lld 1');
  await rm(join(repository.root, '.agentos'), { recursive: true });
  await models.release('review-lld', '1');
  const { code, stdout } = await program.ended;
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/^1 +succeeded .*\n2 +succeeded /m);
  expect(repository.git('status', '--porcelain', '.agentos')).toBe('');
  expect((await agentos(['status'], options)).stdout).toMatch(/^ {2}2 +succeeded/m);
  await repository.write('issues/3.md', ISSUE);
  expect((await agentos(['lld', '--all', ...models.flags], options)).code).toBe(0);
  expect(await models.calls()).toHaveLength(6);
});

test('a run without a whole record is passed over; named, it is refused', async () => {
  const { repository, models, options } = await place('1');
  await models.answer('review-lld', '1', 'fails');
  expect((await agentos(['lld', '1', '--max-retries', '0', ...models.flags], options)).code).toBe(1);
  await models.answer('review-lld', '1', review({ verdict: 'APPROVED' }));
  const [run = ''] = await repository.list('.agentos/runs');
  const record = await repository.read(`.agentos/runs/${run}/run.json`);
  await repository.write('.agentos/runs/29990101T000000000Z-00000000/events.jsonl', '');
  await repository.write('.agentos/runs/29990102T000000000Z-00000000/run.json', record.slice(0, 200));
  for (const args of [['resume'], ['status']]) {
    for (const broken of ['29990101T000000000Z-00000000', '29990102T000000000Z-00000000']) {
      const refused = await agentos([...args, broken], options);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain(`error: The record of the run ${broken} can't be read: `);
    }
  }
  expect((await agentos(['status'], options)).stdout).toMatch(new RegExp(`^${run}  lld  `, 'm'));
  expect((await agentos(['resume'], options)).code).toBe(0);
  expect(await models.calls()).toEqual(['lld 1', 'review-lld 1', 'review-lld 1']);
});

test('a signal before anything was started ends the program with its own code', async () => {
  const { repository, options } = await place('1');
  await repository.write(
    'bin/git',
    '#!/bin/sh\n: > "$0.asked"\nuntil [ -f "$0.go" ] || [ ! -f "$0" ]; do sleep 0.05; done\n',
  );
  const git = join(repository.root, 'bin/git');
  await chmod(git, 0o755);
  onTestFinished(() => repository.write('bin/git.go', ''));
  const env = { ...options.env, PATH: `${repository.root}/bin:${process.env['PATH']}` };
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    await rm(`${git}.asked`, { force: true });
    const { child } = startAgentos(['lld', '1', '--offline'], { ...options, env });
    const exit = once(child, 'exit');
    await eventually('it plans', () => existsSync(`${git}.asked`));
    child.kill(signal);
    expect(await exit).toEqual([code, null]);
  }
});
