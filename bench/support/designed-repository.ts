import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseItemId } from '../../src/core/ids.ts';
import { createDirectorySource } from '../../src/source/directory.ts';
import { approvedLld } from '../../src/workflow/approved-documents.ts';
import { ISSUE, lldFor } from '../../test/support/models.ts';

const IN_A_FOLDER = 50;
const LINES = 40;
/** Of very many files each is small: it is their number that counts. */
const LINES_OF_MANY = 4;
const MANY = 20_000;

const PACKAGE = '{ "name": "sample", "type": "module", "scripts": { "test": "node --test" } }\n';
const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer } from '../src/main.js';

test('the answer', () => assert.equal(answer, 42));
`;

/** A repository of so many files, packed as a clone is, whose tests run; with an approved LLD for each id. */
export async function createDesignedRepository(root: string, files: number, ids: readonly string[]): Promise<void> {
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  await mkdir(root, { recursive: true });
  git('init', '--quiet', '--initial-branch=main', '.');
  git('config', 'user.name', 'Bench');
  git('config', 'user.email', 'bench@localhost');
  git('config', 'gc.auto', '0');
  // Tens of thousands of files are one stream to git, instead of as many for it to find.
  execFileSync('git', ['-c', 'fastimport.unpackLimit=0', 'fast-import', '--quiet'], {
    cwd: root,
    input: importOf(files),
  });
  git('reset', '--quiet', '--hard');
  const baseCommit = git('rev-parse', 'HEAD');
  for (const id of ids) {
    await write(`issues/${id}.md`, ISSUE);
    const issue = await createDirectorySource(join(root, 'issues')).read(parseItemId(id));
    const by = { drafter: 'command:x', reviewer: 'command:y', recorded: false, rounds: 1, baseCommit };
    await write(`docs/lld/LLD-${id}.md`, approvedLld(lldFor(id), issue, by));
  }
}

function importOf(files: number): string {
  const lines = files > MANY ? LINES_OF_MANY : LINES;
  const pieces = ['commit refs/heads/main\ncommitter Bench <bench@localhost> 1767225600 +0000\ndata 5\nStart\n'];
  const add = (path: string, text: string): void => {
    pieces.push(`M 100644 inline ${path}\ndata ${text.length}\n${text}\n`);
  };
  add('package.json', PACKAGE);
  add('src/main.js', 'export const answer = 42;\n');
  add('test/main.test.js', TEST);
  for (let n = 0; n < files - 3; n++) add(`lib/part-${Math.floor(n / IN_A_FOLDER)}/file-${n}.js`, textOf(n, lines));
  return pieces.join('');
}

function textOf(n: number, lines: number): string {
  return Array.from({ length: lines }, (_, line) => `export const value${line} = ${n * lines + line};\n`).join('');
}
