import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../src/core/hash.ts';
import { parseItemId } from '../../src/core/ids.ts';
import { createDirectorySource } from '../../src/source/directory.ts';
import { approvedLld } from '../../src/workflow/approved-documents.ts';
import { testFolder } from './folder.ts';
import { ISSUE, lldFor, review } from './models.ts';
import { PROJECT } from './program.ts';
import { repositoryIn, type TestRepository } from './repository.ts';

export const IMPLEMENTER = join(PROJECT, 'test', 'support', 'implementers', 'implementer.sh');

/** A repository whose tests really run, with an approved LLD for each id. */
export async function designedRepository(
  ids: readonly string[],
  lld: (id: string) => string = lldFor,
): Promise<TestRepository> {
  return designedRepositoryIn(await testFolder(), ids, lld);
}

/** The same in a folder whose removal is the caller's business. */
export async function designedRepositoryIn(
  folder: string,
  ids: readonly string[],
  lld: (id: string) => string = lldFor,
): Promise<TestRepository> {
  const repository = await repositoryIn(folder, {}, { commit: false });
  await commitProject(repository);
  for (const id of ids) await approve(repository, id, lld(id));
  return repository;
}

/** The first commit: a project whose tests really run. */
export async function commitProject(repository: TestRepository): Promise<void> {
  await repository.write(
    'package.json',
    '{ "name": "sample", "type": "module", "scripts": { "test": "node --test --test-isolation=none" } }\n',
  );
  await repository.write(
    'test/main.test.js',
    `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer } from '../src/main.js';

test('the answer', () => assert.equal(answer, 42));
`,
  );
  repository.git('config', 'user.name', 'Test');
  repository.git('config', 'user.email', 'test@localhost');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Start');
}

export async function approve(repository: TestRepository, id: string, body: string, issueText = ISSUE): Promise<void> {
  await repository.write(`issues/${id}.md`, issueText);
  const issue = await createDirectorySource(join(repository.root, 'issues')).read(parseItemId(id));
  const baseCommit = repository.git('rev-parse', 'HEAD');
  const by = { drafter: 'command:x', reviewer: 'command:y', recorded: false, rounds: 1, baseCommit };
  await repository.write(`docs/lld/LLD-${id}.md`, approvedLld(body, issue, by));
}

/** `command:` of an implementer that behaves as said, e.g. `{ code: 'edits-tests' }`. */
export function implementer(how: Record<string, string> = {}): string {
  const words = Object.entries(how).map(([name, value]) => `'${name}=${value}'`);
  return `command:sh '${IMPLEMENTER}' ${words.join(' ')}`.trimEnd();
}

/** A reviewer that always says the same. */
export async function reviewerSaying(
  repository: TestRepository,
  verdict: 'APPROVED' | 'REVISE' | 'DISCUSS',
  more: { tier1?: string[]; tier2?: string[] } = {},
): Promise<string> {
  const file = join(repository.home, '..', `review-${sha256(JSON.stringify([verdict, more])).slice(0, 8)}.md`);
  await writeFile(file, review({ verdict, ...more }));
  return `command:cat '${file}'`;
}

export interface Calls {
  phase: 'tests' | 'code';
  id: string;
  again: boolean;
  task: string;
  env: Record<string, string>;
}

/** What the implementer was called with, if it was told to keep it (`state=`). */
export async function callsOf(file: string): Promise<Calls[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\x1e')
    .slice(0, -1)
    .map((call) => {
      const [phase, id = '', again, task = '', ...variables] = call.split('\0').slice(0, -1);
      if (phase !== 'tests' && phase !== 'code') throw new Error(`no phase: ${phase}`);
      const env = Object.fromEntries(variables.map((variable) => variable.split(/=(.*)/s).slice(0, 2)));
      return { phase, id, again: again === 'true', task, env };
    });
}
