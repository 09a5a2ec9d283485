import { chmod, mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { benchAt, gitIn, type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import { changedOutside, lookOutside, type OutsideView } from './outside.ts';

function look(bench: WorktreeBench, except: string[] = []): Promise<OutsideView> {
  return lookOutside({ repository: bench.root, base: bench.base, worktree: bench.directory, git: bench.user, except });
}

async function changesOf(bench: WorktreeBench, act: () => Promise<unknown>, except: string[] = []): Promise<string[]> {
  const before = await look(bench, except);
  await act();
  return changedOutside(before, await look(bench, except));
}

test('every way of writing beside the worktree is found and named', async () => {
  const bench = await worktreeBench();
  await bench.write('old.log', 'ignored\n');
  await bench.write('dist/a.js', 'a\n');
  await bench.write('.git/info/exclude', 'dist/\n');
  await bench.write('gone.txt', 'untracked\n');
  const { worktree } = await bench.open();
  const from = (path: string): string => join(worktree.directory, path);
  const changes = await changesOf(bench, async () => {
    await writeFile(from('../../../src/main.js'), 'changed\n');
    await rm(join(bench.root, 'README.md'));
    await rm(join(bench.root, 'gone.txt'));
    await bench.write('new ü.txt', 'new\n');
    await writeFile(join(bench.root, 'old.log'), 'changed\n');
    await writeFile(join(bench.root, 'dist/a.js'), 'b\n');
    await writeFile(from('../beside.txt'), 'x\n');
    await writeFile(from('../../above.txt'), 'x\n');
    await writeFile(from('../../.gitignore'), '\n');
    await bench.write('.git/hooks/pre-push', '#!/bin/sh\n');
    gitIn(worktree.directory, bench.env, 'config', 'core.fsmonitor', 'evil');
    gitIn(worktree.directory, bench.env, 'branch', 'elsewhere');
    gitIn(worktree.directory, bench.env, 'tag', 'v1');
  });
  expect(changes).toEqual(
    [
      '.agentos/.gitignore',
      '.agentos/above.txt',
      '.agentos/worktrees/beside.txt',
      '.git/config',
      '.git/hooks/pre-push',
      '.git/refs/heads/elsewhere',
      '.git/refs/tags/v1',
      'README.md',
      'dist/a.js',
      'gone.txt',
      'new ü.txt',
      'old.log',
      'src/main.js',
    ].sort(),
  );
});

test('a change that keeps size and date is found, and so is one of the mode and of what a link points to', async () => {
  const bench = await worktreeBench();
  await bench.open();
  const at = (path: string): string => join(bench.root, path);
  const changes = await changesOf(bench, async () => {
    const date = new Date();
    await rm(at('README.md'));
    await writeFile(at('README.md'), '# SAMPLE\n');
    await utimes(at('README.md'), date, date);
    await chmod(at('src/main.js'), 0o755);
    await rm(at('test/main.test.js'));
    await symlink('/etc/passwd', at('test/main.test.js'));
  });
  expect(changes).toEqual(['README.md', 'src/main.js', 'test/main.test.js']);
});

test('what the program itself and its other items do is no change', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const changes = await changesOf(bench, async () => {
    await writeFile(join(worktree.directory, 'work.txt'), 'work\n');
    const tree = await worktree.snapshot();
    await worktree.setBranch(await worktree.commit({ tree, parents: [bench.head], message: 'Work' }));
    const other = await bench.open({ id: '43', branch: 'agentos/43-other' });
    await other.worktree.snapshot();
    for (const folder of [
      'runs/1',
      'checkpoints',
      'locks',
      'homes/implement-42',
      'caches/npm',
      'undone',
      'compile-cache',
    ]) {
      await mkdir(join(bench.base, folder), { recursive: true });
      await writeFile(join(bench.base, folder, 'x'), 'x');
    }
    await writeFile(join(bench.base, 'keys.json'), '{}');
    await writeFile(join(bench.base, '.12-3.tmp'), '{}');
    await bench.write('docs/lineage/9/001-issue.md', 'of another item\n');
    bench.git('pack-refs', '--all');
  }, ['docs/lineage']);
  expect(changes).toEqual([]);
});

test('works where the user stands in a linked worktree and the state is outside of the repository', async () => {
  const main = await worktreeBench();
  const linked = `${main.root} linked`;
  main.git('worktree', 'add', '--quiet', '-b', 'mine', linked);
  const bench = benchAt(main, linked, `${main.root} state`);
  await bench.open();
  const changes = await changesOf(bench, async () => {
    await writeFile(join(bench.base, 'x.txt'), 'x\n');
    gitIn(linked, bench.env, 'checkout', '--quiet', '-b', 'other');
  });
  expect(changes).toEqual(
    [
      join(bench.base, 'x.txt'),
      join(main.root, '.git', 'refs/heads/other'),
      join(main.root, '.git', 'worktrees', 'repo-sitory-linked', 'HEAD'),
    ].sort(),
  );
});
