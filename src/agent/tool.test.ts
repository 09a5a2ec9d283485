import { describe, expect, test } from 'vitest';
import { toolWorktree } from '../../test/support/tool-worktree.ts';
import { worktreeTools } from './loop.ts';

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
