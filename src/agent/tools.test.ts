import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../test/support/tool-worktree.ts';
import { worktreeTools } from './built-in.ts';

describe('the tools', () => {
  test('are described as plain JSON Schema, and none is a shell', async () => {
    const { worktree } = await toolWorktree();
    const { definitions } = worktreeTools(worktree);
    expect(definitions.map(({ name }) => name)).toEqual(['list', 'read', 'search', 'write', 'edit', 'remove']);
    expect(definitions.find(({ name }) => name === 'read')?.inputSchema).toMatchObject({
      type: 'object',
      required: ['path'],
      properties: { path: { type: 'string' }, offset: { type: 'integer' } },
    });
    expect(JSON.parse(JSON.stringify(definitions))).toEqual(definitions);
  });

  test('one that does not exist is a result for the model', async () => {
    const made = await toolWorktree();
    const result = await made.run('bash', { command: 'rm -rf /' });
    expect(result).toMatchObject({ ok: false, text: expect.stringContaining('there are list, read, search') });
  });

  test.each(['', '{"path": "a.ts"', '[]', '"a.ts"', 'null', '{}', '{"path": 7}', '{"path": "a.ts", "offset": 0}'])(
    'arguments like %j are a result for the model',
    async (input) => {
      const made = await toolWorktree({ 'a.ts': 'a' });
      const signal = new AbortController().signal;
      const tools = worktreeTools(made.worktree);
      expect(await tools.run({ toolName: 'read', input }, signal)).toMatchObject({ ok: false });
    },
  );

  test('null is as good as left out', async () => {
    const made = await toolWorktree({ 'a.ts': 'a' });
    expect(await made.run('read', { path: 'a.ts', offset: null, limit: null })).toMatchObject({ ok: true });
  });

  test('nothing is done once the signal has fired', async () => {
    const made = await toolWorktree({ 'a.ts': 'a' });
    const reason = new Error('stop');
    await expect(made.run('write', { path: 'a.ts', content: 'b' }, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(await made.text('a.ts')).toBe('a');
  });
});

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

describe('read', () => {
  test('shows lines with their numbers, without byte-order mark and carriage returns', async () => {
    const made = await toolWorktree({ 'a.ts': '\ufeffone\r\ntwo\r\n' });
    expect(await made.run('read', { path: 'a.ts' })).toEqual({
      ok: true,
      text: '     1\tone\n     2\ttwo',
      line: 'read a.ts 1–2',
    });
  });

  test('starts at the line that is asked for, and says how to read on', async () => {
    const made = await toolWorktree({ 'a.ts': Array.from({ length: 50 }, (_, index) => `l${index + 1}`).join('\n') });
    const result = await made.run('read', { path: 'a.ts', offset: 11, limit: 2 });
    expect(result.text).toBe('    11\tl11\n    12\tl12\n(lines 11–12 of 50; read on with offset 13)');
    expect(await made.run('read', { path: 'a.ts', offset: 51 })).toMatchObject({ ok: false });
  });

  test('a file of many lines, or of one endless line, is bounded', async () => {
    const made = await toolWorktree({ 'many.txt': 'some words\n'.repeat(100_000), 'long.txt': 'x'.repeat(1_000_000) });
    const many = await made.run('read', { path: 'many.txt', limit: 50_000 });
    expect(many.text.length).toBeLessThan(50_000);
    expect(many.text).toContain('read on with offset 1001');
    const long = await made.run('read', { path: 'long.txt' });
    expect(long.text.length).toBeLessThan(3_000);
    expect(long.text).toContain('1000000 characters');
  });

  test.each([
    ['.env', 'KEY=1', 'secrets'],
    ['config/id_rsa', 'x', 'secrets'],
    ['notes.md', '-----BEGIN RSA PRIVATE KEY-----\nabc', 'secrets'],
    ['logo.png', 'a\0b', 'not text'],
    ['big.txt', 'x'.repeat(5_000_000), 'too large'],
  ])('%s is not shown', async (path, content, reason) => {
    const made = await toolWorktree({ [path]: content });
    const result = await made.run('read', { path });
    expect(result).toMatchObject({ ok: false, text: expect.stringContaining(reason) });
  });

  test('bytes that are not UTF-8, folders and missing files are refused; an empty file is not', async () => {
    const made = await toolWorktree({ 'empty.ts': '' });
    await made.put('latin.txt', Buffer.from([0x66, 0xfc, 0x72]));
    expect(await made.run('read', { path: 'latin.txt' })).toMatchObject({ ok: false });
    expect(await made.run('read', { path: '.' })).toMatchObject({ ok: false });
    expect(await made.run('read', { path: 'none.ts' })).toMatchObject({ ok: false });
    expect(await made.run('read', { path: 'empty.ts' })).toMatchObject({ ok: true, text: 'empty.ts is empty.' });
  });
});

const SEARCHED = {
  'src/b.ts': 'export const b = 1;\n',
  'src/a.ts': 'import { b } from "./b.ts";\n',
  'README.md': 'Read b.\n',
  '.gitignore': 'dist/\n',
  'dist/out.js': 'const b = 1;\n',
  'node_modules/p/index.js': 'const b = 1;\n',
};

describe('search', () => {
  test('finds a text literally, in files that belong to the repository', async () => {
    const made = await toolWorktree({ ...SEARCHED, 'src/c.ts': 'a.b(c)\naxb(c)\n' });
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

  test('finds by regular expression; an invalid one is a result for the model', async () => {
    const made = await toolWorktree(SEARCHED);
    const found = await made.run('search', { text: '^export const \\w+', regex: true });
    expect(found.text).toBe('src/b.ts:1: export const b = 1;');
    expect(await made.run('search', { text: '(', regex: true })).toMatchObject({ ok: false });
    expect(await made.run('search', { text: '' })).toMatchObject({ ok: false });
    expect(await made.run('search', { text: 'a\nb' })).toMatchObject({ ok: false });
  });

  test('says so when nothing matches', async () => {
    const made = await toolWorktree(SEARCHED);
    expect((await made.run('search', { text: 'zebra' })).text).toContain('No match');
  });

  test('a file that is tracked although it is ignored is searched, in its place', async () => {
    const made = await toolWorktree({ ...SEARCHED, 'dist/kept.js': 'const b = 2;\n' });
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
