import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { findProgram } from './program.ts';

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
