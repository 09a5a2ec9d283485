import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { readConventions } from './call.ts';

test('each guide is there once, with its name; a copy of another and a link that leads out are not', async () => {
  const outside = await testFolder();
  await writeFile(join(outside, 'secret.md'), 'not ours');
  const worktree = await testFolder();
  expect(await readConventions(worktree)).toBe('');
  await writeFile(join(worktree, 'CLAUDE.md'), 'Use tabs.\n');
  await symlink('CLAUDE.md', join(worktree, 'AGENTS.md'));
  await symlink(join(outside, 'secret.md'), join(worktree, 'GEMINI.md'));
  expect(await readConventions(worktree)).toBe(
    'How this repository wants to be worked on, in its own words:\n\n## AGENTS.md\n\nUse tabs.',
  );
});

test('long ones are cut', async () => {
  const worktree = await testFolder();
  await writeFile(join(worktree, 'AGENTS.md'), 'x'.repeat(200_000));
  expect(await readConventions(worktree)).toHaveLength(30_000);
});
