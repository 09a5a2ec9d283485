import { expect, test } from 'vitest';
import { testRepository } from '../../test/support/repository.ts';
import { createGit } from '../git/git.ts';
import { changesBetween } from '../git/worktree/trees.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import { changedCode } from './changed-code.ts';

test('a reviewer is shown changed files whole and the lines that use them; no new, deleted or secret ones', async () => {
  const repository = await testRepository({});
  const files: Record<string, string> = {
    'src/clock.js': 'export const tick = 1;\nexport const tock = 2;\n',
    'src/user.js': "import { tick } from './clock.js';\n",
    'src/other.js': "// the o'clock.js is not used here\nimport './clocks.js';\n",
    'src/old.js': 'export {};\n',
    'lib/clock.key': 'secret',
  };
  for (const [path, text] of Object.entries(files)) await repository.write(path, text);
  const treeOf = (): string => {
    repository.git('add', '--all', '--force');
    return repository.git('write-tree');
  };
  const baseTree = treeOf();
  await repository.write('src/clock.js', 'export const tick = 3;\nexport const tock = 2;\n');
  await repository.write('src/new.js', 'export {};\n');
  await repository.write('lib/clock.key', 'other secret');
  repository.git('rm', '--quiet', '--force', 'src/old.js');
  const tree = treeOf();

  const git = createGit(repository.root, { PATH: process.env['PATH'] ?? '' });
  const worktree = { changes: (from: string, to: string) => changesBetween(git, from, to) } as Worktree;
  expect(await changedCode({ git, worktree, baseTree }, tree)).toBe(
    [
      '## src/clock.js\n\n     1\texport const tick = 3;\n     2\texport const tock = 2;',
      "## Uses of src/clock.js\n\nsrc/user.js:1: import { tick } from './clock.js';",
    ].join('\n\n'),
  );
});
