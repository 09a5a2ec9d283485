import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../../test/support/tool-worktree.ts';

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
