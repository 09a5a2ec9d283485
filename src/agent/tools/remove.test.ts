import { lstat, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../../test/support/tool-worktree.ts';

describe('remove', () => {
  test('removes a file, and a link without what it leads to', async () => {
    const made = await toolWorktree({ 'a.ts': '' });
    await writeFile(join(made.outside, 'theirs.txt'), 'theirs');
    await made.link('out', '../theirs.txt');
    expect(await made.run('remove', { path: 'a.ts' })).toMatchObject({ ok: true, line: 'remove a.ts' });
    expect(await made.run('remove', { path: 'out' })).toMatchObject({ ok: true });
    expect(await readFile(join(made.outside, 'theirs.txt'), 'utf8')).toBe('theirs');
    await expect(lstat(join(made.worktree.root, 'out'))).rejects.toThrow('ENOENT');
    expect(await made.run('remove', { path: 'a.ts' })).toMatchObject({ ok: false });
  });

  test.each(['.', 'src', '.git', '.git/HEAD', '..', 'node_modules/p.js'])('%s stays', async (path) => {
    const made = await toolWorktree({ 'src/a.ts': '', 'node_modules/p.js': '' });
    expect(await made.run('remove', { path })).toMatchObject({ ok: false });
    expect(await made.text('src/a.ts')).toBe('');
  });
});
