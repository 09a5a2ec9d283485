import { link, lstat, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../../test/support/tool-worktree.ts';

describe('write', () => {
  test('makes folders, replaces files and keeps the executable bit', async () => {
    const made = await toolWorktree();
    await made.put('run.sh', 'old', 0o755);
    expect(await made.run('write', { path: 'a/b/c.ts', content: 'one\ntwo\n' })).toEqual({
      ok: true,
      text: 'Wrote a/b/c.ts.',
      line: 'write a/b/c.ts (2 lines)',
    });
    await made.run('write', { path: 'run.sh', content: 'new' });
    expect(await made.text('run.sh')).toBe('new');
    expect((await stat(join(made.worktree.root, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect(await made.text('a/b/c.ts')).toBe('one\ntwo\n');
  });

  test('through a link inside of the worktree the link stays', async () => {
    const made = await toolWorktree({ 'real.ts': 'old' });
    await made.link('alias.ts', 'real.ts');
    await made.run('write', { path: 'alias.ts', content: 'new' });
    expect((await lstat(join(made.worktree.root, 'alias.ts'))).isSymbolicLink()).toBe(true);
    expect(await made.text('real.ts')).toBe('new');
  });

  test('nothing outside is changed, through links of either kind', async () => {
    const made = await toolWorktree();
    const target = join(made.outside, 'theirs.txt');
    await writeFile(target, 'theirs');
    await made.link('soft', '../theirs.txt');
    await made.link('folder', '..');
    await link(target, join(made.worktree.root, 'hard'));
    expect(await made.run('write', { path: 'soft', content: 'mine' })).toMatchObject({ ok: false });
    expect(await made.run('write', { path: 'folder/new.txt', content: 'mine' })).toMatchObject({ ok: false });
    expect(await made.run('edit', { path: 'soft', search: 'theirs', replace: 'mine' })).toMatchObject({ ok: false });
    expect(await made.run('write', { path: 'hard', content: 'mine' })).toMatchObject({ ok: true });
    expect(await readFile(target, 'utf8')).toBe('theirs');
    expect(await made.text('hard')).toBe('mine');
  });

  test('a folder, a path below a file and a name too long are results for the model', async () => {
    const made = await toolWorktree({ 'a/b.ts': '' });
    for (const path of ['a', 'a/b.ts/c.ts', '.', `${'n'.repeat(300)}.ts`, `new/${'n'.repeat(300)}/a`]) {
      expect(await made.run('write', { path, content: 'x' })).toMatchObject({ ok: false });
    }
    expect(await made.run('write', { path: 'huge.txt', content: 'x'.repeat(5_000_000) })).toMatchObject({ ok: false });
  });
});
