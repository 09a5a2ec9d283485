import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { pathsOf } from '../core/paths.ts';
import { writeNumberedIssue } from './approved-documents.ts';

const PROCESSES = 4;
const EACH = 25;

test('without any issue the first is 1, and the folder is made', async () => {
  const root = await testFolder();
  expect(await writeNumberedIssue(pathsOf(root, join(root, '.agentos')), '# One\n')).toBe('1');
  expect(await readdir(join(root, 'issues'))).toEqual(['1.md']);
});

test.each<[string, string[], string]>([
  ['the highest number, not the first gap', ['2.md', '10.md'], '11'],
  ['a number with zeros in front', ['007.md'], '8'],
  ['a folder of names', ['add-login.md', '2024-plan.md', 'README.md'], '1'],
  ['a name of more digits than a number can hold', [`${'9'.repeat(20)}.md`, '4.md'], '5'],
])('the next number after %s', async (_, files, expected) => {
  const root = await testFolder();
  await mkdir(join(root, 'issues'));
  for (const file of files) await writeFile(join(root, 'issues', file), '# There\n');
  expect(await writeNumberedIssue(pathsOf(root, join(root, '.agentos')), '# New\n')).toBe(expected);
});

test('several processes at the same time never get the same number, and leave no gap', async () => {
  const root = await testFolder();
  const script = `
    import { pathsOf } from ${JSON.stringify(import.meta.resolve('../core/paths.ts'))};
    import { writeNumberedIssue } from ${JSON.stringify(import.meta.resolve('./approved-documents.ts'))};
    const [root, name] = process.argv.slice(1);
    for (let at = 0; at < ${EACH}; at++) await writeNumberedIssue(pathsOf(root, root + '/.agentos'), name + ' ' + at);
  `;
  const run = promisify(execFile);
  const names = Array.from({ length: PROCESSES }, (_, at) => `process-${at}`);
  await Promise.all(
    names.map((name) => run(process.execPath, ['--input-type=module', '-e', script, root, name], { timeout: 50_000 })),
  );
  const files = await readdir(join(root, 'issues'));
  const wanted = Array.from({ length: PROCESSES * EACH }, (_, at) => `${at + 1}.md`);
  expect(files.toSorted()).toEqual(wanted.toSorted());
  const texts = await Promise.all(files.map((file) => readFile(join(root, 'issues', file), 'utf8')));
  expect(texts.toSorted()).toEqual(
    names.flatMap((name) => Array.from({ length: EACH }, (_, at) => `${name} ${at}`)).toSorted(),
  );
});
