import { expect, test } from 'vitest';
import { gitIn, type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import { commitMerge, mergeTrees, newestBase } from './merge.ts';

/** A branch from the start with these files; null: deleted. */
async function branchWith(bench: WorktreeBench, name: string, files: Record<string, string | null>): Promise<string> {
  bench.git('switch', '--quiet', '-c', name, bench.head);
  for (const [path, text] of Object.entries(files)) {
    if (text === null) bench.git('rm', '--quiet', path);
    else await bench.write(path, text);
  }
  bench.git('add', '--all');
  bench.git('commit', '--quiet', '-m', name);
  bench.git('switch', '--quiet', 'main');
  return bench.git('rev-parse', name);
}

const show = (bench: WorktreeBench, tree: string, path: string): string => bench.git('show', `${tree}:${path}`);

test('two commits are merged among objects, and the same merge is the same commit at any time', async () => {
  const bench = await worktreeBench();
  const ours = await branchWith(bench, 'ours', { 'a b/ü.txt': 'ours\n' });
  const theirs = await branchWith(bench, 'theirs', { 'src/new.js': 'theirs\n' });
  const merge = await mergeTrees(bench.user, ours, theirs);
  expect(merge).toMatchObject({ conflicts: [], said: [] });
  expect([show(bench, merge.tree, 'a b/ü.txt'), show(bench, merge.tree, 'src/new.js')]).toEqual(['ours', 'theirs']);
  const made = () => commitMerge(bench.user, { tree: merge.tree, ours, theirs, message: 'Merge\n' });
  const first = await made();
  expect(await made()).toBe(first);
  expect(bench.git('log', '-1', '--format=%P', first)).toBe(`${ours} ${theirs}`);
  expect(bench.git('status', '--porcelain')).toBe('');
});

test('each file in conflict is named with its versions, whatever kind of conflict it is', async () => {
  const bench = await worktreeBench();
  const ours = await branchWith(bench, 'ours', { 'README.md': '# Ours\n', 'src/main.js': null, 'ü new.txt': 'a\n' });
  const theirs = await branchWith(bench, 'theirs', {
    'README.md': '# Theirs\n',
    'src/main.js': 'changed\n',
    'ü new.txt': 'b\n',
  });
  const { tree, conflicts, said } = await mergeTrees(bench.user, ours, theirs);
  expect(conflicts.map(({ path, versions }) => [path, versions.map((blob) => blob !== null)])).toEqual([
    ['README.md', [true, true, true]],
    ['src/main.js', [true, false, true]],
    ['ü new.txt', [false, true, true]],
  ]);
  expect(said).toHaveLength(3);
  expect(said.join('\n')).toMatch(/src\/main\.js deleted in .* and modified in /);
  expect(show(bench, tree, 'README.md')).toMatch(/^<{7} .*\n# Ours\n={7}\n# Theirs\n>{7} /);
});

test('the base is the newer of checkout and default branch, and the remote’s when it is fetched', async () => {
  const bench = await worktreeBench();
  const base = async (fetch = false) => {
    const { name, commit, notes } = await newestBase(bench.user, { fetch });
    return [name, commit, notes];
  };
  const advance = (name: string): string => {
    bench.git('commit', '--quiet', '--allow-empty', '-m', name);
    return bench.git('rev-parse', 'HEAD');
  };
  expect(await base()).toEqual(['main', bench.head, []]);
  // An older commit is looked at: the default branch is newer.
  bench.git('switch', '--quiet', '--detach', 'HEAD~1');
  expect(await base()).toEqual(['main', bench.head, []]);
  bench.git('switch', '--quiet', '-c', 'topic', 'main');
  const topic = advance('Topic');
  expect(await base()).toEqual(['topic', topic, []]);
  bench.git('switch', '--quiet', 'main');
  const main = advance('Main');
  bench.git('switch', '--quiet', 'topic');
  expect(await base()).toEqual(['topic', topic, ['main has commits that topic does not have: the base is topic.']]);

  const remote = `${bench.root}.git`;
  gitIn(bench.root, bench.env, 'clone', '--quiet', '--bare', bench.root, remote);
  bench.git('switch', '--quiet', 'main');
  bench.git('remote', 'add', 'origin', remote);
  const elsewhere = bench.git('commit-tree', 'main^{tree}', '-p', 'main', '-m', 'Elsewhere');
  bench.git('push', '--quiet', remote, `${elsewhere}:refs/heads/main`);
  expect(await base()).toEqual(['main', main, []]);
  expect(await base(true)).toEqual(['main', elsewhere, []]);
  expect(bench.git('rev-parse', 'main')).toBe(main);
});
