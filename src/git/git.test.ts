import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { benchAt, gitIn, type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import { createGit } from './git.ts';
import { stackedBase } from './merge.ts';

/** A program that says that it ran: nothing of a repository's settings may start it. */
async function trap(bench: WorktreeBench): Promise<{ program: string; sprung: () => Promise<string> }> {
  const file = join(bench.home, 'trap');
  // As git hands it to a shell.
  const program = `'${file}'`;
  const log = join(bench.home, 'sprung');
  await writeFile(file, `#!/bin/sh\necho "$0 $*" >> '${log}'\n`);
  await chmod(file, 0o755);
  return { program, sprung: async () => (existsSync(log) ? readFile(log, 'utf8') : '') };
}

const HOOKS = ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-commit', 'post-commit'];

test('no hook, monitor, filter, merge driver or alias of a repository runs, whatever is done in a worktree', async () => {
  const bench = await worktreeBench();
  const { program, sprung } = await trap(bench);
  await bench.write('.gitattributes', '*.txt filter=evil merge=evil diff=evil\n*.bin filter=lfs\n');
  await bench.write('text.txt', 'one\n');
  await bench.write('data.bin', 'data\n');
  bench.git('add', '--all');
  bench.git('commit', '--quiet', '-m', 'Attributes');
  const start = bench.git('rev-parse', 'HEAD');
  bench.git('checkout', '--quiet', '-b', 'other');
  await bench.write('text.txt', 'zero\none\n');
  bench.git('commit', '--quiet', '-am', 'Other');
  const other = bench.git('rev-parse', 'HEAD');
  bench.git('checkout', '--quiet', 'main');
  await bench.write('text.txt', 'one\ntwo\n');
  bench.git('commit', '--quiet', '-am', 'Two');
  const head = bench.git('rev-parse', 'HEAD');
  const settings: Record<string, string> = {
    'core.fsmonitor': program,
    'core.hooksPath': join(bench.root, 'hooks'),
    'merge.evil.driver': `${program} %A %O %B`,
    'diff.evil.textconv': program,
    'diff.evil.command': program,
    'diff.external': program,
    'alias.lfs': `!${program}`,
    'log.showSignature': 'true',
    'gpg.program': program,
  };
  for (const filter of ['evil', 'lfs'])
    for (const way of ['clean', 'smudge', 'process']) settings[`filter.${filter}.${way}`] = program;
  settings['filter.evil.required'] = 'true';
  for (const [name, value] of Object.entries(settings)) bench.git('config', name, value);
  await mkdir(join(bench.root, 'hooks'));
  for (const hook of HOOKS) {
    await writeFile(join(bench.root, 'hooks', hook), `#!/bin/sh\nexec ${program} ${hook} </dev/null\n`);
    await chmod(join(bench.root, 'hooks', hook), 0o755);
  }

  const here = benchAt(bench, bench.root, bench.base);
  const base = await stackedBase(here.user, head, [{ id: '7', commit: other }]);
  expect(gitIn(bench.root, { ...here.env, GIT_CONFIG_COUNT: '0' }, 'cat-file', 'blob', `${base}:text.txt`)).toBe(
    'zero\none\ntwo',
  );
  const { worktree } = await here.open({ start });
  expect(await readFile(join(worktree.directory, 'text.txt'), 'utf8')).toBe('one\n');
  await writeFile(join(worktree.directory, 'text.txt'), 'changed\n');
  await writeFile(join(worktree.directory, 'more.txt'), 'more\n');
  const tree = await worktree.snapshot();
  expect(await worktree.read(tree, 'text.txt')).toBe('changed\n');
  expect(await worktree.diff(await worktree.treeOf(start), tree)).toContain('+changed');
  await worktree.lines(await worktree.treeOf(start), tree);
  await worktree.patch(await worktree.treeOf(start), tree);
  await worktree.setBranch(await worktree.commit({ tree, parents: [start], message: 'Work' }));
  await worktree.restore(await worktree.treeOf(start));
  await worktree.dropIgnored();
  await here.user.text(['status', '--porcelain']);
  await here.user.text(['log', '-n1', '--format=%s']);
  await worktree.remove();
  expect(await sprung()).toBe('');
});

test('a missing object is not fetched: the remote could name any program', async () => {
  const bench = await worktreeBench();
  const { program, sprung } = await trap(bench);
  for (const [name, value] of [
    ['core.repositoryFormatVersion', '1'],
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', bench.root],
    ['remote.origin.uploadpack', program],
  ] as const)
    bench.git('config', name, value);
  await expect(bench.user.run(['cat-file', 'blob', '1'.repeat(40)])).rejects.toMatchObject({ code: 'git-failed' });
  expect(await sprung()).toBe('');
});

test('an address that names a program runs none, and no program of the project is taken for git', async () => {
  const bench = await worktreeBench();
  const { program, sprung } = await trap(bench);
  bench.git('config', 'protocol.ext.allow', 'always');
  bench.git('config', 'remote.origin.url', `ext::${program}`);
  await expect(bench.user.run(['fetch', 'origin'], { isNetworked: true })).rejects.toMatchObject({
    code: 'git-failed',
  });
  const bin = join(bench.root, 'node_modules', '.bin');
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, 'git'), `#!/bin/sh\nexec ${program} "$@"\n`);
  await chmod(join(bin, 'git'), 0o755);
  const path = [bin, 'node_modules/.bin', bench.env['PATH']].join(':');
  expect(await createGit(bench.root, { ...bench.env, PATH: path }).text(['rev-parse', 'HEAD'])).toBe(bench.head);
  expect(await sprung()).toBe('');
});
