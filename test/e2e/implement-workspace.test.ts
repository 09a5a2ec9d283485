import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { approve, callsOf, designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { implementerWriting, languageRepository } from '../support/languages/repository.ts';
import { nodeTypes, vitest } from '../support/languages/typescript.ts';
import { lldFor } from '../support/models.ts';
import { eventually, processesWith } from '../support/processes.ts';
import {
  agentos,
  type Ended,
  PROJECT,
  type ProgramOptions,
  type Started,
  startAgentos,
  WITHOUT_SANDBOX,
} from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { treeOf } from '../support/tree.ts';

const BRANCH = 'agentos/42-add-a-number';

interface Run {
  implementer?: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
}

async function start(repository: TestRepository, run: Run = {}): Promise<Started> {
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const models = ['--implementer', run.implementer ?? implementer(), '--reviewer', reviewer];
  const options: ProgramOptions = { cwd: run.cwd ?? repository.root, env: { HOME: repository.home, ...run.env } };
  return startAgentos(['implement', '42', '--trust', '--max-retries', '0', ...models, ...(run.args ?? [])], options);
}

async function implement(repository: TestRepository, run: Run = {}): Promise<Ended> {
  return (await start(repository, run)).ended;
}

interface Summary {
  items: { id: string; status: string; error: { code: string } | null; steps: { name: string; replayed: boolean }[] }[];
}

async function itemIn(base: string): Promise<Summary['items'][number] | undefined> {
  const runs = (await readdir(join(base, 'runs'))).sort();
  const text = await readFile(join(base, 'runs', runs.at(-1) ?? '', 'summary.json'), 'utf8');
  return (JSON.parse(text) as Summary).items[0];
}

/** What is committed on the branch, beside what was there before. */
function added(repository: TestRepository, branch = BRANCH, from = 'main'): string[] {
  return repository.git('diff', '--name-only', from, branch).split('\n');
}

const ITEM_FILES = ['docs/reports/42.lld.md', 'docs/reports/42.md', 'src/item-42.js', 'test/item-42.test.js'];

/** A library of its own repository, which git itself would not fetch again without being told that it may. */
async function addSubmodule(repository: TestRepository, checkout: string): Promise<void> {
  const library = join(repository.root, '..', 'library');
  repository.git('init', '--quiet', '--initial-branch=main', library);
  await writeFile(join(library, 'index.js'), 'export const seven = 7;\n');
  repository.git('-C', library, 'add', '--all');
  repository.git('-C', library, 'commit', '--quiet', '-m', 'Library');
  const add = ['submodule', '--quiet', 'add', library, 'vendor/library'];
  repository.git('-C', checkout, '-c', 'protocol.file.allow=always', ...add);
}

test('submodules, files that git ignores and what the set-up makes are there for the tests, and never committed', async () => {
  const repository = await designedRepository([]);
  await addSubmodule(repository, repository.root);
  await repository.write('.gitignore', '.env.test\nlocal/\n');
  await repository.write(
    'agentos.yaml',
    `implement:
  setup: mkdir -p made && echo set up > made/stamp.txt && cp made/stamp.txt 'a stamp.txt' && echo changed >> src/main.js && sh hooks.sh
  copy: [.env.test, local, not-there.txt]
`,
  );
  // What installs of hooks do.
  const hooks = 'at=$(git rev-parse --git-path hooks) && mkdir -p "$at" && echo : > "$at/pre-commit"';
  await repository.write('hooks.sh', `${hooks} && git config --local core.hooksPath .hooks\n`);
  await repository.write(
    'test/surroundings.test.js',
    `import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { seven } from '../vendor/library/index.js';

test('the submodule', () => assert.equal(seven, 7));
test('ignored files', () => {
  assert.equal(readFileSync('.env.test', 'utf8'), 'TOKEN=for tests\\n');
  assert.equal(readFileSync('local/deep/data.json', 'utf8'), '{}\\n');
});
test('made by the set-up', () => {
  assert.equal(readFileSync('made/stamp.txt', 'utf8'), 'set up\\n');
  assert.equal(readFileSync('a stamp.txt', 'utf8'), 'set up\\n');
});
`,
  );
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Surroundings');
  await repository.write('.env.test', 'TOKEN=for tests\n');
  await repository.write('local/deep/data.json', '{}\n');
  await approve(repository, '42', lldFor('42'));
  const settings = await repository.read('.git/config');
  const before = await repository.list('.git/hooks');

  const { code, stdout } = await implement(repository);
  expect(stdout).toContain('implement.copy names what is not there: not-there.txt');
  expect(stdout).toContain('baseline: passed (4 passed, 0 failed)');
  expect(stdout).toContain('again without the code');
  expect(code).toBe(0);
  expect(added(repository)).toEqual(ITEM_FILES);
  expect(await repository.read('.git/config')).toBe(settings);
  expect(await repository.list('.git/hooks')).toEqual(before);
  expect(repository.git('-C', 'vendor/library', 'status', '--porcelain')).toBe('');
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
  expect(await readdir(repository.home)).toEqual([]);
});

/** All of a repository but what a run is there to make: objects, branches of items, the state folder. */
async function untouched(repository: TestRepository): Promise<Record<string, string>> {
  const tree = await treeOf(repository.root);
  const ours = /^\.agentos(\/|$)|^\.git\/(objects(\/|$)|(logs\/)?refs\/(heads\/)?agentos(\/|$)|worktrees$)/;
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !ours.test(path)));
}

test('a detached, dirty checkout with a stash stays as it is, byte for byte; hooks and signing of the user’s don’t matter', async () => {
  const repository = await designedRepository(['42']);
  await repository.write('staged.txt', 'one\n');
  await repository.write('both.txt', 'one\n');
  repository.git('add', 'staged.txt', 'both.txt');
  repository.git('commit', '--quiet', '-m', 'More');
  repository.git('checkout', '--quiet', '--detach');
  await repository.write('both.txt', 'stashed\n');
  repository.git('stash', 'push', '--quiet', '-m', 'for later');
  await repository.write('staged.txt', 'two\n');
  await repository.write('both.txt', 'two\n');
  await repository.write('new and staged.txt', 'ü\n');
  repository.git('add', 'staged.txt', 'both.txt', 'new and staged.txt');
  await repository.write('both.txt', 'three\n');
  await rm(join(repository.root, 'src', 'main.js'));

  await repository.write('hooks/here', '');
  for (const folder of ['.git/hooks', 'hooks']) {
    for (const hook of ['pre-commit', 'commit-msg', 'post-checkout', 'post-commit', 'reference-transaction']) {
      await repository.write(`${folder}/${hook}`, `#!/bin/sh\necho ${hook} >> '${repository.home}/hooked'\nexit 1\n`);
      await chmod(join(repository.root, folder, hook), 0o755);
    }
  }
  const settings = { 'core.hooksPath': 'hooks', 'commit.gpgsign': 'true', 'user.signingkey': 'DEADBEEFDEADBEEF' };
  for (const [name, value] of Object.entries(settings)) repository.git('config', name, value);
  const before = await untouched(repository);

  const { code, stdout } = await implement(repository);
  expect(stdout).toContain('again without the code');
  expect(code).toBe(0);
  expect(await untouched(repository)).toEqual(before);
  expect(added(repository, BRANCH, 'HEAD')).toEqual(ITEM_FILES);
  expect(repository.git('log', '--format=%an <%ae> %G?', `HEAD..${BRANCH}`)).toBe(
    Array(3).fill('Test <test@localhost> N').join('\n'),
  );
  expect(await readdir(repository.home)).toEqual([]);
});

test('in a linked worktree, with the state outside of it, nothing is written but there and on the branch', async () => {
  const repository = await designedRepository([]);
  const linked = join(repository.root, '..', 'linked ü');
  repository.git('worktree', 'add', '--quiet', '-b', 'side', linked);
  await mkdir(join(linked, 'docs', 'lld'), { recursive: true });
  await approve(repository, '42', lldFor('42'));
  await writeFile(join(linked, 'docs/lld/LLD-42.md'), await repository.read('docs/lld/LLD-42.md'));
  await addSubmodule(repository, linked);
  repository.git('-C', linked, 'commit', '--quiet', '-m', 'Side');
  const before = { main: await untouched(repository), linked: await treeOf(linked) };
  const outside = join(repository.root, '..', 'state');

  const { code, stdout } = await implement(repository, { cwd: linked, args: ['--base-dir', outside] });
  expect(stdout).toContain('again without the code');
  expect(code).toBe(0);
  expect({ main: await untouched(repository), linked: await treeOf(linked) }).toEqual(before);
  expect(added(repository, BRANCH, 'side')).toEqual(ITEM_FILES);
  expect(repository.git('worktree', 'list', '--porcelain')).not.toContain(outside);
  const [state = ''] = await readdir(outside);
  expect(await itemIn(join(outside, state))).toMatchObject({ status: 'succeeded' });
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
  expect(await readdir(repository.home)).toEqual([]);
});

test('a branch of the same name with somebody’s commits is left alone; without dependencies there is no set-up', async () => {
  const repository = await designedRepository(['42']);
  repository.git('checkout', '--quiet', '-b', BRANCH);
  await repository.write('theirs.txt', 'theirs\n');
  repository.git('add', 'theirs.txt');
  repository.git('commit', '--quiet', '-m', 'Theirs');
  repository.git('checkout', '--quiet', 'main');
  const theirs = repository.git('rev-parse', BRANCH);
  const home = join(repository.root, '..', 'agentos home');

  const { code, stdout } = await implement(repository, { env: { AGENTOS_HOME: home } });
  expect(stdout).toContain(`committed the report on ${BRANCH}-2`);
  expect(stdout).not.toContain('set-up');
  expect(code).toBe(0);
  expect(repository.git('rev-parse', BRANCH)).toBe(theirs);
  expect(added(repository, `${BRANCH}-2`)).toEqual(ITEM_FILES);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
  const [state = ''] = await readdir(home);
  expect((await itemIn(join(home, state)))?.steps.map(({ name }) => name)).not.toContain('set-up');
  expect(await readdir(repository.home)).toEqual([]);
});

test('what failed before anything was paid begins at the commit with the fix; after a paid step the base stays', async () => {
  const repository = await designedRepository(['42']);
  const commit = (message: string): string => {
    repository.git('commit', '--quiet', '--all', '-m', message);
    return repository.git('rev-parse', 'HEAD');
  };
  await repository.write('agentos.yaml', 'implement:\n  setup: sh setup.sh\n');
  await repository.write('setup.sh', 'exit 3\n');
  await repository.write('old.txt', 'old\n');
  repository.git('add', 'agentos.yaml', 'setup.sh', 'old.txt');
  commit('A set-up that fails');
  const run = { implementer: implementer({ code: 'wrong', mends: 'yes' }), args: ['--max-rounds', '1'] };
  expect((await implement(repository, run)).code).toBe(1);
  expect(await itemIn(join(repository.root, '.agentos'))).toMatchObject({ error: { code: 'setup-failed' } });

  // A person's own file in the worktree stays; a file that the fix deletes does not.
  await writeFile(join(repository.work, 'worktrees/implement-42/mine.txt'), 'mine\n');
  await repository.write('setup.sh', 'test -f mine.txt && test ! -e old.txt\n');
  await rm(join(repository.root, 'old.txt'));
  const fixed = commit('A set-up that works');
  expect((await implement(repository, run)).code).toBe(1);
  expect(await itemIn(join(repository.root, '.agentos'))).toMatchObject({ error: { code: 'gate-failed' } });

  await repository.write('setup.sh', 'exit 3\n');
  commit('Too late');
  const { code, stdout } = await implement(repository, run);
  expect(code, stdout).toBe(0);
  expect(repository.git('show', `${BRANCH}:docs/reports/42.md`)).toContain(`baseCommit: ${fixed}`);
  expect(repository.git('merge-base', 'main', BRANCH)).toBe(fixed);
  expect(added(repository, BRANCH, fixed)).toEqual(ITEM_FILES);
});

test('without a git identity nobody is called and nothing is begun', async () => {
  const repository = await designedRepository(['42']);
  for (const name of ['user.name', 'user.email']) repository.git('config', '--unset', name);
  repository.git('config', 'user.useConfigOnly', 'true');
  const state = join(repository.home, '..', 'calls.jsonl');

  const env = { GIT_CONFIG_NOSYSTEM: '1' };
  const { code, stdout } = await implement(repository, { implementer: implementer({ state }), env });
  expect(code).toBe(1);
  expect(stdout).toContain('git has no identity to commit with');
  expect(await itemIn(join(repository.root, '.agentos'))).toMatchObject({
    status: 'failed',
    error: { code: 'git-identity-missing' },
  });
  expect(await callsOf(state)).toEqual([]);
  expect(repository.git('branch', '--list', 'agentos/*')).toBe('');
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
});

test('a second run on the item is refused; after kill -9 while the code is written, the tests are not written again', async () => {
  const repository = await designedRepository(['42']);
  const [state, hold] = [join(repository.home, '..', 'calls.jsonl'), join(repository.home, '..', 'hold')];
  await writeFile(hold, '');
  const tests = { 'test/item-42.test.js': ITEM_TESTS };
  const plan = await implementerWriting(repository, {
    tests: [tests],
    code: [{ 'src/item-42.js': ITEM_CODE }],
    state,
    hold,
  });
  const run = { implementer: plan, args: [...WITHOUT_SANDBOX] };
  const first = await start(repository, run);
  await first.printed('still at it');

  const second = await implement(repository, run);
  expect(second.code).toBe(1);
  expect(second.stdout).toContain(`implement 42 is being worked on by another run (process ${first.child.pid}, since `);
  expect(await itemIn(join(repository.root, '.agentos'))).toMatchObject({ error: { code: 'item-locked' } });

  first.child.kill('SIGKILL');
  await first.ended;
  await eventually(
    'everything that it started has ended',
    () => processesWith(join(repository.home, '..')).length === 0,
  );
  await rm(hold);
  // As a system does that empties its temporary folders.
  await rm(repository.work, { recursive: true });
  // What the writer is shown was stored: a setting that would change it now does not pay for the tests again.
  await appendFile(join(repository.root, 'agentos.yaml'), 'context: { exclude: [package.json] }\n');
  const again = await implement(repository, run);
  expect(again.stdout).toContain('again without the code');
  expect(again.code).toBe(0);
  expect((await callsOf(state)).map(({ phase }) => phase)).toEqual(['tests', 'code', 'code']);
  expect(added(repository)).toEqual(ITEM_FILES);
  const steps = (await itemIn(join(repository.root, '.agentos')))?.steps ?? [];
  expect(steps.filter(({ replayed }) => replayed).map(({ name }) => name)).toEqual(
    expect.arrayContaining(['begin', 'baseline', 'tests-1', 'red-1', 'commit-tests']),
  );
  expect(await readdir(repository.home)).toEqual([]);
});

/** As a set-up would install it: below such a path nothing is found by climbing up. */
const installed = `implement: { setup: 'ln -s ''${join(PROJECT, 'node_modules')}'' node_modules' }\n`;
const ODD = "Bob's work? #1 50% \\x [a] $HOME ü";

test.each([
  [ODD, nodeTypes],
  [ODD, { ...vitest, files: { ...vitest.files, 'agentos.yaml': installed } }],
])('a repository in a folder called %s can be implemented', async (name, sample) => {
  const repository = await languageRepository(sample, name);
  const plan = await implementerWriting(repository, { tests: [sample.tests], code: [sample.code] });
  const { code, stdout } = await implement(repository, { implementer: plan });
  expect(stdout).toMatch(/reverse: \d new tests? fails? again without the code/);
  expect(code).toBe(0);
  expect(added(repository)).toEqual(
    expect.arrayContaining([...Object.keys(sample.code), ...Object.keys(sample.tests)]),
  );
  expect(stdout).toContain(`[IMPL-42] worktree: ${repository.work}/worktrees/implement-42\n`);
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
  expect(await readdir(repository.home)).toEqual([]);
});

test('what is kept of an item in such a folder is found there, and thrown away', async () => {
  const repository = await languageRepository(nodeTypes, ODD);
  const { code, stdout } = await implement(repository, { implementer: 'command:false' });
  expect(code).toBe(1);
  const [, place = ''] = /Look at it: cd (\/var\/tmp\/\S+) && git status/.exec(stdout) ?? [];
  expect(repository.git('-C', place, 'status', '--porcelain')).toBe('');
  const cleaned = await agentos(['clean', '--discard', '42'], { cwd: repository.root, env: { HOME: repository.home } });
  expect(cleaned.code, cleaned.stderr).toBe(0);
  expect(existsSync(join(place, '..', '..'))).toBe(false);
});

const ITEM_TESTS = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item42 } from '../src/item-42.js';

test('010 adds the number', () => assert.equal(item42(1), 43));
test('020 refuses text', () => assert.throws(() => item42('x'), TypeError));
`;
const ITEM_CODE = `export function item42(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;
