import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { worktreeBench } from '../../../test/support/worktree.ts';
import { cleanCommand } from './clean.ts';

async function printed(flags: Record<string, unknown>): Promise<string> {
  let text = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  try {
    await cleanCommand(flags);
  } finally {
    write.mockRestore();
  }
  return text;
}

test('says what it would remove, removes it, and then has nothing to do', async () => {
  const bench = await worktreeBench();
  bench.git('update-ref', 'refs/agentos/implement-9/1', 'HEAD');
  const pins = () => bench.git('for-each-ref', 'refs/agentos');
  await mkdir(join(bench.base, 'caches'), { recursive: true });
  await writeFile(join(bench.base, 'caches', 'x'), 'x');
  const repo = bench.root;
  expect(await printed({ repo, dryRun: true })).toBe(
    'would remove  pins implement-9: nothing needs them\nkept  cache caches: shared by the items: --caches removes them\n',
  );
  expect(pins()).not.toBe('');
  expect(JSON.parse(await printed({ repo, json: true }))).toMatchObject({
    dryRun: false,
    removed: [{ kind: 'pins', name: 'implement-9' }],
    kept: [{ kind: 'cache' }],
  });
  expect(pins()).toBe('');
  expect(await printed({ repo, caches: true })).toBe('removed  cache caches: asked for\n');
  expect(await printed({ repo })).toBe('Nothing to remove.\n');
});
