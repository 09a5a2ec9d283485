import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../../test/support/tool-worktree.ts';

describe('read', () => {
  test('shows lines with their numbers, without byte-order mark and carriage returns', async () => {
    const made = await toolWorktree({ 'a.ts': '\ufeffone\r\ntwo\r\n' });
    expect(await made.run('read', { path: 'a.ts' })).toEqual({
      ok: true,
      text: '     1\tone\n     2\ttwo',
      line: 'read a.ts 1–2',
    });
  });

  test('goes on where it is told to, and says how to go on', async () => {
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
