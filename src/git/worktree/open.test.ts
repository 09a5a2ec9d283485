import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { benchAt, gitIn, ofTheUser, type WorktreeBench, worktreeBench } from '../../../test/support/worktree.ts';
import { codeOf } from '../../core/errors.ts';
import { createGit } from '../git.ts';
import { openWorktree } from './open.ts';

const codeOfOpening = (bench: WorktreeBench): Promise<string | null> => bench.open().then(() => null, codeOf);

async function gitDirOf({ root }: WorktreeBench): Promise<string> {
  const [name = ''] = await readdir(join(root, '.git', 'worktrees'));
  return join(root, '.git', 'worktrees', name);
}

test('what an earlier attempt left is taken over as it is: files, branch, commits', async () => {
  const bench = await worktreeBench();
  const first = await bench.open();
  await writeFile(join(first.worktree.directory, 'work.txt'), 'work\n');
  const tree = await first.worktree.snapshot();
  const commit = await first.worktree.commit({ tree, parents: [bench.head], message: 'Work' });
  await first.worktree.setBranch(commit);
  await writeFile(join(first.worktree.directory, 'later.txt'), 'later\n');
  const { worktree, isNew } = await bench.open();
  expect({ isNew, branch: worktree.branch }).toEqual({ isNew: false, branch: 'agentos/42-title' });
  expect(gitIn(bench.root, bench.env, 'rev-parse', 'agentos/42-title')).toBe(commit);
  expect((await worktree.changes(tree, await worktree.snapshot())).map(({ path }) => path)).toEqual(['later.txt']);
});

test.each([
  ['the folder is gone', (bench: WorktreeBench) => rm(bench.directory, { recursive: true })],
  ['the whole state folder is gone', (bench: WorktreeBench) => rm(bench.base, { recursive: true })],
  [
    'the folder is empty',
    async (bench: WorktreeBench) => {
      await rm(bench.directory, { recursive: true });
      await mkdir(bench.directory);
    },
  ],
  [
    'folder and registration are gone',
    async (bench: WorktreeBench) => {
      await rm(bench.directory, { recursive: true });
      gitIn(bench.root, bench.env, 'worktree', 'prune', '--expire=now');
    },
  ],
])('where %s, the files are made again on the same branch', async (_, lose) => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await writeFile(join(worktree.directory, 'work.txt'), 'work\n');
  const tree = await worktree.snapshot();
  await worktree.setBranch(await worktree.commit({ tree, parents: [bench.head], message: 'Work' }));
  await lose(bench);
  const again = await bench.open();
  expect({ isNew: again.isNew, isAtStart: again.isAtStart }).toEqual({ isNew: true, isAtStart: false });
  expect(await again.worktree.snapshot()).toBe(tree);
  expect(again.worktree.branch).toBe('agentos/42-title');
});

test('what was thrown away by hand, branch and all, starts over', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const tree = await worktree.withFiles(await worktree.treeOf(bench.head), { 'x.txt': 'x\n' });
  await worktree.setBranch(await worktree.commit({ tree, parents: [bench.head], message: 'Old' }));
  gitIn(bench.root, bench.env, 'worktree', 'remove', '--force', worktree.directory);
  gitIn(bench.root, bench.env, 'branch', '-D', 'agentos/42-title');
  const again = await bench.open();
  expect(again.isNew).toBe(true);
  expect(await again.worktree.snapshot()).toBe(await again.worktree.treeOf(bench.head));
});

test('a worktree that was half made when its maker was killed is finished', async () => {
  const bench = await worktreeBench();
  await bench.open();
  const file = join(bench.base, 'worktree-state', 'implement-42', 'state.json');
  const state = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...state, ready: false }));
  await writeFile(join(bench.base, 'worktree-state', 'implement-42', 'index.lock'), '');
  const gitDir = await gitDirOf(bench);
  await writeFile(join(gitDir, 'HEAD'), `${'0'.repeat(40)}\n`);
  await rm(join(gitDir, 'commondir'));
  await rm(join(bench.directory, 'README.md'));
  await writeFile(join(bench.directory, 'src', 'main.js'), 'half');
  const { worktree, isNew } = await bench.open();
  expect(isNew).toBe(true);
  expect(await worktree.snapshot()).toBe(await worktree.treeOf(bench.head));
  expect(gitIn(worktree.directory, bench.env, 'status', '--porcelain')).toBe('');
});

test('a worktree of which only git still knows is taken over, and its changes are kept', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await writeFile(join(worktree.directory, 'work.txt'), 'work\n');
  await rm(join(bench.base, 'worktree-state'), { recursive: true });
  const again = await bench.open();
  expect(again.isNew).toBe(false);
  expect(
    await again.worktree.changes(await again.worktree.treeOf(bench.head), await again.worktree.snapshot()),
  ).toEqual([{ path: 'work.txt', kind: 'added' }]);
});

test('a folder with somebody’s files in it is refused and left as it is', async () => {
  const bench = await worktreeBench();
  await mkdir(bench.directory, { recursive: true });
  await writeFile(join(bench.directory, 'mine.txt'), 'mine\n');
  expect(await codeOfOpening(bench)).toBe('worktree-unusable');
  expect(await readdir(bench.directory)).toEqual(['mine.txt']);
  expect(gitIn(bench.root, bench.env, 'branch', '--list', 'agentos/*')).toBe('');
});

test('a branch with commits of somebody else is kept, and ours gets a number', async () => {
  const bench = await worktreeBench();
  bench.git('branch', 'agentos/42-title');
  bench.git('checkout', '--quiet', 'agentos/42-title');
  bench.git('commit', '--quiet', '--allow-empty', '-m', 'Theirs');
  bench.git('checkout', '--quiet', 'main');
  const theirs = bench.git('rev-parse', 'agentos/42-title');
  const { worktree } = await bench.open();
  expect(worktree.branch).toBe('agentos/42-title-2');
  expect(bench.git('rev-parse', 'agentos/42-title')).toBe(theirs);
  expect((await bench.open()).worktree.branch).toBe('agentos/42-title-2');
});

test('a branch without commits of its own is used, from the start that was asked for', async () => {
  const bench = await worktreeBench();
  bench.git('branch', 'agentos/42-title', 'HEAD~1');
  const { worktree } = await bench.open();
  expect(worktree.branch).toBe('agentos/42-title');
  expect(bench.git('rev-parse', 'agentos/42-title')).toBe(bench.head);
});

test('a branch that the user has checked out is not taken from under them', async () => {
  const bench = await worktreeBench();
  bench.git('checkout', '--quiet', '-b', 'agentos/42-title');
  const error = await bench.open().catch((caught: unknown) => caught);
  expect(codeOf(error)).toBe('worktree-unusable');
  expect(String(error)).toContain(`agentos/42-title is checked out in ${bench.root}`);
});

test('a branch named agentos is said to be in the way', async () => {
  const bench = await worktreeBench();
  bench.git('branch', 'agentos');
  expect(String(await bench.open().catch((error: unknown) => error))).toContain('There is a branch agentos');
});

test('hooks of the user don’t run, and their sparse checkout doesn’t count', async () => {
  const bench = await worktreeBench();
  await bench.write('.git/hooks/post-checkout', '#!/bin/sh\nexit 1\n');
  await chmod(join(bench.root, '.git', 'hooks', 'post-checkout'), 0o755);
  bench.git('sparse-checkout', 'set', '--no-cone', '/src/');
  const { worktree } = await bench.open();
  expect((await readdir(worktree.directory)).sort()).toEqual(['.git', '.gitignore', 'README.md', 'src', 'test']);
  expect(await worktree.snapshot()).toBe(await worktree.treeOf(bench.head));
});

const PLACES: Record<string, (bench: WorktreeBench) => Promise<WorktreeBench> | WorktreeBench> = {
  'a detached HEAD': (bench) => {
    bench.git('checkout', '--quiet', '--detach');
    return bench;
  },
  'a linked worktree': (bench) => {
    const linked = `${bench.root}-linked`;
    bench.git('worktree', 'add', '--quiet', '-b', 'mine', linked);
    return benchAt(bench, linked, join(linked, '.agentos'));
  },
  'a linked worktree of a bare repository': (bench) => {
    const bare = `${bench.root}-bare.git`;
    bench.git('clone', '--quiet', '--bare', bench.root, bare);
    const linked = `${bench.root}-linked`;
    gitIn(bare, bench.env, 'worktree', 'add', '--quiet', linked, 'main');
    gitIn(bare, bench.env, 'config', 'user.name', 'A Person');
    gitIn(bare, bench.env, 'config', 'user.email', 'person@example.org');
    return benchAt(bench, linked, join(linked, '.agentos'));
  },
  'a submodule': (bench) => {
    const outer = `${bench.root}-outer`;
    bench.git('init', '--quiet', outer);
    gitIn(outer, bench.env, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', bench.root, 'inner');
    const inner = join(outer, 'inner');
    gitIn(inner, bench.env, 'config', 'user.name', 'A Person');
    gitIn(inner, bench.env, 'config', 'user.email', 'person@example.org');
    return benchAt(bench, inner, join(inner, '.agentos'));
  },
  'a folder behind a link': async (bench) => {
    const base = `${bench.root}-state`;
    await mkdir(`${base}-real`);
    await symlink(`${base}-real`, base);
    return benchAt(bench, bench.root, base);
  },
};

test.each(Object.entries(PLACES))('works in %s', async (_, make) => {
  const bench = await make(await worktreeBench());
  const status = gitIn(bench.root, bench.env, 'status', '--porcelain=v2', '--branch');
  const { worktree } = await bench.open();
  await writeFile(join(worktree.directory, 'work.txt'), 'work\n');
  await rm(join(worktree.directory, '.git'));
  const tree = await worktree.snapshot();
  const commit = await worktree.commit({ tree, parents: [bench.head], message: 'Work' });
  await worktree.setBranch(commit);
  expect(gitIn(worktree.directory, bench.env, 'status', '--porcelain')).toBe('');
  expect((await bench.open()).isNew).toBe(false);
  await worktree.remove();
  expect(gitIn(bench.root, bench.env, 'rev-parse', 'agentos/42-title')).toBe(commit);
  expect(gitIn(bench.root, bench.env, 'status', '--porcelain=v2', '--branch')).toBe(status);
});

test('without Git LFS its files stay pointers, and that is said', async () => {
  const bench = await worktreeBench();
  await bench.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n');
  await bench.write('data.bin', 'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n');
  bench.git('add', '--all');
  bench.git('commit', '--quiet', '-m', 'Data');
  for (const [name, value] of [
    ['smudge', 'no-such-git-lfs smudge'],
    ['clean', 'no-such-git-lfs clean'],
    ['process', 'no-such-git-lfs filter-process'],
    ['required', 'true'],
  ] as const)
    bench.git('config', `filter.lfs.${name}`, value);
  const here = benchAt(bench, bench.root, bench.base);
  const bin = join(bench.home, 'bin');
  await mkdir(bin);
  await symlink(execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim(), join(bin, 'git'));
  const env = { ...here.env, PATH: bin };
  const { directory, user: repository, head: start } = here;
  const options = { repository, directory, branch: 'agentos/42-title', start, env };
  const { worktree, warnings } = await openWorktree(options);
  expect(warnings).toEqual([expect.stringContaining('Git LFS, which is not installed')]);
  await writeFile(join(worktree.directory, 'work.txt'), 'work\n');
  expect(await worktree.changes(await worktree.treeOf(here.head), await worktree.snapshot())).toEqual([
    { path: 'work.txt', kind: 'added' },
  ]);
});

const OPENING = `
  const [git, worktree, root, directory, branch, start, env] = process.argv.slice(1);
  const { createGit } = await import(git);
  const { openWorktree } = await import(worktree);
  const { writeFile } = await import('node:fs/promises');
  const environment = JSON.parse(env);
  const options = { repository: createGit(root, environment), directory, branch, start, env: environment };
  process.stderr.write('begins');
  const opened = await openWorktree(options);
  await writeFile(directory + '/own.txt', branch);
  process.stdout.write(JSON.stringify([opened.worktree.branch, await opened.worktree.snapshot()]));
`;

function startOpening(bench: WorktreeBench, id: string) {
  const modules = ['../git.ts', './open.ts'].map((name) => new URL(name, import.meta.url).href);
  const place = [bench.root, join(bench.base, 'worktrees', `implement-${id}`), `agentos/${id}-same`];
  const args = [...modules, ...place, bench.head, JSON.stringify(bench.env)];
  return spawn(process.execPath, ['--input-type=module', '-e', OPENING, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('six processes at once each get their worktree, and the user’s checkout stays as it was', async () => {
  const bench = await worktreeBench();
  await bench.write('src/main.js', 'changed\n');
  const before = ofTheUser(bench);
  const found = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const child = startOpening(bench, String(n));
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
      });
      await once(child, 'close');
      return JSON.parse(text) as [string, string];
    }),
  );
  expect(found.map(([branch]) => branch)).toEqual(Array.from({ length: 6 }, (_, n) => `agentos/${n}-same`));
  expect(new Set(found.map(([, tree]) => tree)).size).toBe(6);
  expect(gitIn(bench.root, bench.env, 'worktree', 'list').split('\n')).toHaveLength(7);
  expect(gitIn(bench.root, bench.env, 'fsck', '--no-dangling')).toBe('');
  expect(ofTheUser(bench)).toEqual(before);
});

test('whenever the maker is killed, the next one finishes the worktree', async () => {
  const bench = await worktreeBench();
  for (let n = 0; n < 200; n++) await bench.write(`many/${n % 10}/${n}.txt`, `${n}\n`);
  bench.git('add', '--all');
  bench.git('commit', '--quiet', '-m', 'Many');
  const here = benchAt(bench, bench.root, bench.base);
  const before = ofTheUser(here);
  for (const delayMs of [1, 10, 20, 30, 45, 60]) {
    const child = startOpening(here, '42');
    await once(child.stderr, 'data');
    await sleep(delayMs);
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  const { worktree } = await here.open({ branch: 'agentos/42-same' });
  await rm(join(worktree.directory, 'own.txt'), { force: true });
  expect(await worktree.snapshot()).toBe(await worktree.treeOf(here.head));
  expect(worktree.branch).toBe('agentos/42-same');
  expect(gitIn(worktree.directory, here.env, 'status', '--porcelain')).toBe('');
  expect(gitIn(here.root, here.env, 'worktree', 'list').split('\n')).toHaveLength(2);
  expect(ofTheUser(here)).toEqual(before);
});

test('two repositories that share nothing but a base directory’s name don’t meet', async () => {
  const one = await worktreeBench();
  const copy = `${one.root} copy`;
  await cp(one.root, copy, { recursive: true });
  const opened = await one.open();
  const directory = join(copy, '.agentos', 'worktrees', 'implement-42');
  const other = await openWorktree({
    repository: createGit(copy, one.env),
    directory,
    branch: 'agentos/42-title',
    start: one.head,
    env: one.env,
  });
  await writeFile(join(directory, 'work.txt'), 'work\n');
  expect(await other.worktree.snapshot()).not.toBe(await opened.worktree.snapshot());
});

test('what is left of a repository that was at the same path before is not taken over', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await writeFile(join(worktree.directory, 'theirs.txt'), 'theirs\n');
  await rm(join(bench.root, '.git'), { recursive: true });
  bench.git('init', '--quiet', '.');
  bench.git('commit', '--quiet', '--allow-empty', '-m', 'Another');
  const opened = await bench.open({ start: bench.git('rev-parse', 'HEAD') });
  expect(opened.isNew).toBe(true);
  expect(await readdir(opened.worktree.directory)).toEqual(['.git']);
});
