import { mkdir, readdir, writeFile } from 'node:fs/promises';
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
    expect(await cleanCommand(flags)).toBe(0);
  } finally {
    write.mockRestore();
  }
  return text;
}

test('says what it would remove, removes it, and then has nothing to do', async () => {
  const bench = await worktreeBench();
  await mkdir(join(bench.base, 'homes', 'implement-9'), { recursive: true });
  await mkdir(join(bench.base, 'caches'));
  await writeFile(join(bench.base, 'caches', 'x'), 'x');
  const repo = bench.root;
  expect(await printed({ repo, dryRun: true })).toBe(
    'would remove  home implement-9: there is no worktree for it\nkept  cache caches: shared by the items: --caches removes them\n',
  );
  expect(await readdir(join(bench.base, 'homes'))).toEqual(['implement-9']);
  expect(JSON.parse(await printed({ repo, json: true }))).toMatchObject({
    dryRun: false,
    removed: [{ kind: 'home', name: 'implement-9' }],
    kept: [{ kind: 'cache' }],
  });
  expect(await readdir(join(bench.base, 'homes'))).toEqual([]);
  expect(await printed({ repo, caches: true })).toBe('removed  cache caches: asked for\n');
  expect(await printed({ repo })).toBe('Nothing to remove.\n');
});
