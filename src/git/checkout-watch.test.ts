import { appendFile, chmod, mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { benchAt, gitIn, type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import { bodyHash, writeFrontMatter } from '../documents/header.ts';
import { ownHolder } from '../process/lock.ts';
import { changesOutside, type OutsideChanges } from '../workflow/checkout-guard.ts';
import { lookOutside, type OutsideView } from './checkout-watch.ts';

function look(bench: WorktreeBench, except: string[] = []): Promise<OutsideView> {
  return lookOutside({ repository: bench.root, base: bench.base, worktree: bench.directory, git: bench.user, except });
}

async function changesOf(
  bench: WorktreeBench,
  act: () => Promise<unknown>,
  except: string[] = [],
): Promise<OutsideChanges> {
  const before = await look(bench, except);
  await act();
  return changesOutside(before, await look(bench, except), () => ITEMS_OF_RUN);
}

/** Of the run whose programs are watched. */
const ITEMS_OF_RUN = new Set(['lld-10', 'implement-43', 'implement-44', 'implement-45', 'react-43', 'react-44']);

test('every way of writing beside the worktree is found and named', async () => {
  const bench = await worktreeBench();
  await bench.write('old.log', 'ignored\n');
  await bench.write('dist/a.js', 'a\n');
  await bench.write('.git/info/exclude', 'dist/\n');
  await bench.write('gone.txt', 'untracked\n');
  await bench.write('.git/modules/libs/x/HEAD', 'ref: refs/heads/main\n');
  const { worktree } = await bench.open();
  const from = (path: string): string => join(worktree.directory, path);
  const { files, faults } = await changesOf(bench, async () => {
    await writeFile(from('../../../src/main.js'), 'changed\n');
    await rm(join(bench.root, 'README.md'));
    await rm(join(bench.root, 'gone.txt'));
    await bench.write('new ü.txt', 'new\n');
    await writeFile(join(bench.root, 'old.log'), 'changed\n');
    await writeFile(join(bench.root, 'dist/a.js'), 'b\n');
    await writeFile(from('../beside.txt'), 'x\n');
    await writeFile(from('../../above.txt'), 'x\n');
    await writeFile(from('../../.gitignore'), '\n');
    for (const name of ['hooks/pre-push', 'modules/libs/x/config', 'modules/libs/x/hooks/post-checkout', 'shallow'])
      await bench.write(`.git/${name}`, `${bench.head}\n`);
    await bench.write('.git/objects/info/alternates', `${bench.root}/.git/objects\n`);
    gitIn(worktree.directory, bench.env, 'config', 'core.fsmonitor', 'evil');
    gitIn(worktree.directory, bench.env, 'branch', 'elsewhere');
    gitIn(worktree.directory, bench.env, 'tag', 'v1');
  });
  const expected = [
    '.agentos/.gitignore',
    '.agentos/above.txt',
    '.agentos/worktrees/beside.txt',
    '.git/config',
    '.git/hooks/pre-push',
    '.git/modules/libs/x/config',
    '.git/modules/libs/x/hooks/post-checkout',
    '.git/objects/info/alternates',
    '.git/refs/heads/elsewhere',
    '.git/shallow',
    'new ü.txt',
  ];
  expect(faults).toEqual(expected.toSorted());
  const warnings = ['.git/refs/tags/v1', 'README.md', 'dist/a.js', 'gone.txt', 'old.log', 'src/main.js'];
  expect(files).toEqual([...expected, ...warnings].toSorted());
});

test('what a person does in the checkout is told, and no fault', async () => {
  const bench = await worktreeBench();
  await bench.write('notes.txt', 'untracked\n');
  const linked = `${bench.root} linked`;
  bench.git('worktree', 'add', '--quiet', '-b', 'feature', linked);
  await bench.open();
  const { files, faults } = await changesOf(bench, async () => {
    await bench.write('README.md', '# Changed\n');
    await bench.write('notes.txt', 'more\n');
    await bench.write('added.txt', 'new, but staged\n');
    await bench.write('issues/77.md', '# Something else\n');
    for (const name of ['.README.md.swp', 'README.md~', '4913', 'node_modules/x/index.js'])
      await bench.write(name, 'x');
    bench.git('add', 'README.md', 'added.txt');
    bench.git('commit', '--quiet', '-m', 'By a person');
    bench.git('switch', '--quiet', '-c', 'another');
    gitIn(linked, { ...bench.env, GIT_COMMITTER_NAME: 'x' }, 'commit', '--quiet', '--allow-empty', '-m', 'Elsewhere');
  });
  expect(faults).toEqual([]);
  const moved = [
    '.git/HEAD',
    '.git/index',
    '.git/refs/heads/another',
    '.git/refs/heads/feature',
    '.git/refs/heads/main',
  ];
  expect(files).toEqual([...moved, 'README.md', 'added.txt', 'issues/77.md', 'notes.txt'].toSorted());
});

test('a file that is taken out of the index is a new untracked one', async () => {
  const bench = await worktreeBench();
  const { faults } = await changesOf(bench, async () => bench.git('rm', '--quiet', '--cached', 'README.md'));
  expect(faults).toEqual(['README.md']);
});

/** As a run of ours adds them. */
async function addEvent(bench: WorktreeBench, workflow: string, item: string): Promise<void> {
  await mkdir(join(bench.base, 'runs', '1'), { recursive: true });
  const event = JSON.stringify({ at: new Date(0).toISOString(), item, workflow, type: 'notice', text: 'x' });
  await appendFile(join(bench.base, 'runs', '1', 'events.jsonl'), `${event}\n`);
}

test('an LLD that a run of ours wrote, or a person decided on, is their business; whatever else is written there is a fault', async () => {
  const bench = await worktreeBench();
  const body = '# 9 - Feature: Nine\n';
  const approved = writeFrontMatter(body, { status: 'approved', bodyHash: bodyHash(body) });
  for (const id of ['7', '8', '11', '12']) await bench.write(`docs/lld/LLD-${id}.md`, approved);
  bench.git('add', 'docs');
  await addEvent(bench, 'lld', '7');
  const { files, faults } = await changesOf(bench, async () => {
    await bench.write('docs/lld/LLD-7.md', `${approved}\nOne more thing.\n`);
    await rm(join(bench.root, 'docs/lld/LLD-8.md'));
    // It has the form of an approval, but no one gave it.
    await bench.write('docs/lld/LLD-9.md', approved);
    await bench.write('docs/lld/LLD-10.md', 'half of');
    await bench.write('.agentos/locks/lld-10.lock', JSON.stringify(ownHolder()));
    await bench.write('docs/lld/LLD-11.md', `${approved}\n`);
    await addEvent(bench, 'lld', '11');
    await bench.write('docs/lld/LLD-12.md', `${approved}\n`);
    await bench.write('docs/lineage/12/003-verdict.md', 'decided\n');
  }, ['docs/lineage']);
  expect(faults).toEqual(['docs/lld/LLD-7.md', 'docs/lld/LLD-8.md', 'docs/lld/LLD-9.md']);
  // An agent could have left the event and the decision: what only they explain is reported.
  expect(files).toEqual(['docs/lld/LLD-11.md', 'docs/lld/LLD-12.md', ...faults]);
});

test('what belongs to an item that no run works on is watched: worktree, home, checkpoint, branch and pins', async () => {
  const bench = await worktreeBench();
  const ids = ['43', '44', '45'];
  const write = async (id: string, text: string): Promise<void> => {
    await bench.write(`.agentos/worktrees/implement-${id}/src/main.js`, text);
    await bench.write(`.agentos/homes/implement-${id}/reviews/review-1.md`, text);
    await bench.write(`.agentos/worktree-state/implement-${id}/state.json`, text);
    await bench.write(`.agentos/checkpoints/implement-${id}.db`, text);
    const commit = gitIn(bench.root, bench.env, 'commit-tree', `${bench.head}^{tree}`, '-m', text);
    for (const ref of [`refs/heads/agentos/${id}-title`, `refs/agentos/implement-${id}/1`])
      bench.git('update-ref', ref, commit);
  };
  for (const id of ids) await write(id, 'x');
  await bench.write('.agentos/locks/implement-44.lock', JSON.stringify(ownHolder()));
  const { files, faults } = await changesOf(bench, async () => {
    for (const id of ids) await write(id, 'changed');
    // A run began and ended in between.
    await addEvent(bench, 'implement', '45');
  });
  expect(faults).toEqual(files);
  expect(files).toEqual([
    '.agentos/checkpoints/implement-43.db',
    '.agentos/homes/implement-43/reviews/review-1.md',
    '.agentos/worktree-state/implement-43/state.json',
    '.agentos/worktrees/implement-43/src/main.js',
    '.git/refs/agentos/implement-43/1',
    '.git/refs/heads/agentos/43-title',
  ]);
});

test('branches that a reaction moves, and its checkpoint when a person decides, are no change', async () => {
  const bench = await worktreeBench();
  const move = (id: string, text: string): void => {
    const commit = gitIn(bench.root, bench.env, 'commit-tree', `${bench.head}^{tree}`, '-m', text);
    for (const branch of [`${id}-title`, `reacting-${id}`])
      bench.git('update-ref', `refs/heads/agentos/${branch}`, commit);
  };
  for (const id of ['43', '44', '45']) {
    move(id, 'x');
    await bench.write(`.agentos/checkpoints/react-${id}.db`, 'x');
  }
  await bench.write('.agentos/locks/react-43.lock', JSON.stringify(ownHolder()));
  const { faults } = await changesOf(bench, async () => {
    for (const id of ['43', '44', '45']) move(id, 'changed');
    await addEvent(bench, 'react', '44');
    await bench.write('.agentos/checkpoints/react-46.db', 'decided');
    await bench.write('docs/lineage/46/004-verdict.md', 'decided\n');
  }, ['docs/lineage']);
  expect(faults).toEqual(['.git/refs/heads/agentos/45-title', '.git/refs/heads/agentos/reacting-45']);
});

test('a change that keeps size and date is found, and so is one of the mode and of what a link points to', async () => {
  const bench = await worktreeBench();
  await bench.open();
  const at = (path: string): string => join(bench.root, path);
  const { files } = await changesOf(bench, async () => {
    const date = new Date();
    await rm(at('README.md'));
    await writeFile(at('README.md'), '# SAMPLE\n');
    await utimes(at('README.md'), date, date);
    await chmod(at('src/main.js'), 0o755);
    await rm(at('test/main.test.js'));
    await symlink('/etc/passwd', at('test/main.test.js'));
  });
  expect(files).toEqual(['README.md', 'src/main.js', 'test/main.test.js']);
});

test('what the program itself and its other items do is no change', async () => {
  const bench = await worktreeBench();
  const { worktree } = await bench.open();
  const { files } = await changesOf(bench, async () => {
    await writeFile(join(worktree.directory, 'work.txt'), 'work\n');
    const tree = await worktree.snapshot();
    await worktree.setBranch(await worktree.commit({ tree, parents: [bench.head], message: 'Work' }));
    await addEvent(bench, 'implement', '43');
    const other = await bench.open({ id: '43', branch: 'agentos/43-other' });
    await other.worktree.snapshot();
    for (const folder of [
      'runs/2',
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
  expect(files).toEqual([]);
});

test('works where the user stands in a linked worktree and the state is outside of the repository', async () => {
  const main = await worktreeBench();
  const linked = `${main.root} linked`;
  main.git('worktree', 'add', '--quiet', '-b', 'mine', linked);
  const bench = benchAt(main, linked, `${main.root} state`);
  await bench.open();
  const { files } = await changesOf(bench, async () => {
    await writeFile(join(bench.base, 'x.txt'), 'x\n');
    gitIn(linked, bench.env, 'checkout', '--quiet', '-b', 'other');
  });
  expect(files).toEqual(
    [
      join(bench.base, 'x.txt'),
      join(main.root, '.git', 'refs/heads/other'),
      join(main.root, '.git', 'worktrees', 'repo-sitory-linked', 'HEAD'),
    ].sort(),
  );
});
