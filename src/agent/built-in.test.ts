import { link, lstat, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../test/support/tool-worktree.ts';

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

describe('edit', () => {
  test('replaces exactly one place, and takes the replacement literally', async () => {
    const made = await toolWorktree({ 'a.ts': 'const a = 1;\nconst b = 1;\n' });
    expect(await made.run('edit', { path: 'a.ts', search: 'a = 1', replace: "a = '$&$1'" })).toEqual({
      ok: true,
      text: 'Edited a.ts.',
      line: 'edit a.ts',
    });
    expect(await made.text('a.ts')).toBe("const a = '$&$1';\nconst b = 1;\n");
  });

  test.each([
    ['= 1', 'more than once'],
    ['c = 1', 'not there'],
    ['', 'empty'],
    ['const', 'same text'],
  ])('the search text %j changes nothing', async (search, reason) => {
    const text = 'const a = 1;\nconst b = 1;\n';
    const made = await toolWorktree({ 'a.ts': text });
    const result = await made.run('edit', { path: 'a.ts', search, replace: 'const' });
    expect(result).toMatchObject({ ok: false, text: expect.stringContaining(reason) });
    expect(await made.text('a.ts')).toBe(text);
  });

  test('two occurrences that overlap are two', async () => {
    const made = await toolWorktree({ 'a.ts': 'aaa' });
    expect(await made.run('edit', { path: 'a.ts', search: 'aa', replace: 'b' })).toMatchObject({ ok: false });
  });

  test('all replaces every one', async () => {
    const made = await toolWorktree({ 'a.ts': 'x x x' });
    await made.run('edit', { path: 'a.ts', search: 'x', replace: 'xx', all: true });
    expect(await made.text('a.ts')).toBe('xx xx xx');
  });

  test('line ends and byte-order mark of the file stay', async () => {
    const made = await toolWorktree({ 'a.ts': '\ufeffone\r\ntwo\r\nthree\r\n' });
    await made.run('edit', { path: 'a.ts', search: 'one\ntwo', replace: 'eins\nzwei' });
    expect(await made.text('a.ts')).toBe('\ufeffeins\r\nzwei\r\nthree\r\n');
  });

  test('a file that is not text, or a secret, is left alone', async () => {
    const made = await toolWorktree({ '.env': 'KEY=1' });
    await made.put('b.bin', Buffer.from([1, 0, 2]));
    expect(await made.run('edit', { path: '.env', search: 'KEY', replace: 'X' })).toMatchObject({ ok: false });
    expect(await made.run('edit', { path: 'b.bin', search: '\u0001', replace: 'X' })).toMatchObject({ ok: false });
  });
});

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
