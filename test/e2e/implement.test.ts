import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  approve,
  callsOf,
  designedRepository,
  designedRepositoryIn,
  implementer,
  reviewerSaying,
} from '../support/implement.ts';
import { implementerWriting } from '../support/languages/repository.ts';
import { lldFor, review } from '../support/models.ts';
import { agentos, type Ended, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { shared } from '../support/shared.ts';

interface ItemSummary {
  id: string;
  status: string;
  attempts: number;
  reason: string | null;
  outputs: string[];
  error: { code: string; message: string; hint: string | null } | null;
  kept: { look: string; discard: string } | null;
  steps: { name: string; replayed: boolean }[];
}

async function summaryOf(repository: TestRepository): Promise<{ exitCode: number; items: ItemSummary[] }> {
  const runs = await repository.list('.agentos/runs');
  return JSON.parse(await repository.read(`.agentos/runs/${runs.at(-1)}/summary.json`));
}

async function itemOf(repository: TestRepository): Promise<ItemSummary> {
  const [item] = (await summaryOf(repository)).items;
  if (item === undefined) throw new Error('no item in the summary');
  return item;
}

async function implement(
  repository: TestRepository,
  how: Record<string, string> = {},
  more: { args?: string[]; reviewer?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const reviewer = more.reviewer ?? (await reviewerSaying(repository, 'APPROVED'));
  const args = more.args ?? ['42', '--max-retries', '0'];
  const writesElsewhere = 'state' in how || 'outside' in how || 'once' in how;
  const flags = [...args, ...(writesElsewhere ? WITHOUT_SANDBOX : [])];
  return agentos(['implement', ...flags, '--implementer', implementer(how), '--reviewer', reviewer], {
    cwd: repository.root,
    env: { HOME: repository.home, ...more.env },
  });
}

const BRANCH = 'agentos/42-add-a-number';

test('a dependency that the code adds is installed before its tests run, and the lock file follows', async () => {
  const repository = await designedRepository([]);
  await repository.write('.gitignore', 'node_modules/\n');
  const lock = { name: 'sample', lockfileVersion: 3, requires: true, packages: { '': { name: 'sample' } } };
  await repository.write('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Lock');
  await approve(repository, '42', lldFor('42'));
  const { code, stdout } = await implement(repository, { code: 'adds-dependency' });
  expect(stdout).toContain('set-up: npm ci');
  expect(stdout).toContain('set-up: npm install');
  expect(code).toBe(0);
  expect(repository.git('show', `${BRANCH}:package.json`)).toContain('"plus": "file:vendor/plus"');
  expect(repository.git('show', `${BRANCH}:package-lock.json`)).toContain('"node_modules/plus"');
  expect((await itemOf(repository)).steps.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['set-up', 'code-1', 'code-1-set-up', 'code-2', 'code-2-set-up', 'green-2']),
  );
});

test('a file of the LLD that git ignores fails the item before anybody is paid', async () => {
  const repository = await designedRepository(['42']);
  await repository.write('.gitignore', 'src/item-*\n');
  const state = join(repository.home, '..', 'calls');
  expect((await implement(repository, { state })).stdout).toContain('src/item-42.js is ignored by git');
  expect(await callsOf(state)).toEqual([]);
});

test('an edited LLD is not approved', async () => {
  const repository = await designedRepository(['42']);
  const lld = await repository.read('docs/lld/LLD-42.md');
  await repository.write('docs/lld/LLD-42.md', lld.replace('A pure function', 'A very pure function'));
  const edited = await implement(repository);
  expect(edited.code).toBe(1);
  expect(edited.stdout).toContain('is not an approved LLD: its body was edited after its approval.');
  const all = await implement(repository, {}, { args: ['--all'] });
  expect(all.code).toBe(0);
  expect(all.stdout).toContain('Skipping 42.');
});

test('what tests write outside of the worktree is found too, and nothing is undone', async () => {
  const repository = await designedRepository(['42']);
  expect((await implement(repository, { code: 'writes-by-tests', outside: repository.root })).code).toBe(1);
  const { error } = await itemOf(repository);
  expect(error).toMatchObject({ code: 'changed-outside' });
  expect(error?.message).toContain('by-test.txt');
});

test('an agent that writes outside of its worktree fails the item; the files are named, and nothing is undone', async () => {
  const repository = await designedRepository(['42']);
  const state = join(repository.home, '..', 'calls');
  const run = (): Promise<Ended> => implement(repository, { code: 'writes-outside', outside: repository.root, state });
  const { code, stdout } = await run();
  expect(code).toBe(1);
  const item = await itemOf(repository);
  expect(item).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'changed-outside' } });
  const above = join(repository.work, 'worktrees', 'above.txt');
  expect(stdout).toContain(`ran: .git/hooks/pre-commit, ${above}, new file.txt, src/main.js.`);
  expect(await repository.read('src/main.js')).toContain('answer = 0');
  expect(await repository.read('new file.txt')).toBe('x\n');
  // What was paid for is there: the next run looks again, and resumes after it.
  expect((await run()).code).toBe(0);
  expect((await callsOf(state)).map(({ phase }) => phase)).toEqual(['tests', 'code']);
});

test('what a person does in the checkout meanwhile is named, and fails nothing', async () => {
  const repository = await designedRepository(['42']);
  const { code, stdout } = await implement(repository, { code: 'works-in-checkout', outside: repository.root });
  expect(code, stdout).toBe(0);
  const named = '.git/index, .git/refs/heads/main, issues/77.md, package.json, src/main.js, test/main.test.js';
  expect(stdout).toContain(`[IMPL-42] changed in the checkout meanwhile, and not reverted: ${named}\n`);
  expect(await repository.read('src/main.js')).toContain('answer = 0');
});

test('an agent that never ends is timed out, and what it wrote before is kept', async () => {
  const repository = await designedRepository(['42']);
  const bounds = ['42', '--timeout', '8s', '--max-retries', '0'];
  expect((await implement(repository, { code: 'forever' }, { args: bounds })).code).toBe(1);
  expect((await itemOf(repository)).status).toBe('timed-out');
  expect(repository.git('log', '--format=%s', `main..${BRANCH}`)).toBe('Tests for 42: Add a number');
  expect((await implement(repository)).code).toBe(0);
});

test('an agent that fails is tried again, and goes on with what it had written', async () => {
  const repository = await designedRepository(['42']);
  const once = join(repository.home, '..', 'once');
  const { code } = await implement(repository, { code: 'fails-once', once }, { args: ['42', '--max-retries', '1'] });
  expect(code).toBe(0);
  expect((await itemOf(repository)).attempts).toBe(2);
  expect(repository.git('ls-tree', '-r', '--name-only', BRANCH)).toContain('src/half.js');
});

test('Ctrl+C keeps what is finished; resume goes on without asking again', async () => {
  const repository = await designedRepository(['42']);
  const state = join(repository.home, '..', 'calls.jsonl');
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const command = implementer({ code: 'forever', state });
  const models = ['--implementer', command, '--reviewer', reviewer, ...WITHOUT_SANDBOX];
  const started = startAgentos(['implement', '42', ...models], options);
  await started.printed('still at it');
  started.child.kill('SIGINT');
  expect((await started.ended).code).toBe(130);
  await writeFile(state, '');
  const resumed = await agentos(['resume', '--implementer', implementer({ state })], options);
  expect(resumed.code).toBe(0);
  const phases = (await callsOf(state)).map(({ phase }) => phase);
  // Another implementer is another question: what the first one wrote is not taken for its work.
  expect(phases).toEqual(['tests', 'code']);
});

test('a change to what runs elsewhere with more rights waits for a person, whatever the reviewer says; the state folder is no part of it', async () => {
  const lld = (id: string): string => lldFor(id).replace('no state.', 'no state. Nothing is installed.');
  const repository = await designedRepository(['42'], lld);
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const written = {
    'src/item-42.js': `export function item42(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`,
    '.github/workflows/release.yml': 'on: push\n',
    'package.json':
      '{ "name": "sample", "type": "module", "scripts": { "test": "node --test", "install": "node --version" } }\n',
    '.agentos/checkpoints/lld-1.db': 'forged',
  };
  const tests = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item42 } from '../src/item-42.js';

test('010 adds the number', () => assert.equal(item42(1), 43));
test('020 refuses text', () => assert.throws(() => item42('x'), TypeError));
`;
  const plan = await implementerWriting(repository, { tests: [{ 'test/item-42.test.js': tests }], code: [written] });
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const args = ['implement', '42', '--implementer', plan, '--reviewer', reviewer];
  const ended = await agentos(args, options);
  expect(ended.code, ended.stdout).toBe(3);
  expect(ended.stdout).toContain('.github/workflows/release.yml, package.json (script install)');
  expect(ended.stdout).toContain('no part of an implementation: .agentos/checkpoints/lld-1.db');
  expect(repository.git('ls-tree', '-r', '--name-only', BRANCH)).not.toContain('release.yml');

  const decided = await agentos(['decide', '42', '--approve', '--reason', 'We want the release.'], options);
  expect(decided.code, decided.stderr).toBe(0);
  const again = await agentos(args, options);
  expect(again.code, again.stdout).toBe(0);
  const files = repository.git('ls-tree', '-r', '--name-only', BRANCH);
  expect(files).toContain('.github/workflows/release.yml');
  expect(files).not.toContain('.agentos/');
});

test('a review that asks for changes has them made and proven again; one that can’t be satisfied waits for a person', async () => {
  const repository = await designedRepository(['42']);
  const reviewer = await reviewerSaying(repository, 'REVISE', { tier2: ['**Naming:** call it otherwise.'] });
  const state = join(repository.home, '..', 'calls.jsonl');
  const { code } = await implement(repository, { state }, { reviewer, args: ['42', '--max-rounds', '2'] });
  expect(code).toBe(3);
  const item = await itemOf(repository);
  expect(item.status).toBe('discuss');
  const revision = (await callsOf(state)).at(-1);
  expect(revision).toMatchObject({ phase: 'code', again: true });
  expect(revision?.task).toContain('call it otherwise');
  expect(existsSync(join(repository.work, 'worktrees/implement-42/src/item-42.js'))).toBe(true);
  const said = await repository.read(join(repository.work, 'homes/implement-42/reviews/review-2.md'));
  expect(said).toContain('call it otherwise');

  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const decided = await agentos(['decide', '42', '--approve', '--reason', 'The name is fine.'], options);
  expect(decided.code, decided.stderr).toBe(0);
  await writeFile(state, '');
  const again = await implement(repository, { state }, { reviewer, args: ['42', '--max-rounds', '2'] });
  expect(again.code, again.stdout).toBe(0);
  expect(await callsOf(state)).toEqual([]);
  expect(repository.git('show', `${BRANCH}:docs/reports/42.md`)).toContain('The name is fine.');
});

const revised = shared(async ({ folder }) => {
  const repository = await designedRepositoryIn(folder, ['42']);
  const file = (name: string): string => join(folder, name);
  await writeFile(file('1.md'), review({ verdict: 'REVISE', tier2: ['**Words:** say it in src/item-42.js:1.'] }));
  await writeFile(file('2.md'), review({ verdict: 'APPROVED' }));
  const reviewer = `command:cd '${folder}'; n=$(($(ls | grep -c '^asked-') + 1)); cat > asked-$n; cat $n.md`;
  const state = file('calls');
  const env = { ANTHROPIC_API_KEY: 'sk-ant-0123456789abcdef', GITHUB_TOKEN: 'ghp_0123456789', MY_OWN: 'x' };
  const ended = await implement(repository, { code: 'revises-more', state }, { reviewer, env });
  const [first = '', second = ''] = await Promise.all(
    ['asked-1', 'asked-2'].map((name) => readFile(file(name), 'utf8')),
  );
  return { repository, ended, calls: await callsOf(state), reviews: { first, second } };
});

test('the command gets the whole task with the LLD on stdin, in the worktree, with a home of its own and no keys', async () => {
  const { repository, calls } = await revised();
  expect(calls.map(({ phase }) => phase)).toEqual(['tests', 'code', 'code']);
  for (const call of calls) {
    expect(call.task).toContain('A pure function, no state.');
    // What it is shown of the repository.
    expect(call.task).toContain('export const answer = 42;');
    expect(call.env['PWD']).toBe(join(repository.work, 'worktrees', 'implement-42'));
    expect(call.env['HOME']).toContain(join(repository.work, 'homes'));
    expect(JSON.stringify(call.env)).not.toMatch(/sk-ant|ghp_/);
    expect(call.env['MY_OWN']).toBeUndefined();
  }
});

test('a revision changes the files that the findings name, or new ones; more is undone, reported, and shown to the reviewer', async () => {
  const { repository, ended, calls, reviews } = await revised();
  const { code, stdout } = ended;
  expect(code, stdout).toBe(0);
  expect(calls.at(-1)?.task).toMatch(/any other change is undone:\n\n<may-change>\n- src\/item-42\.js\n<\/may-change/);
  expect(stdout).toContain('undone, no finding names these files: src/main.js');
  expect(stdout).toContain('undone, the tests are frozen while the code is written: test/item-42.test.js');
  expect(repository.git('diff', '--name-only', 'main', BRANCH, '--', 'src').split('\n')).toEqual([
    'src/item-42.js',
    'src/more.js',
  ]);
  expect(repository.git('show', `${BRANCH}:src/item-42.js`)).toContain('// revised');
  expect(repository.git('show', `${BRANCH}:docs/reports/42.md`)).toMatch(
    /undone, no finding names these files: .*main/,
  );
  const patch = await repository.read('.agentos/undone/implement-42/revise-1-1-unasked.patch');
  expect(patch).toContain('+export const answer = 42; // touched');
  expect(reviews.first).not.toContain('<undone-in-the-revision>');
  expect(reviews.second).toMatch(/<undone-in-the-revision>[^<]*- src\/main\.js: no finding names these files/);
});

test('items that change the same file run one after another, dependencies first; the plan says so', async () => {
  const shared = (id: string): string =>
    lldFor(id)
      .replace('| `src/item-', '| `src/main.js` | Modify | `answer` knows it |\n| `src/item-')
      .replace('**Related Issues:** None', `**Related Issues:** ${id === '43' ? 'near `src/item-42.js`' : 'None'}`);
  const repository = await designedRepository(['42', '43'], shared);
  await approve(
    repository,
    '44',
    lldFor('44').replace('**Related Issues:** None', '**Related Issues:** depends on #45'),
  );
  await approve(repository, '45', lldFor('45'));
  const asked = join(repository.home, '..', 'asked-');
  const answer = (await reviewerSaying(repository, 'APPROVED')).slice('command:'.length);
  const reviewer = `command:cat > '${asked}'$$; ${answer}`;
  const models = ['--implementer', implementer(), '--reviewer', reviewer, ...WITHOUT_SANDBOX];
  const args = ['implement', '--all', '--parallel', '4', ...models];
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const plan = JSON.parse((await agentos([...args, '--dry-run', '--json'], options)).stdout);
  expect(plan.workflow).toBe('implement');
  expect(plan.items.map((item: { id: string }) => item.id)).toEqual(['42', '43', '45', '44']);
  expect(plan.groups).toEqual([
    { ids: ['42', '43'], files: ['src/main.js'] },
    { ids: ['45', '44'], files: [] },
  ]);
  const between = { dependsOn: false, files: ['src/main.js'], declarations: ['answer in src/main.js'] };
  expect(plan.items.map((item: { forecast: unknown }) => item.forecast)).toEqual([
    [{ with: '43', ...between, uses: [], usedBy: ['src/item-42.js'] }],
    [{ with: '42', ...between, uses: ['src/item-42.js'], usedBy: [] }],
    [],
    [{ with: '45', dependsOn: true, files: [], declarations: [], uses: [], usedBy: [] }],
  ]);
  const shown = await agentos([...args, '--dry-run'], options);
  expect(shown.stdout).toContain('42 and 43 both change answer in src/main.js.\n');
  expect(shown.stdout).toContain('43 uses what 42 adds: src/item-42.js. Its LLD does not say "Depends on: #42"');
  const whole = await agentos(['run', ...args.slice(1), '--drafter', reviewer, '--dry-run', '--json'], options);
  expect(JSON.parse(whole.stdout).groups).toEqual(plan.groups);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);

  const ended = await agentos(args, options);
  expect(ended.code, ended.stdout).toBe(0);
  expect(ended.stdout).toContain(
    'One after another: 42 → 43 (both change src/main.js). Each starts from the branch of the one before.',
  );
  const designs = (await repository.read('.agentos/caches/designs.jsonl')).trim().split('\n');
  expect(designs).toHaveLength(4);
  expect(designs.flatMap((line) => JSON.parse(line).after)).toEqual(['45']);
  const runs = await repository.list('.agentos/runs');
  const events = (await repository.read(`.agentos/runs/${runs.at(-1)}/events.jsonl`))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { type: string; item?: string });
  const at = (type: string, item: string): number =>
    events.findIndex((event) => event.type === type && event.item === item);
  const [first, second] = at('item-started', '42') < at('item-started', '43') ? ['42', '43'] : ['43', '42'];
  expect(at('item-finished', first)).toBeLessThan(at('item-started', second));
  expect(at('item-finished', '45')).toBeLessThan(at('item-started', '44'));
  // The second begins at the first one's branch, and says so.
  const branchOf = (id: string): string => `agentos/${id}-add-a-number`;
  repository.git('merge-base', '--is-ancestor', branchOf(first), branchOf(second));
  expect(ended.stdout).toContain(`[IMPL-${second}] starts from ${branchOf(first)}, not merged yet\n`);
  expect(repository.git('show', `${branchOf(second)}:docs/reports/${second}.md`)).toContain(
    `starts from ${branchOf(first)}, which is not merged: merge that first`,
  );
  // When the first is merged, it is done over on the new base, beside what it was.
  repository.git('stash', '--quiet', '--include-untracked', '--', 'docs/lld');
  repository.git('merge', '--quiet', '--no-edit', branchOf(first));
  repository.git('stash', 'pop', '--quiet');
  const over = ['implement', '--again', second, ...args.slice(4)];
  expect((await agentos(['implement', second, ...args.slice(4)], options)).stdout).toContain('implemented already');
  const again = await agentos(over, options);
  expect(again.code, again.stdout).toBe(0);
  expect(again.stdout).not.toContain('starts from');
  expect(repository.git('rev-parse', `${branchOf(second)}-2~3`)).toBe(repository.git('rev-parse', 'main'));
  expect((await agentos(['implement', '--again', '--all', ...args.slice(4)], options)).code).toBe(2);
  // What 44 builds on is on its branch.
  expect(repository.git('ls-tree', '-r', '--name-only', 'agentos/44-add-a-number')).toContain('src/item-45.js');
  const folder = join(repository.home, '..');
  const names = (await readdir(folder)).filter((name) => name.startsWith('asked-'));
  const reviews = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const reviewOf = (id: string): string => reviews.find((text) => text.includes(`code for issue ${id},`)) ?? '';
  // The second is built on the first, and has its change before it.
  expect(reviewOf(first)).toMatch(
    new RegExp(`<other-designs>[^<]*- LLD-${second}: changes src/main\\.js too; both change answer`),
  );
  expect(reviewOf('45')).toContain('Review the code for issue 45');
  expect(reviewOf('45')).not.toContain('<other-designs>');
});

test('an LLD whose files have moved since its approval is checked again before anybody is paid', async () => {
  const repository = await designedRepository(['42']);
  await repository.write('src/item-42.js', 'export {};\n');
  repository.git('add', 'src/item-42.js');
  repository.git('commit', '--quiet', '-m', 'Somebody was faster');
  const state = join(repository.home, '..', 'calls.jsonl');
  const { code, stdout } = await implement(repository, { state });
  expect(code).toBe(1);
  expect(stdout).toContain('no longer fits the repository');
  expect(await callsOf(state)).toEqual([]);
});

test('no LLD, a wrong flag and a missing key: one line, exit 2, nothing written', async () => {
  const repository = await designedRepository([]);
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const missing = await agentos(
    ['implement', '42', '--implementer', implementer(), '--reviewer', 'command:true'],
    options,
  );
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain('There is no LLD for 42');
  await approve(repository, '42', lldFor('42'));
  const wrong = await agentos(['implement', '42', '--implementer', 'claude-kode'], options);
  expect(wrong.code).toBe(2);
  const key = await agentos(['implement', '42', '--implementer', 'claude-code', '--reviewer', 'command:true'], options);
  expect(key.code).toBe(2);
  expect(key.stderr).toContain('There is no key for anthropic (implementer)');
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
});
