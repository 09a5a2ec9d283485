import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../../test/support/tool-worktree.ts';

const FILES = {
  'src/b.ts': 'export const b = 1;\n',
  'src/a.ts': 'import { b } from "./b.ts";\n',
  'README.md': 'Read b.\n',
  '.gitignore': 'dist/\n',
  'dist/out.js': 'const b = 1;\n',
  'node_modules/p/index.js': 'const b = 1;\n',
  '.agentos/state.txt': 'const b = 1;\n',
  '.env': 'b=1\n',
  'src/.12-3.tmp': 'half of b',
};

describe('list', () => {
  test('shows what belongs to the repository, in order; nothing ignored, installed, secret or left over', async () => {
    const made = await toolWorktree(FILES);
    const { text } = await made.run('list', {});
    expect(text.split('\n')).toEqual(['.gitignore', 'README.md', 'src/a.ts', 'src/b.ts']);
    expect((await made.run('list', { path: 'src/' })).text).toBe('src/a.ts\nsrc/b.ts');
  });

  test('a deleted file is gone, a name with spaces and umlauts is whole', async () => {
    const made = await toolWorktree({ 'old.ts': '', 'über uns/a b.ts': '' });
    await rm(join(made.worktree.root, 'old.ts'));
    expect((await made.run('list', {})).text).toBe('über uns/a b.ts');
  });

  test('many files are folded into folders, and a folder with many is cut', async () => {
    const many = Array.from({ length: 600 }, (_, index) => [`deep/in/f${String(index).padStart(3, '0')}.ts`, '']);
    const made = await toolWorktree({ ...Object.fromEntries(many), 'top.ts': '' });
    expect((await made.run('list', {})).text).toBe('deep/in/ (600 files)\ntop.ts');
    const below = (await made.run('list', { path: 'deep/in' })).text.split('\n');
    expect(below).toHaveLength(401);
    expect(below.at(-1)).toContain('200 more');
  });

  test('a file, a missing folder and one that is out of bounds are refused', async () => {
    const made = await toolWorktree(FILES);
    for (const path of ['src/a.ts', 'none', '..', '.git', '/']) {
      expect(await made.run('list', { path })).toMatchObject({ ok: false });
    }
  });
});
