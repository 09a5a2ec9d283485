import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
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
};

describe('search', () => {
  test('finds a text literally, in files that belong to the repository', async () => {
    const made = await toolWorktree({ ...FILES, 'src/c.ts': 'a.b(c)\naxb(c)\n' });
    expect((await made.run('search', { text: 'a.b(c)' })).text).toBe('src/c.ts:1: a.b(c)');
    const result = await made.run('search', { text: 'B', ignoreCase: true, path: 'src' });
    expect(result.text.split('\n').map((line) => line.split(': ')[0])).toEqual([
      'src/a.ts:1',
      'src/b.ts:1',
      'src/c.ts:1',
      'src/c.ts:2',
    ]);
    expect(result.line).toBe('search "B" in src (4)');
  });

  test('finds by regular expression; one that is none is a result for the model', async () => {
    const made = await toolWorktree(FILES);
    const found = await made.run('search', { text: '^export const \\w+', regex: true });
    expect(found.text).toBe('src/b.ts:1: export const b = 1;');
    expect(await made.run('search', { text: '(', regex: true })).toMatchObject({ ok: false });
    expect(await made.run('search', { text: '' })).toMatchObject({ ok: false });
    expect(await made.run('search', { text: 'a\nb' })).toMatchObject({ ok: false });
  });

  test('says so when nothing matches', async () => {
    const made = await toolWorktree(FILES);
    expect((await made.run('search', { text: 'zebra' })).text).toContain('No match');
  });

  test('a file that is tracked although it is ignored is searched, in its place', async () => {
    const made = await toolWorktree({ ...FILES, 'dist/kept.js': 'const b = 2;\n' });
    execFileSync('git', ['add', '--force', 'dist/kept.js'], { cwd: made.worktree.root });
    const { text } = await made.run('search', { text: 'const b' });
    expect(text.split('\n')).toEqual(['dist/kept.js:1: const b = 2;', 'src/b.ts:1: export const b = 1;']);
  });

  test('a path is taken literally, and a text for no option', async () => {
    const made = await toolWorktree({ 'a*.ts': 'x --help\n', 'ab.ts': 'x --help\n' });
    expect((await made.run('search', { text: '--help', path: 'a*.ts' })).text).toBe('a*.ts:1: x --help');
  });

  test('the matches are bounded', async () => {
    const made = await toolWorktree({ 'a.txt': 'needle\n'.repeat(5_000), 'b.txt': `needle ${'x'.repeat(100_000)}` });
    const many = await made.run('search', { text: 'needle' });
    expect(many.text.split('\n')).toHaveLength(201);
    expect(many.text).toContain('more matches');
    expect((await made.run('search', { text: 'needle', path: 'b.txt' })).text.length).toBeLessThan(500);
  });

  test('links out, secrets, keys and binaries are not looked at', async () => {
    const key = '-----BEGIN RSA PRIVATE KEY-----\nneedle\n';
    const made = await toolWorktree({ id_rsa: 'needle', 'a.txt': key, 'a.bin': 'needle\0', '.env': 'needle' });
    await writeFile(join(made.outside, 'theirs.txt'), 'needle');
    await made.link('theirs.txt', '../theirs.txt');
    await made.link('around', '..');
    expect((await made.run('search', { text: 'needle' })).text).toMatch(/^No match/);
    for (const path of ['id_rsa', 'a.txt', 'around', '.git/config', '../theirs.txt'])
      expect(await made.run('search', { text: 'needle', path })).toMatchObject({ ok: false });
  });
});
