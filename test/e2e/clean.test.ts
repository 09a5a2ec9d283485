import { existsSync } from 'node:fs';
import { rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { callsOf, designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { agentos, type Ended, PROJECT, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { openTmux, tmuxIsMissing } from '../support/tmux.ts';

const worktreeOf = ({ work }: TestRepository): string => join(work, 'worktrees', 'implement-42');

async function commandLine(repository: TestRepository, how: Record<string, string>): Promise<string[]> {
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const bounds = ['--max-rounds', '1', '--max-retries', '0'];
  const flags = [...bounds, ...('state' in how ? WITHOUT_SANDBOX : [])];
  return ['implement', '42', ...flags, '--implementer', implementer(how), '--reviewer', reviewer];
}

function inside(repository: TestRepository, args: string[]): Promise<Ended> {
  return agentos(args, { cwd: repository.root, env: { HOME: repository.home } });
}

test('an unfinished implementation that is thrown away begins anew, with its tests', async () => {
  const repository = await designedRepository(['42']);
  const state = join(repository.home, '..', 'calls.jsonl');
  const failed = await inside(repository, await commandLine(repository, { code: 'wrong', state }));
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('42 is kept. Look at it: cd ');
  expect(failed.stdout).toContain('   Throw it away: agentos clean --discard 42\n');

  const planned = await inside(repository, ['clean', '--discard', '42', '--dry-run', '--json']);
  const { removed } = JSON.parse(planned.stdout) as { removed: { kind: string }[] };
  expect(removed.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['checkpoint', 'worktree', 'branch', 'home']));
  expect(existsSync(worktreeOf(repository))).toBe(true);

  const thrown = await inside(repository, ['clean', '--discard', '42']);
  expect(thrown.code).toBe(0);
  expect(thrown.stdout).toContain('removed  checkpoint implement-42.db: asked for\n');
  expect(existsSync(worktreeOf(repository))).toBe(false);
  expect(repository.git('for-each-ref', 'refs/heads/agentos', 'refs/agentos')).toBe('');
  const nothing = await inside(repository, ['clean', '--discard', '42']);
  expect(nothing).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'error: There is no implementation of 42 to throw away.\n',
  });

  await writeFile(state, '');
  expect((await inside(repository, await commandLine(repository, { state }))).code).toBe(0);
  expect((await callsOf(state)).map(({ phase }) => phase)).toEqual(['tests', 'code']);

  // Finished work takes a yes.
  const branches = (): string => repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos');
  const asked = await inside(repository, ['clean', '--discard', '42']);
  expect(asked).toMatchObject({ code: 2, stdout: '' });
  expect(asked.stderr).toContain('42 is implemented on agentos/42-add-a-number.');
  expect(asked.stderr).toContain('Add --yes');
  expect(branches()).toBe('agentos/42-add-a-number');
  expect((await inside(repository, ['clean', '--discard', '42', '--yes'])).code).toBe(0);
  expect(branches()).toBe('');
});

test.skipIf(tmuxIsMissing)('finished work is thrown away only after a question on a terminal', async () => {
  const repository = await designedRepository(['42']);
  expect((await inside(repository, await commandLine(repository, {}))).code).toBe(0);
  const branches = (): string => repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos');
  const terminal = openTmux(repository.root, 100, 20, { HOME: repository.home });
  terminal.type(`cd '${repository.root}' && ${join(PROJECT, 'bin', 'agentos')} clean --discard 42`, 'Enter');
  await terminal.until((screen) => expect(screen.join('')).toContain('Throw it away? [y/N]'));
  terminal.type('n', 'Enter');
  await terminal.until((screen) => expect(screen.join('\n')).toContain('Nothing was removed.'));
  expect(branches()).toBe('agentos/42-add-a-number');
});

test('the worktree of a done item that could not be removed at its end goes with the next run', async () => {
  const repository = await designedRepository(['42', '43']);
  const lines = await commandLine(repository, {});
  expect((await inside(repository, lines)).code).toBe(0);
  const branch = repository.git('branch', '--list', 'agentos/42*', '--format=%(refname:short)').trim();
  const head = repository.git('rev-parse', branch).trim();
  const leave = async (work: string, name: string, of: string): Promise<void> => {
    repository.git('worktree', 'add', '--quiet', join(work, 'worktrees', name), of);
    const [start, at] = repository.git('rev-parse', 'main', of).split('\n');
    const notes = { branch: of, start, head: at, ready: true, made: [], ignored: [] };
    await repository.write(join(work, 'worktree-state', name, 'state.json'), JSON.stringify(notes));
  };
  await leave(repository.work, 'implement-42', branch);
  await repository.write(join(worktreeOf(repository), 'mine.txt'), 'not committed');

  const next = lines.map((word) => (word === '42' ? '43' : word));
  expect((await inside(repository, next)).code).toBe(0);
  expect(existsSync(worktreeOf(repository))).toBe(true);
  await rm(join(worktreeOf(repository), 'mine.txt'));
  expect((await inside(repository, ['lld', '43', '--offline'])).code).toBe(0);
  expect(existsSync(worktreeOf(repository))).toBe(false);
  expect(repository.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  expect(repository.git('rev-parse', branch).trim()).toBe(head);
});

test('what a run is at is neither thrown away nor offered to be', async () => {
  const repository = await designedRepository(['42']);
  const hold = join(repository.home, '..', 'hold');
  await writeFile(hold, '');
  onTestFinished(() => rm(hold, { force: true }));
  const running = startAgentos(await commandLine(repository, { code: 'held', hold }), {
    cwd: repository.root,
    env: { HOME: repository.home },
  });
  await running.printed('held back');
  const refused = await inside(repository, ['clean', '--discard', '42']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('implement 42 is being worked on by another run');
  const second = await inside(repository, await commandLine(repository, {}));
  expect(second.code).toBe(1);
  expect(second.stdout).toContain('item-locked');
  expect(second.stdout).not.toContain('Throw it away');
  await rm(hold);
  expect((await running.ended).code).toBe(0);
});

test('an implementation that waits for a person names its reviews, and can be thrown away too', async () => {
  const repository = await designedRepository(['42']);
  const reviewer = await reviewerSaying(repository, 'DISCUSS');
  const place = ['--repo', repository.root];
  const args = ['implement', '42', ...place, '--implementer', implementer(), '--reviewer', reviewer];
  const waiting = await inside(repository, args);
  expect(waiting.code).toBe(3);
  const reviews = join(repository.work, 'homes/implement-42/reviews');
  const decide = `agentos decide 42 --repo '${repository.root}' --approve`;
  expect(waiting.stdout).toContain(`Read the last review in ${reviews}/, then: ${decide}`);
  expect(await repository.list(reviews)).toEqual(['review-1.md']);
  expect(waiting.stdout).toContain(`Throw it away: agentos clean --discard 42 --repo '${repository.root}'\n`);
  expect((await inside(repository, ['clean', '--discard', '42', ...place])).code).toBe(0);
  expect(existsSync(reviews)).toBe(false);
});

test('what a killed git left locked is in the way of neither a new run nor throwing it away', async () => {
  const repository = await designedRepository(['42', '43']);
  const line = await commandLine(repository, { code: 'wrong' });
  expect((await inside(repository, [...line, '43'])).code).toBe(1);
  // Deleting a packed ref takes the lock of the list of them.
  repository.git('pack-refs', '--all');
  for (const id of ['42', '43']) {
    for (const path of [
      `refs/heads/agentos/${id}-add-a-number.lock`,
      `refs/agentos/implement-${id}/1.lock`,
      `refs/agentos/implement-${id}/9.lock`,
      `worktrees/implement-${id}/HEAD.lock`,
      `worktrees/implement-${id}/index.lock`,
      'packed-refs.lock',
      'packed-refs.new',
    ])
      await repository.write(`.git/${path}`, '');
    const old = new Date(Date.now() - 10_000);
    await utimes(join(repository.root, '.git/packed-refs.lock'), old, old);
    const args = id === '43' ? ['clean', '--discard', '43'] : await commandLine(repository, {});
    const { code, stdout, stderr } = await inside(repository, args);
    expect(code, stdout + stderr).toBe(0);
    const locks = (await repository.list('.git')).filter((name) => name.startsWith('packed-refs.'));
    expect(locks).toEqual([]);
  }
  expect(repository.git('for-each-ref', '--format=%(refname)', 'refs/heads/agentos', 'refs/agentos')).toBe(
    'refs/heads/agentos/42-add-a-number',
  );
});
