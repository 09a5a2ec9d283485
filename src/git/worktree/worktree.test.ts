import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { gitIn, ofTheUser, type WorktreeBench, worktreeBench } from '../../../test/support/worktree.ts';
import { codeOf } from '../../core/errors.ts';
import { branchNameOf } from '../branches.ts';
import { createGit } from '../git.ts';
import { requireIdentity } from '../repository.ts';
import type { Worktree } from './worktree.ts';

async function put(worktree: Worktree, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(worktree.directory, path)), { recursive: true });
  await writeFile(join(worktree.directory, path), text);
}

function pathsOf({ root, env }: WorktreeBench, tree: string): string[] {
  return gitIn(root, env, 'ls-tree', '-r', '-z', '--name-only', tree).split('\0').filter(Boolean);
}

test('a new worktree is the start commit on a branch of its own, and an empty change is the same tree', async () => {
  const bench = await worktreeBench();
  const { worktree, isNew, warnings } = await bench.open();
  expect({ isNew, warnings, branch: worktree.branch }).toEqual({
    isNew: true,
    warnings: [],
    branch: 'agentos/42-title',
  });
  expect(gitIn(worktree.directory, bench.env, 'status', '--porcelain')).toBe('');
  expect(gitIn(worktree.directory, bench.env, 'branch', '--show-current')).toBe('agentos/42-title');
  expect(await worktree.snapshot()).toBe(await worktree.treeOf(bench.head));
});

test('a snapshot holds every kind of change, and restoring brings each state back', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  const at = (path: string): string => join(worktree.directory, path);
  await put(worktree, 'src/main.js', 'changed\n');
  await rm(at('README.md'));
  await put(worktree, 'a b/ü "quoted" \\ $x.txt', 'odd name\n');
  await put(worktree, 'run.sh', '#!/bin/sh\n');
  await chmod(at('run.sh'), 0o755);
  await symlink('src/main.js', at('link'));
  await rm(at('test'), { recursive: true });
  await writeFile(at('test'), 'a file where a folder was\n');
  await put(worktree, 'debug.log', 'ignored\n');
  await put(worktree, 'node_modules/x/index.js', 'litter\n');
  await put(worktree, 'target/CACHEDIR.TAG', 'litter\n');
  await put(worktree, 'coverage/rates.ts', 'no litter: a person wrote it\n');
  const after = await worktree.snapshot();
  expect(await worktree.changes(before, after)).toEqual([
    { path: 'README.md', kind: 'deleted' },
    { path: 'a b/ü "quoted" \\ $x.txt', kind: 'added' },
    { path: 'coverage/rates.ts', kind: 'added' },
    { path: 'link', kind: 'added', isLink: true },
    { path: 'run.sh', kind: 'added' },
    { path: 'src/main.js', kind: 'modified' },
    { path: 'test', kind: 'added' },
    { path: 'test/main.test.js', kind: 'deleted' },
  ]);
  const modes = gitIn(bench.root, bench.env, 'ls-tree', after, 'run.sh', 'link').split('\n');
  expect(modes.map((line) => line.slice(0, 6))).toEqual(['120000', '100755']);

  await worktree.restore(before);
  expect(await worktree.snapshot()).toBe(before);
  expect((await readdir(worktree.directory)).sort()).toEqual(
    ['.git', '.gitignore', 'README.md', 'debug.log', 'node_modules', 'src', 'target', 'test'].sort(),
  );
  await worktree.restore(after);
  expect(await worktree.snapshot()).toBe(after);
  expect(await readFile(at('link'), 'utf8')).toBe('changed\n');
});

test('a folder that is replaced by a link does not let anything through it', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  await rm(join(worktree.directory, 'src'), { recursive: true });
  await symlink(join(bench.root, 'src'), join(worktree.directory, 'src'));
  const after = await worktree.snapshot();
  expect(pathsOf(bench, after)).toContain('src');
  expect(pathsOf(bench, after)).not.toContain('src/main.js');
  const user = ofTheUser(bench);
  await worktree.restore(before);
  expect(ofTheUser(bench)).toEqual(user);
  expect(await worktree.snapshot()).toBe(before);
});

test('a file of more than 100 MB and a name that is not UTF-8 are taken and given back', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  await put(worktree, 'large.bin', '');
  await truncate(join(worktree.directory, 'large.bin'), 110 * 1024 * 1024);
  const name = Buffer.concat([Buffer.from(`${worktree.directory}/caf`), Buffer.from([0xe9])]);
  await writeFile(name, 'latin\n');
  const after = await worktree.snapshot();
  expect(await worktree.changes(before, after)).toHaveLength(2);
  const diff = await worktree.diff(before, after);
  expect(diff).toContain('Binary files /dev/null and b/large.bin differ');
  await worktree.restore(before);
  expect((await readdir(worktree.directory)).sort()).toEqual(['.git', '.gitignore', 'README.md', 'src', 'test']);
});

test('of a repository that an agent began inside, the files are taken and the history is not', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  gitIn(worktree.directory, bench.env, 'init', '--quiet', 'inner');
  await put(worktree, 'inner/.gitignore', '*.tmp\n');
  await put(worktree, 'inner/kept.txt', 'kept\n');
  await put(worktree, 'inner/not.tmp', 'ignored\n');
  gitIn(worktree.directory, bench.env, 'init', '--quiet', 'inner/deeper');
  await put(worktree, 'inner/deeper/too.txt', 'kept\n');
  const after = await worktree.snapshot();
  expect((await worktree.changes(before, after)).map(({ path }) => path)).toEqual([
    'inner/.gitignore',
    'inner/deeper/too.txt',
    'inner/kept.txt',
  ]);
  await put(worktree, 'inner/kept.txt', 'changed\n');
  const later = await worktree.snapshot();
  expect(await worktree.changes(after, later)).toEqual([{ path: 'inner/kept.txt', kind: 'modified' }]);
  await worktree.restore(before);
  expect(await worktree.snapshot()).toBe(before);
});

test('what the tree ignores stays when it is restored, and what only an agent hid goes', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  await put(worktree, 'debug.log', 'ignored by the repository\n');
  await rm(join(worktree.directory, '.gitignore'));
  expect(pathsOf(bench, await worktree.snapshot())).toContain('debug.log');
  await put(worktree, 'src/.gitignore', 'hidden.js\n');
  await put(worktree, 'src/hidden.js', 'hidden\n');
  await worktree.snapshot();
  await worktree.restore(before);
  expect(await worktree.snapshot()).toBe(before);
  expect(await readdir(join(worktree.directory, 'src'))).toEqual(['main.js']);
  expect(await readFile(join(worktree.directory, 'debug.log'), 'utf8')).toBe('ignored by the repository\n');
});

test('trees are made of others without touching a file', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const one = await worktree.snapshot();
  await put(worktree, 'src/main.js', 'two\n');
  await put(worktree, 'lib/a/new ü.js', 'new\n');
  await rm(join(worktree.directory, 'README.md'));
  const two = await worktree.snapshot();
  const mixed = await worktree.withPathsFrom(two, one, ['README.md', 'lib', 'never/there']);
  expect(await worktree.changes(one, mixed)).toEqual([{ path: 'src/main.js', kind: 'modified' }]);
  expect(await worktree.withPathsFrom(one, two, ['README.md', 'lib', 'src/main.js'])).toBe(two);
  const written = await worktree.withFiles(one, { 'docs/reports/42.md': '# Report\n' });
  expect(await worktree.changes(one, written)).toEqual([{ path: 'docs/reports/42.md', kind: 'added' }]);
  expect(await worktree.read(written, 'docs/reports/42.md')).toBe('# Report\n');
  expect(await worktree.read(one, 'docs/reports/42.md')).toBeNull();
  expect(await worktree.read(one, 'src')).toBeNull();
  expect(await worktree.diff(one, two)).toContain('+++ b/lib/a/new ü.js');
  expect(await worktree.snapshot()).toBe(two);
});

test('a path is that path alone, whatever it looks like to git', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const one = await worktree.snapshot();
  const odd = ['*.js', ':(top)x', '-n', '[ab]', 'a\nb', '"quoted"'];
  for (const path of [...odd, 'z.js', 'a']) await put(worktree, path, 'new\n');
  const two = await worktree.snapshot();
  const mixed = await worktree.withPathsFrom(one, two, odd);
  expect((await worktree.changes(one, mixed)).map(({ path }) => path)).toEqual(odd.toSorted());
  expect((await worktree.changes(one, await worktree.withPathsFrom(two, one, odd))).map(({ path }) => path)).toEqual([
    'a',
    'z.js',
  ]);
});

test('a diff that nobody could read is cut at the end of a line, and says so', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  for (let n = 0; n < 4; n++) await put(worktree, `long-${n}.txt`, `line ${n}\n`.repeat(30_000));
  const diff = await worktree.diff(before, await worktree.snapshot());
  expect(diff.length).toBeLessThan(530_000);
  expect(diff).toMatch(/\n\+line \d\n\[The diff is cut here: it is longer than 512 KB\.\]\n$/);
});

test('commits are the identity’s own, run no hook, and moving the branch leaves the files alone', async () => {
  const bench = await worktreeBench();
  const hook = '#!/bin/sh\necho ran >> "$(dirname "$0")/../ran"\n';
  for (const name of ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction', 'post-commit']) {
    await bench.write(`.git/hooks/${name}`, hook);
    await chmod(join(bench.root, '.git', 'hooks', name), 0o755);
  }
  const { worktree } = await bench.open();
  await put(worktree, 'src/new.js', 'new\n');
  const tree = await worktree.snapshot();
  const commit = await worktree.commit({ tree, parents: [bench.head], message: 'Täst\n\nbody' });
  await put(worktree, 'src/later.js', 'later\n');
  await worktree.setBranch(commit);
  expect(gitIn(bench.root, bench.env, 'log', '-1', '--format=%an <%ae> %s', 'agentos/42-title')).toBe(
    'A Person <person@example.org> Täst',
  );
  expect(await readdir(join(bench.root, '.git'))).not.toContain('ran');
  expect(gitIn(worktree.directory, bench.env, 'status', '--porcelain')).toBe('?? src/later.js');
});

test('files that are read at the same time are each their own', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await put(worktree, 'src/a.js', 'a\n');
  await put(worktree, 'src/empty.js', '');
  await put(worktree, 'src/öh no.js', 'deadbeef missing\n\n1 blob 3\n');
  const tree = await worktree.snapshot();
  const paths = ['src/a.js', 'src/missing.js', 'src', 'src/a\nb.js', 'src/empty.js', 'src/öh no.js', 'src/a.js'];
  expect(await Promise.all(paths.map((path) => worktree.read(tree, path)))).toEqual([
    'a\n',
    null,
    null,
    null,
    '',
    'deadbeef missing\n\n1 blob 3\n',
    'a\n',
  ]);
});

test('where nothing ran since the checkout nothing is looked for, unless something was left in the folder', async () => {
  const bench = await worktreeBench();
  const first = await bench.open();
  await put(first.worktree, 'left/over.js', 'of an attempt that was cut in two\n');
  const state = join(bench.base, 'worktree-state', 'implement-42', 'state.json');
  const noted = JSON.parse(await readFile(state, 'utf8')) as object;
  await writeFile(state, JSON.stringify({ ...noted, ready: false, made: null }));
  const { worktree, isNew } = await bench.open();
  expect(isNew).toBe(true);
  expect(await worktree.ignoreMadeBySetup(true)).toEqual(['left/']);
  const other = await bench.open({ id: '43', branch: 'agentos/43-title' });
  expect(await other.worktree.ignoreMadeBySetup(true)).toEqual([]);
});

test('nothing that the set-up made is in a snapshot, and asking again adds nothing', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await put(worktree, 'generated/deep/[x] #1.js', 'made\n');
  await put(worktree, '!lock.json', '{}');
  expect(await worktree.ignoreMadeBySetup()).toEqual(['!lock.json', 'generated/']);
  await put(worktree, 'src/new.js', 'by an agent\n');
  await put(worktree, 'generated/later.js', 'by the set-up as well\n');
  expect(await worktree.ignoreMadeBySetup()).toEqual(['!lock.json', 'generated/']);
  const tree = await worktree.snapshot();
  expect((await worktree.changes(await worktree.treeOf(bench.head), tree)).map(({ path }) => path)).toEqual([
    'src/new.js',
  ]);
  await worktree.restore(await worktree.treeOf(bench.head));
  expect(await readdir(worktree.directory)).toContain('generated');
  const again = await bench.open();
  expect(again.isNew).toBe(false);
  expect(await again.worktree.snapshot()).toBe(await worktree.treeOf(bench.head));
});

test('where the repository ignores nothing, what is installed is what the set-up made as well', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await put(worktree, 'node_modules/x/index.js', 'installed\n');
  await put(worktree, 'debug.log', 'ignored\n');
  await worktree.ignoreMadeBySetup();
  expect(worktree.madeBySetUp()).toEqual(['debug.log', 'node_modules/']);
});

const MISDEEDS: Record<string, (worktree: Worktree, bench: WorktreeBench) => Promise<void> | void> = {
  'deletes the .git file': ({ directory }) => rm(join(directory, '.git')),
  'begins a repository of its own': async ({ directory }, { env }) => {
    await rm(join(directory, '.git'));
    gitIn(directory, env, 'init', '--quiet');
    gitIn(directory, env, 'add', '--all');
  },
  'points .git to the user’s repository': ({ directory }, { root }) =>
    writeFile(join(directory, '.git'), `gitdir: ${join(root, '.git')}\n`),
  'deletes .git and prunes': async ({ directory }, { root, env }) => {
    await rm(join(directory, '.git'));
    gitIn(root, env, 'worktree', 'prune', '--expire=now');
  },
  'deletes everything': async ({ directory }) => rm(directory, { recursive: true }),
  'deletes everything and prunes': async ({ directory }, { root, env }) => {
    await rm(directory, { recursive: true });
    gitIn(root, env, 'worktree', 'prune', '--expire=now');
  },
  'goes to another branch': ({ directory }, { env }) =>
    void gitIn(directory, env, 'checkout', '--quiet', '-b', 'other'),
  'detaches HEAD and deletes the branch': ({ directory }, { env }) => {
    gitIn(directory, env, 'checkout', '--quiet', '--detach');
    gitIn(directory, env, 'branch', '-D', 'agentos/42-title');
  },
  commits: async ({ directory }, { env }) => {
    await writeFile(join(directory, 'by-agent.txt'), 'x\n');
    gitIn(directory, env, 'add', '--all');
    gitIn(directory, env, 'commit', '--quiet', '-m', 'mine');
  },
  'leaves a lock and a broken index': async ({ directory }, { env, base }) => {
    const gitDir = gitIn(directory, env, 'rev-parse', '--absolute-git-dir');
    await writeFile(join(gitDir, 'index.lock'), '');
    await writeFile(join(gitDir, 'index'), 'broken');
    await writeFile(join(base, 'worktree-state', 'implement-42', 'index'), 'broken');
  },
};

test.each(Object.entries(MISDEEDS))('an agent that %s does no harm to the user or the item', async (_, misdeed) => {
  const bench = await worktreeBench();
  await bench.write('uncommitted.txt', 'of the user\n');
  bench.git('stash', 'push', '--include-untracked', '--quiet');
  await bench.write('README.md', 'changed and staged\n');
  bench.git('add', 'README.md');
  await bench.write('src/main.js', 'changed\n');
  const { worktree } = await bench.open();
  const start = await worktree.treeOf(bench.head);
  await put(worktree, 'src/new.js', 'work\n');
  const work = await worktree.snapshot();
  await misdeed(worktree, bench);
  const user = ofTheUser(bench);
  await worktree.snapshot();
  await worktree.restore(work);
  expect(await worktree.snapshot()).toBe(work);
  expect(await worktree.changes(start, work)).toEqual([{ path: 'src/new.js', kind: 'added' }]);
  const commit = await worktree.commit({ tree: work, parents: [bench.head], message: 'Work' });
  await worktree.setBranch(commit);

  const at = (...args: string[]): string => gitIn(worktree.directory, bench.env, ...args);
  expect(at('rev-parse', '--abbrev-ref', 'HEAD')).toBe('agentos/42-title');
  expect(at('rev-parse', 'HEAD')).toBe(commit);
  expect(at('status', '--porcelain')).toBe('');
  expect(ofTheUser(bench)).toEqual(user);

  await worktree.remove();
  expect(await readdir(join(bench.base, 'worktrees'))).toEqual([]);
  expect(gitIn(bench.root, bench.env, 'worktree', 'list', '--porcelain')).not.toContain('implement-42');
  expect(gitIn(bench.root, bench.env, 'rev-parse', 'agentos/42-title')).toBe(commit);
});

const INDEX_FAULTS: Record<string, (index: string, bench: WorktreeBench) => Promise<unknown>> = {
  lost: (index) => rm(index),
  broken: (index) => writeFile(index, 'broken'),
  'one of something else': async (index, { root, env }) => {
    await rm(index);
    gitIn(root, { ...env, GIT_INDEX_FILE: index }, 'read-tree', '--empty');
  },
};

test.each(Object.entries(INDEX_FAULTS))(
  'the same tree is restored again with an index that is %s',
  async (_, fault) => {
    const bench = await worktreeBench();
    const { worktree } = await bench.open();
    await put(worktree, 'src/new.js', 'work\n');
    const tree = await worktree.snapshot();
    await worktree.restore(tree);
    await fault(join(bench.base, 'worktree-state', 'implement-42', 'index'), bench);
    await put(worktree, 'src/main.js', 'changed\n');
    await put(worktree, 'left.txt', 'left\n');
    await worktree.restore(tree);
    expect(await worktree.snapshot()).toBe(tree);
  },
);

test('trees survive the tidying up of git, until the worktree is removed', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await put(worktree, 'a.txt', 'a\n');
  const tree = await worktree.snapshot();
  await worktree.restore(await worktree.treeOf(bench.head));
  const gc = (): string => gitIn(bench.root, bench.env, 'gc', '--quiet', '--prune=now');
  gc();
  expect(await worktree.read(tree, 'a.txt')).toBe('a\n');
  await worktree.remove();
  expect(gitIn(bench.root, bench.env, 'for-each-ref', 'refs/agentos')).toBe('');
  gc();
  expect(() => gitIn(bench.root, bench.env, 'cat-file', '-e', tree)).toThrow();
});

test('a removed worktree is gone from its place while its files are deleted', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  for (let n = 0; n < 20; n++) await put(worktree, `part-${n}/file.js`, 'x\n');
  const folder = join(bench.base, 'worktree-state', 'implement-42');
  let isGoneMeanwhile = false;
  let isOver = false;
  const removal = worktree.remove().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    const isGone = !existsSync(worktree.directory);
    const moved = existsSync(folder) ? readdirSync(folder).find((name) => name.startsWith('removed-')) : undefined;
    if (isGone && moved !== undefined && readdirSync(join(folder, moved)).length > 0) isGoneMeanwhile = true;
  }
  await removal;
  expect(isGoneMeanwhile).toBe(true);
  expect(existsSync(folder)).toBe(false);
  expect(gitIn(bench.root, bench.env, 'worktree', 'list').split('\n')).toHaveLength(1);
});

test('a worktree that is not registered any more is not removed', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  await rename(worktree.directory, `${worktree.directory}-moved`);
  gitIn(bench.root, bench.env, 'worktree', 'prune', '--expire=now');
  await mkdir(worktree.directory);
  await writeFile(join(worktree.directory, 'somebody.txt'), 'mine\n');
  expect(codeOf(await worktree.remove().catch((error: unknown) => error))).toBe('worktree-unusable');
  expect(await readdir(worktree.directory)).toEqual(['somebody.txt']);
});

test.each([
  ['42', 'Add a retry limit', 'agentos/42-add-a-retry-limit'],
  ['42', '  Größe & façade: don’t “panic”!  ', 'agentos/42-grosse-facade-dont-panic'],
  ['x', 'Überprüfung der Łódź-Straße', 'agentos/x-uberprufung-der-lodz-strasse'],
  ['7', '添加重试限制', 'agentos/7-添加重试限制'],
  ['7', 'Добавить предел', 'agentos/7-добавить-предел'],
  ['7', '🎉', 'agentos/7'],
  ['7', '.lock / ../ @{ ~^:?*[\\', 'agentos/7-lock'],
  ['7', 'word '.repeat(40), `agentos/7-${Array.from({ length: 12 }, () => 'word').join('-')}`],
  ['7', 'x'.repeat(200), `agentos/7-${'x'.repeat(60)}`],
])('the branch of %s "%s" is %s', async (id, title, branch) => {
  expect(branchNameOf(id, title)).toBe(branch);
  expect(gitIn('/', { PATH: process.env['PATH'] ?? '' }, 'check-ref-format', '--branch', branch)).toBe(branch);
});

test('an identity that git doesn’t know is said before anything is done', async () => {
  const bench = await worktreeBench();
  await requireIdentity(bench.user);
  bench.git('config', '--unset', 'user.name');
  bench.git('config', '--unset', 'user.email');
  bench.git('config', 'user.useConfigOnly', 'true');
  const error = await requireIdentity(bench.user).catch((caught: unknown) => caught);
  expect(codeOf(error)).toBe('git-identity-missing');
  const named = { GIT_AUTHOR_NAME: 'E', GIT_AUTHOR_EMAIL: 'e@x', GIT_COMMITTER_NAME: 'E', GIT_COMMITTER_EMAIL: 'e@x' };
  await requireIdentity(createGit(bench.root, { ...bench.env, ...named }));
});

test('a program that has the private index pass over a file hides no change in it', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const before = await worktree.snapshot();
  const GIT_INDEX_FILE = join(bench.base, 'worktree-state', 'implement-42', 'index');
  for (const flag of ['--assume-unchanged', '--skip-worktree'])
    gitIn(worktree.directory, { ...bench.env, GIT_INDEX_FILE }, 'update-index', flag, 'src/main.js');
  await put(worktree, 'src/main.js', 'changed\n');
  expect(await worktree.changes(before, await worktree.snapshot())).toEqual([
    { path: 'src/main.js', kind: 'modified' },
  ]);
});

test('a change that keeps size and date of a file is seen, whatever the repository says of dates', async () => {
  const bench = await worktreeBench();
  for (const [name, value] of Object.entries({ trustctime: 'false', checkStat: 'minimal', ignoreStat: 'true' }))
    bench.git('config', `core.${name}`, value);
  const { worktree } = await bench.open();
  const file = join(worktree.directory, 'src', 'main.js');
  const old = new Date('2020-01-01');
  await utimes(file, old, old);
  const before = await worktree.snapshot();
  await writeFile(file, (await readFile(file, 'utf8')).replace('42', '43'));
  await utimes(file, old, old);
  expect(await worktree.changes(before, await worktree.snapshot())).toEqual([
    { path: 'src/main.js', kind: 'modified' },
  ]);
});
