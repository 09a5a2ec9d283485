import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { gitIn, ofTheUser, type WorktreeBench, worktreeBench } from '../../../test/support/worktree.ts';
import { parseItemId } from '../../core/ids.ts';
import { shellWord } from '../../core/lines.ts';
import { type Paths, pathsOf } from '../../core/paths.ts';
import { bodyHash, writeFrontMatter } from '../../documents/header.ts';
import type { Worktree } from '../../git/worktree/worktree.ts';
import { lockItem } from '../../process/lock.ts';
import { parseIssue } from '../../source/directory.ts';
import { openProject } from '../project.ts';
import { clean } from './clean.ts';
import type { Cleaned } from './worktrees.ts';

const ID = parseItemId('42');
const NOW = Date.now();
const ISSUE = '# An issue\n\nWhat is wanted.\n';
const BODY = '# 42 - Feature: x\n\n- **Status:** Approved\n';
const LLD = writeFrontMatter(BODY, {
  status: 'approved',
  bodyHash: bodyHash(BODY),
  issueHash: parseIssue(ID, ISSUE).hash,
});

interface Cleaning extends WorktreeBench {
  paths: Paths;
  cleaned(options?: { dryRun?: boolean; caches?: boolean }): Promise<Cleaned>;
}

async function cleaning(): Promise<Cleaning> {
  const bench = await worktreeBench();
  await bench.write('docs/lld/LLD-42.md', LLD);
  await bench.write('issues/42.md', ISSUE);
  bench.git('add', '--all');
  bench.git('commit', '--quiet', '-m', 'Design');
  const paths = pathsOf(bench.root, bench.base);
  return {
    ...bench,
    head: bench.git('rev-parse', 'HEAD'),
    paths,
    cleaned: async ({ dryRun = false, caches = false } = {}) =>
      clean(
        { ...(await openProject({ cwd: bench.root, repo: bench.root, env: bench.env, flags: {} })), paths },
        { dryRun, caches },
      ),
  };
}

/** As the workflow ends: tests and code, then the report. */
async function implement(bench: Cleaning, worktree: Worktree): Promise<void> {
  await writeFile(join(worktree.directory, 'feature.js'), 'export {};\n');
  const code = await worktree.snapshot();
  const commit = await worktree.commit({ tree: code, parents: [bench.head], message: 'Code' });
  const fields = { status: 'implemented', lldHash: bodyHash(BODY), branch: worktree.branch };
  const tree = await worktree.withFiles(code, { 'docs/reports/42.md': writeFrontMatter('# Report\n', fields) });
  await worktree.setBranch(await worktree.commit({ tree, parents: [commit], message: 'Report' }));
}

async function put(path: string, text = 'x'): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const of = (entries: Cleaned['kept'], kind: string): string[] =>
  entries.filter((entry) => entry.kind === kind).map(({ name, why }) => `${name}: ${why}`);

test('what belongs to a finished implementation goes: worktree, checkpoint, home, patches, pins; never the branch', async () => {
  const bench = await cleaning();
  const { worktree } = await bench.open({ start: bench.head });
  await implement(bench, worktree);
  // What a killed run leaves between the last commit and the removal.
  await put(join(worktree.directory, 'node_modules', 'x.js'));
  await put(bench.paths.checkpoint('implement', ID));
  await put(`${bench.paths.checkpoint('implement', ID)}-wal`);
  await put(join(bench.paths.home('implement', ID), '.cache', 'x'));
  await put(join(bench.paths.undone('implement', ID), '1.patch'));
  const user = ofTheUser(bench);

  const before = (await readdir(bench.base, { recursive: true })).sort();
  const planned = await bench.cleaned({ dryRun: true });
  expect((await readdir(bench.base, { recursive: true })).sort()).toEqual(before);
  const { removed, kept } = await bench.cleaned();
  expect(planned.removed).toEqual(removed);
  expect(removed.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'worktree implement-42',
    'checkpoint implement-42.db',
    'home implement-42',
    'undone implement-42',
  ]);
  expect(kept).toEqual([]);
  for (const folder of ['worktrees', 'checkpoints', 'homes', 'undone', 'worktree-state', 'locks'])
    expect(await readdir(join(bench.base, folder)), folder).toEqual([]);
  expect(gitIn(bench.root, bench.env, 'for-each-ref', 'refs/agentos')).toBe('');
  expect(gitIn(bench.root, bench.env, 'show', 'agentos/42-title:docs/reports/42.md')).toMatch(/# Report$/);
  expect(gitIn(bench.root, bench.env, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect(ofTheUser(bench)).toEqual(user);
});

test('an unfinished item keeps everything, with the command that throws it away', async () => {
  const bench = await cleaning();
  const { worktree } = await bench.open({ start: bench.head });
  await worktree.snapshot();
  await put(bench.paths.checkpoint('implement', ID));
  await put(join(bench.paths.home('implement', ID), 'x'));
  await put(join(bench.paths.undone('implement', ID), '1.patch'));
  const { removed, kept } = await bench.cleaned();
  expect(removed).toEqual([]);
  expect(of(kept, 'worktree')).toEqual(['implement-42: agentos/42-title is not implemented yet']);
  expect(of(kept, 'checkpoint')).toEqual(['implement-42.db: its item is not done and resumes from it']);
  const commands = kept.flatMap(({ discard }) => discard ?? []);
  expect(commands).toEqual([`agentos clean --discard 42 --repo ${shellWord(bench.root)}`]);
  await worktree.remove();
  const again = (await bench.cleaned({ dryRun: true })).kept;
  expect(again.filter(({ discard }) => discard !== null).map(({ kind }) => kind)).toEqual(['checkpoint']);
});

test.each([
  ['a new file', (directory: string) => writeFile(join(directory, 'mine.txt'), 'mine\n'), 'mine.txt'],
  ['a changed file', (directory: string) => writeFile(join(directory, 'feature.js'), 'mine\n'), 'feature.js'],
  [
    'a file under another’s ignore rules',
    async (directory: string) => {
      await rm(join(directory, '.gitignore'));
      await writeFile(join(directory, 'x.log'), 'mine\n');
    },
    'x.log',
  ],
])('%s that is in no commit keeps the worktree of a finished item', async (_, change, named) => {
  const bench = await cleaning();
  const { worktree } = await bench.open({ start: bench.head });
  await implement(bench, worktree);
  await change(worktree.directory);
  const { removed, kept } = await bench.cleaned();
  expect(of(removed, 'worktree')).toEqual([]);
  expect(of(kept, 'worktree').join()).toContain('not committed: ');
  expect(of(kept, 'worktree').join()).toContain(named);
  expect(existsSync(worktree.directory)).toBe(true);
});

test('nothing of an item that a process works on is touched', async () => {
  const bench = await cleaning();
  const { worktree } = await bench.open({ start: bench.head });
  await implement(bench, worktree);
  await put(bench.paths.checkpoint('implement', ID));
  await put(join(bench.paths.home('implement', ID), 'x'));
  await put(join(bench.paths.caches, 'npm', 'x'));
  const lock = lockItem(bench.paths, { workflow: 'implement', id: ID });
  const { removed, kept } = await bench.cleaned({ caches: true });
  expect(removed).toEqual([]);
  expect(kept.map(({ kind, why }) => `${kind}: ${why}`)).toEqual([
    `worktree: process ${process.pid} is working on it`,
    `checkpoint: process ${process.pid} is working on it`,
    `home: process ${process.pid} is working on it`,
    'cache: a run is using them',
  ]);
  lock.release();
});

test('leftovers of nobody go: records of folders that are gone, homes, pins, locks of the dead; foreign things stay', async () => {
  const bench = await cleaning();
  const { worktree } = await bench.open({ start: bench.head });
  await worktree.snapshot();
  await rm(worktree.directory, { recursive: true });
  bench.git('worktree', 'add', '--quiet', '--detach', `${bench.root} theirs`);
  await rm(`${bench.root} theirs`, { recursive: true });
  await put(join(bench.paths.worktrees, 'implement-7', 'mine.txt'));
  await put(join(bench.base, 'homes', 'implement-9', 'x'));
  await put(join(bench.base, 'checkpoints', 'lld-9.db.damaged-20260101T000000000Z'));
  bench.git('update-ref', 'refs/agentos/implement-8/1', bench.head);
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  const holder = JSON.stringify({ pid: gone, processStart: '1', since: '' });
  for (const name of ['lld-9.lock', 'git-worktree.lock']) await put(join(bench.base, 'locks', name), holder);
  const { removed, kept } = await bench.cleaned();
  expect(removed.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'worktree implement-42',
    'home implement-9',
    'lock git-worktree.lock',
    'lock lld-9.lock',
    'pins implement-8',
  ]);
  expect(kept.map(({ name, why }) => `${name}: ${why}`)).toEqual([
    'implement-7: not a worktree of ours',
    'lld-9.db.damaged-20260101T000000000Z: damaged, kept for inspection',
  ]);
  expect(await readdir(join(bench.base, 'locks'))).toEqual([]);
  expect(gitIn(bench.root, bench.env, 'worktree', 'list')).toContain('theirs');
  expect(gitIn(bench.root, bench.env, 'worktree', 'list')).not.toContain('implement-42');
  expect(gitIn(bench.root, bench.env, 'rev-parse', 'agentos/42-title')).toBe(bench.head);
});

test('runs: the newest 20, those of two weeks, and those that can be resumed stay', async () => {
  const bench = await cleaning();
  const run = async (day: number, id: string, status: string | null): Promise<string> => {
    const startedAt = new Date(NOW - day * 86_400_000).toISOString();
    const runId = `${startedAt.replace(/[-:.]/g, '')}-${id}`;
    const { directory, record, summary } = bench.paths.run(runId);
    await mkdir(directory, { recursive: true });
    const items = [{ id, title: id }];
    await writeFile(record, JSON.stringify({ runId, workflow: 'lld', startedAt, pid: 2 ** 30, items }));
    if (status !== null)
      await writeFile(summary, JSON.stringify({ finishedAt: startedAt, items: [{ id, status, costUsd: 0 }] }));
    return runId;
  };
  const old = await run(100, 'a', 'succeeded');
  const failed = await run(99, 'b', 'failed');
  const settled = await run(98, 'c', 'failed');
  await run(97, 'c', 'succeeded');
  const interrupted = await run(96, 'd', null);
  for (let n = 0; n < 20; n++) await run(30 - n, `n${n}`, 'succeeded');
  const recent = await run(1, 'e', 'succeeded');
  const { removed, kept } = await bench.cleaned();
  const names = removed.map(({ name }) => name);
  expect(names).toContain(old);
  expect(names).toContain(settled);
  expect(names).toHaveLength(4);
  expect(of(kept, 'run')).toContain(`${failed}: it can be resumed: b not done`);
  expect(of(kept, 'run')).toContain(`${interrupted}: it can be resumed: d not done`);
  expect(of(kept, 'run')).toContain(`${recent}: one of the newest 20`);
  expect(await readdir(bench.paths.runs)).toHaveLength(22);
});

test('the checkpoint of an LLD goes when that is approved for what the issue says now, and stays otherwise', async () => {
  const bench = await cleaning();
  await put(bench.paths.checkpoint('lld', ID));
  expect(of((await bench.cleaned({ dryRun: true })).removed, 'checkpoint')).toEqual(['lld-42.db: its item is done']);
  await bench.write('docs/lld/LLD-42.md', LLD.replace(/issueHash: .*/, 'issueHash: older'));
  expect((await bench.cleaned()).removed).toEqual([]);
  await bench.write('docs/lld/LLD-42.md', `${LLD}edited\n`);
  expect((await bench.cleaned()).removed).toEqual([]);
});

test('caches go only when they are asked for', async () => {
  const bench = await cleaning();
  await put(join(bench.paths.caches, 'npm', 'x'));
  expect((await bench.cleaned()).kept.map(({ kind }) => kind)).toEqual(['cache']);
  expect((await bench.cleaned({ caches: true })).removed.map(({ kind }) => kind)).toEqual(['cache']);
  expect(existsSync(bench.paths.caches)).toBe(false);
});

test('answers of an evaluation stay for the next one, until none has used them for 14 days', async () => {
  const bench = await cleaning();
  const old = parseItemId('42-002-00000000');
  const recent = parseItemId('42-lld-00000000');
  for (const id of [old, recent]) await put(bench.paths.checkpoint('eval', id));
  const longAgo = new Date(NOW - 15 * 24 * 3_600_000);
  await utimes(bench.paths.checkpoint('eval', old), longAgo, longAgo);
  const { removed, kept } = await bench.cleaned();
  expect(of(removed, 'checkpoint')).toEqual([`eval-${old}.db: not used for 14 days`]);
  expect(of(kept, 'checkpoint')).toEqual([`eval-${recent}.db: the next evaluation reuses its answers`]);
  expect(await readdir(bench.paths.checkpoints)).toEqual([`eval-${recent}.db`]);
});
