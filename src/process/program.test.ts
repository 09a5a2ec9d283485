import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { findProgram, interpreted } from './program.ts';

test('a program is found where the shell would find it', async () => {
  const folder = await testFolder();
  const [empty, taken, plain, good] = ['empty', 'taken', 'plain', 'good'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  await mkdir(empty);
  await mkdir(join(taken, 'agent'), { recursive: true });
  await mkdir(plain);
  await writeFile(join(plain, 'agent'), '');
  await mkdir(good);
  await writeFile(join(good, 'agent'), '#!/bin/sh\n');
  await chmod(join(good, 'agent'), 0o755);
  expect(await findProgram('agent', ['.', '', empty, taken, plain, good].join(':'))).toBe(join(good, 'agent'));
  expect(await findProgram('agent', [empty, taken, plain].join(':'))).toBeNull();
  expect(await findProgram('agent', undefined)).toBeNull();
});

test('neither a program nor what runs it is taken from the worktree, whatever is on the PATH', async () => {
  const folder = await testFolder();
  const program = async (path: string, text: string): Promise<string> => {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
    await chmod(join(folder, path), 0o755);
    return join(folder, path);
  };
  const script = await program('bin/agent', '#!/usr/bin/env node\n');
  const node = await program('bin/node', '#!/bin/sh\n');
  for (const name of ['agent', 'node']) await program(`worktree/.venv/bin/${name}`, '#!/bin/sh\n');
  await symlink(node, join(folder, 'worktree', '.venv', 'bin', 'other'));
  await symlink(join(folder, 'worktree', '.venv', 'bin'), join(folder, 'link'));
  const worktree = join(folder, 'worktree');
  const path = [join(worktree, '.venv', 'bin'), join(folder, 'link'), join(folder, 'bin')].join(':');
  expect(await findProgram('agent', path)).toBe(join(worktree, '.venv', 'bin', 'agent'));
  expect(await findProgram('agent', path, worktree)).toBe(script);
  expect(await findProgram('other', path, worktree)).toBeNull();
  expect(await interpreted(script, path, worktree)).toEqual([node, script]);
  expect(await interpreted(node, path, worktree)).toEqual([node]);
});
