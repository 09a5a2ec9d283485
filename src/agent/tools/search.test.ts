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
    expect((await made.run('search', { text: 'zebra' })).text).toContain('No match in 4 files');
  });

  test('a regular expression that would never end does not hold anybody up, and an abort ends it at once', async () => {
    const made = await toolWorktree({ 'a.txt': `${'a'.repeat(60)}!\n` });
    const abort = new AbortController();
    const reason = new Error('stop');
    const running = made.run('search', { text: '(a+)+$', regex: true }, abort.signal);
    // The event loop turns while the expression is busy: otherwise this timer would never fire.
    setTimeout(() => abort.abort(reason), 300);
    await expect(running).rejects.toBe(reason);
  });

  test('a regular expression that would never end is given up by itself', async () => {
    const made = await toolWorktree({ 'a.txt': `${'a'.repeat(60)}!\n` });
    const result = await made.run('search', { text: '(a+)+$', regex: true });
    expect(result).toMatchObject({ ok: false, text: expect.stringContaining('too long') });
  });

  test('the matches are bounded', async () => {
    const made = await toolWorktree({ 'a.txt': 'needle\n'.repeat(5_000), 'b.txt': `needle ${'x'.repeat(100_000)}` });
    const many = await made.run('search', { text: 'needle' });
    expect(many.text.split('\n')).toHaveLength(201);
    expect(many.text).toContain('more matches');
    expect((await made.run('search', { text: 'needle', path: 'b.txt' })).text.length).toBeLessThan(500);
  });

  test('files that are too large are named as not searched; links out, secrets and binaries are not looked at', async () => {
    const made = await toolWorktree({ 'big.txt': 'needle '.repeat(200_000), id_rsa: 'needle', 'a.bin': 'needle\0' });
    await writeFile(join(made.outside, 'theirs.txt'), 'needle');
    await made.link('theirs.txt', '../theirs.txt');
    await made.link('around', '..');
    expect((await made.run('search', { text: 'needle' })).text).toMatch(/^No match.*\n\(1 files larger/);
    expect(await made.run('search', { text: 'needle', path: 'id_rsa' })).toMatchObject({ ok: false });
    expect(await made.run('search', { text: 'needle', path: 'around' })).toMatchObject({ ok: false });
  });
});
