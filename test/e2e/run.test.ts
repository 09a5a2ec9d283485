import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { approve, callsOf, designedRepository, implementer } from '../support/implement.ts';
import { ISSUE, lldFor, review, script, taskOf, vendorEnv } from '../support/models.ts';
import { agentos, type Ended, type Started, startAgentos } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { type ScriptedModels, scriptedModels } from '../support/scripted-models.ts';
import { startVendor } from '../support/vendor/index.ts';

interface Place {
  repository: TestRepository;
  models: ScriptedModels;
  options: { cwd: string; env: Record<string, string> };
  run: (...args: string[]) => Promise<Ended>;
  start: (...args: string[]) => Started;
}

interface PlaceOptions {
  /** With an approved LLD. */
  approved?: readonly string[];
  lld?: (id: string) => string;
  /** The gates have tests of their own, and take most of the time. */
  policy?: 'strict' | 'off';
  how?: Record<string, string>;
}

/** A repository with these issues, and models and an implementer that behave well unless told otherwise. */
async function place(pending: readonly string[], given: PlaceOptions = {}): Promise<Place> {
  const { approved = [], lld = lldFor, policy = 'off', how = {} } = given;
  const repository = await designedRepository(approved, lld);
  for (const id of pending) await repository.write(`issues/${id}.md`, ISSUE);
  await repository.write('agentos.yaml', `implement:\n  policy: ${policy}\n`);
  const models = await scriptedModels(repository);
  for (const id of pending) await models.answer('lld', id, lld(id));
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const flags = [...models.flags, '--implementer', implementer(how)];
  return {
    repository,
    models,
    options,
    run: (...args) => agentos(['run', ...args, ...flags], options),
    start: (...args) => startAgentos(['run', ...args, ...flags], options),
  };
}

interface Summary {
  runId: string;
  workflow: string;
  exitCode: number;
  retryCommand: string | null;
  items: { id: string; status: string; reason: string | null; attempts: number; outputs: string[] }[];
}

async function summaryOf(repository: TestRepository): Promise<Summary> {
  const runs = await repository.list('.agentos/runs');
  return JSON.parse(await repository.read(`.agentos/runs/${runs.at(-1)}/summary.json`));
}

async function statuses(repository: TestRepository): Promise<string[]> {
  return (await summaryOf(repository)).items.map(({ id, status }) => `${id} ${status}`);
}

/** The backlog as `agentos status` has it. */
async function standings(repository: TestRepository): Promise<unknown[]> {
  const { stdout } = await agentos(['status', '--json'], { cwd: repository.root, env: { HOME: repository.home } });
  return JSON.parse(stdout).items;
}

interface Event {
  type: string;
  item?: string;
  workflow?: string;
  status?: string;
  goesOnWith?: string;
}

async function eventsOf(repository: TestRepository): Promise<Event[]> {
  const runs = await repository.list('.agentos/runs');
  const text = await repository.read(`.agentos/runs/${runs.at(-1)}/events.jsonl`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** When the stages of the last run began and ended: `+lld-42`, `-lld-42`. */
async function course(repository: TestRepository): Promise<string[]> {
  return (await eventsOf(repository)).flatMap(({ type, item, workflow }) =>
    type === 'item-started' ? [`+${workflow}-${item}`] : type === 'item-finished' ? [`-${workflow}-${item}`] : [],
  );
}

const DISCUSS = review({ verdict: 'DISCUSS', questions: ['Who pays?'] });
const branchesOf = (repository: TestRepository): string[] =>
  repository
    .git('branch', '--list', 'agentos/*', '--format', '%(refname:short)')
    .split('\n')
    .filter((name) => name !== '');
const dependingOn = (id: string, other: string): string =>
  lldFor(id).replace('**Related Issues:** None', `**Related Issues:** depends on #${other}`);

test('an issue becomes an approved LLD and then a tested branch, as one item of one run', async () => {
  const { repository, models, options, run } = await place(['42'], { policy: 'strict' });
  const { code, stdout } = await run('42');
  expect(code).toBe(0);
  expect(stdout.indexOf('[LLD-42] wrote docs/lld/LLD-42.md')).toBeGreaterThan(0);
  expect(stdout.indexOf('again without the code')).toBeGreaterThan(stdout.indexOf('[LLD-42] succeeded'));
  expect(await models.calls()).toEqual(['lld 42', 'review-lld 42', 'review-code 42']);
  const branch = 'agentos/42-add-a-number';
  expect(branchesOf(repository)).toEqual([branch]);
  expect(repository.git('show', `${branch}:docs/reports/42.md`)).toContain('status: implemented');
  const summary = await summaryOf(repository);
  expect(summary).toMatchObject({ workflow: 'run', exitCode: 0, retryCommand: null });
  expect(summary.items).toMatchObject([{ id: '42', status: 'succeeded', attempts: 2 }]);
  expect(summary.items[0]?.outputs).toEqual([branch, 'docs/reports/42.md', 'docs/lld/LLD-42.md', 'docs/lineage/42']);
  expect(stdout).toMatch(/^42 {2}succeeded .* agentos\/42-add-a-number$/m);
  for (const gate of [
    "red: 1 test file can't load yet, as it should",
    'green: 3 tests pass, 2 of them new',
    'frozen: 1 test file is as it was',
    'reverse: 2 new tests fail again without the code',
  ])
    expect(stdout).toContain(`[IMPL-42] ${gate}\n`);
  // There is nowhere to push to.
  expect(stdout).toMatch(
    /^Total: 1 item \(1 succeeded\), \$0\.0000, .*\nNext: git diff main\.\.\.agentos\/42-add-a-number\n {6}git merge agentos\/42-add-a-number\n$/m,
  );
  const ends = (await eventsOf(repository)).filter(({ type }) => type === 'item-finished');
  expect(ends.map(({ workflow, goesOnWith }) => [workflow, goesOnWith])).toEqual([
    ['lld', 'implement'],
    ['implement', undefined],
  ]);

  const runFolder = `.agentos/runs/${summary.runId}`;
  expect(await repository.list(`${runFolder}/logs`)).toEqual(['implement-42.log', 'lld-42.log']);
  expect(await repository.list(`${runFolder}/audit`)).toEqual(['implement-42.jsonl', 'lld-42.jsonl']);
  const logs = (await agentos(['logs', '42'], options)).stdout;
  expect(logs.indexOf('again without the code')).toBeGreaterThan(logs.indexOf('review 1: APPROVED'));
  expect((await agentos(['status'], options)).stdout).toMatch(/ run {2}finished .*\n {2}42 {2}succeeded +implement /);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);

  expect((await run('--all')).stdout).toContain('Nothing to do: every approved LLD is implemented.');
  expect((await run('42')).code).toBe(0);
  expect(await statuses(repository)).toEqual(['42 skipped']);
});

test('an item in the second stage waits for nobody in the first; one that waits for a person is not implemented', async () => {
  const { repository, models, start } = await place(['42', '43', '44']);
  await models.hold('lld', '43');
  await models.answer('review-lld', '44', DISCUSS);
  const program = start('--all', '--parallel', '2', '--json');
  await program.printed('[IMPL-42] succeeded');
  await program.printed('[LLD-44] discuss');
  await models.release('lld', '43');
  const { code, stdout, stderr } = await program.ended;
  expect(code).toBe(3);
  expect(stderr).toContain(
    'Waiting for a person: 44. Read the last verdict in docs/lineage/44/, then: agentos decide 44',
  );
  const order = await course(repository);
  // What was begun comes before what was not, and 43 was at its design all the time.
  expect(order.indexOf('+implement-42')).toBeLessThan(order.indexOf('+lld-44'));
  expect(order.indexOf('-implement-42')).toBeLessThan(order.indexOf('-lld-43'));
  expect(order).not.toContain('+implement-44');
  expect(await statuses(repository)).toEqual(['42 succeeded', '43 succeeded', '44 discuss']);
  const lines: Event[] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ workflow: 'run', counts: { total: 3, succeeded: 2, discuss: 1 } });
  const itemEnds = lines.filter(({ type, goesOnWith }) => type === 'item-finished' && goesOnWith === undefined);
  expect(itemEnds).toHaveLength(3);
  expect(new Set(itemEnds.map(({ item }) => item))).toEqual(new Set(['42', '43', '44']));
});

test('a failure in either stage stops nobody else: exit 1, and the line to copy has all that failed', async () => {
  const { repository, models, run } = await place(['41', '42', '43'], { how: { code: 'fails-for', only: '43' } });
  await models.answer('lld', '41', 'fails');
  const { code, stdout } = await run('--all', '--parallel', '3', '--max-retries', '0');
  expect(code).toBe(1);
  expect(await statuses(repository)).toEqual(['41 failed', '42 succeeded', '43 failed']);
  expect(stdout).toContain('Failed: 41, 43. Retry with: agentos run --ids 41 43 --drafter ');
  expect(stdout).toMatch(/^43 {2}failed .* command-failed$/m);
  expect(stdout).toContain(`43 is kept. Look at it: cd ${repository.work}/worktrees/implement-43`);
  expect(stdout).not.toContain('41 is kept');
});

test('the plan says where each item begins, for people and as JSON, and writes nothing', async () => {
  const shared = (id: string): string =>
    lldFor(id).replace('| `src/item-', '| `src/main.js` | Modify | Exports it |\n| `src/item-');
  const { repository, models, run } = await place(['42'], { approved: ['43', '44'], lld: shared });
  const plan = JSON.parse((await run('--all', '--dry-run', '--json')).stdout);
  expect(plan).toMatchObject({ workflow: 'run', groups: [{ ids: ['43', '44'], files: ['src/main.js'] }] });
  expect(plan.items.map(({ id, workflow, state }: Record<string, string>) => `${id} ${workflow} ${state}`)).toEqual([
    '42 lld new',
    '43 implement new',
    '44 implement new',
  ]);
  expect(Object.keys(plan.models)).toEqual(['drafter', 'reviewer', 'implementer']);
  const { stdout } = await run('42', '43', '--dry-run');
  expect(stdout).toMatch(/^ {2}42 {2}lld: new +Add a number$/m);
  expect(stdout).toMatch(/^ {2}43 {2}implement: new +Add a number$/m);
  const short = JSON.parse((await run('--all', '--until', 'lld', '--dry-run', '--json')).stdout);
  expect(short.items.map(({ id }: { id: string }) => id)).toEqual(['42']);
  expect(short.models).not.toHaveProperty('implementer');
  expect(await models.calls()).toEqual([]);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
});

test('--until lld ends with the design, and resume stays there, however often', async () => {
  const { repository, models, options, run } = await place(['42', '43'], { approved: ['44'] });
  await models.answer('lld', '42', 'fails');
  const first = await run('--all', '--until', 'lld', '--max-retries', '0');
  expect(first.code).toBe(1);
  expect(first.stdout).toMatch(/Retry with: agentos run --ids 42 --drafter .* --until lld$/m);
  expect((await agentos(['resume'], options)).stdout).toMatch(
    /Retry with: agentos run --ids 42 --drafter .* --until lld$/m,
  );
  await models.answer('lld', '42', lldFor('42'));
  expect((await agentos(['resume'], options)).code).toBe(0);
  expect(await statuses(repository)).toEqual(['42 succeeded']);
  expect(await repository.list('docs/lld')).toEqual(['LLD-42.md', 'LLD-43.md', 'LLD-44.md']);
  expect(branchesOf(repository)).toEqual([]);
});

test('stopped or killed in the second stage, resume goes on in it and pays for nothing again', async () => {
  const outside = await place(['42'], { how: {} });
  const hold = join(outside.repository.home, '..', 'hold');
  const state = join(outside.repository.home, '..', 'calls.jsonl');
  const { repository, models, options } = outside;
  const flags = [...models.flags, '--implementer', implementer({ code: 'held', hold, state })];
  await writeFile(hold, '');
  const stopped = startAgentos(['run', '--all', ...flags], options);
  await stopped.printed('held back');
  expect((await agentos(['status'], options)).stdout).toMatch(/^ {2}42 {2}running +implement code-1 /m);
  const follower = startAgentos(['logs', '42', '--follow'], options);
  await follower.printed('review 1: APPROVED');
  await follower.printed('held back');
  stopped.child.kill('SIGINT');
  const { code, stdout } = await stopped.ended;
  expect(code).toBe(130);
  expect(stdout).toContain('Not finished: 42. Resume with: agentos resume');
  expect((await follower.ended).code).toBe(0);

  const killed = startAgentos(['resume'], options);
  await killed.printed('held back');
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect((await agentos(['status'], options)).stdout).toMatch(/^ {2}42 {2}interrupted +implement code-1 /m);

  await rm(hold);
  const plan = JSON.parse((await agentos(['resume', '--dry-run', '--json'], options)).stdout);
  expect(plan.items).toMatchObject([{ id: '42', workflow: 'implement', state: 'resumed', fromStep: 'code-1' }]);
  expect((await agentos(['resume'], options)).code).toBe(0);
  expect(await course(repository)).toEqual(['+implement-42', '-implement-42']);
  expect(await models.calls()).toEqual(['lld 42', 'review-lld 42', 'review-code 42']);
  expect((await callsOf(state)).map(({ phase }) => phase)).toEqual(['tests', 'code', 'code', 'code']);
});

test('what builds on an item of the same run is implemented after it, whatever stage each begins with', async () => {
  const { repository, models, run } = await place(['45', '46', '47', '48'], { approved: [] });
  await approve(repository, '44', dependingOn('44', '45'));
  await models.answer('lld', '46', dependingOn('46', '44'));
  await models.answer('lld', '47', dependingOn('47', '48'));
  await models.answer('lld', '48', dependingOn('48', '47'));
  const { code, stdout } = await run('--all', '--parallel', '3');
  expect(code).toBe(0);
  const order = await course(repository);
  const implementations = order.filter((entry) => /implement-4[456]$/.test(entry));
  expect(implementations).toEqual(['45', '44', '46'].flatMap((id) => [`+implement-${id}`, `-implement-${id}`]));
  // Those that build on each other go one after another, and it is said.
  expect(stdout).toMatch(/\[COORDINATOR\] (?:47, 48|48, 47) depend on each other; they run in this order\./);
  expect(order.filter((entry) => /implement-4[78]$/.test(entry)).map((entry) => entry[0])).toEqual([
    '+',
    '-',
    '+',
    '-',
  ]);
  expect(repository.git('ls-tree', '-r', '--name-only', 'agentos/46-add-a-number')).toContain('src/item-45.js');
});

test('what builds on an item that waits for a person is not started and says why: exit 3', async () => {
  const { repository, models, run } = await place(['43', '45', '46']);
  await approve(repository, '44', dependingOn('44', '45'));
  await models.answer('review-lld', '45', DISCUSS);
  await models.answer('lld', '46', dependingOn('46', '44'));
  const { code, stdout } = await run('--all', '--parallel', '2');
  expect(code).toBe(3);
  expect(await statuses(repository)).toEqual(['43 succeeded', '45 discuss', '44 cancelled', '46 cancelled']);
  expect(stdout).toContain('[IMPL-44] cancelled: not started: it depends on 45, which ended as discuss');
  expect(stdout).toContain('[IMPL-46] cancelled: not started: it depends on 44, which ended as cancelled');
  expect(stdout).toContain('Waiting for a person: 45.');
  expect(stdout).toContain('Not finished: 44, 46. Resume with: agentos resume');
  expect(branchesOf(repository)).toEqual(['agentos/43-add-a-number']);
  expect(await standings(repository)).toMatchObject([
    { id: '43', state: 'branch', branch: 'agentos/43-add-a-number', waitsFor: null },
    { id: '44', state: 'lld', waitsFor: 'item', reason: expect.stringContaining('it depends on 45') },
    { id: '45', state: 'issue', waitsFor: 'person' },
    { id: '46', state: 'lld', waitsFor: 'item' },
  ]);
});

const PRICES = `prices:
  "anthropic:claude-opus-5": { input: 10, output: 0 }
  "google:gemini-3-pro-preview": { input: 10, output: 0 }
`;
/** Each call costs a dollar. */
const USAGE = { input: 100_000, output: 10 };

test('--max-cost-per-item counts what both stages cost, and a higher one goes on', async () => {
  const vendor = await startVendor({ script: (call) => ({ ...script()(call), usage: USAGE }) });
  onTestFinished(() => vendor.close());
  const { repository, options } = await place(['42', '43']);
  await repository.write('agentos.yaml', `implement:\n  policy: off\n${PRICES}`);
  const env = { ...options.env, ...vendorEnv(vendor.url) };
  const flags = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
  const run = (...args: string[]): Promise<Ended> =>
    agentos(['run', ...args, ...flags, '--implementer', implementer()], { ...options, env });
  const { code, stdout } = await run('--all', '--max-cost-per-item', '2.005');
  expect(code).toBe(1);
  // The designs are paid for; the review of the code would be more than the rest.
  expect(await statuses(repository)).toEqual(['42 over-budget', '43 over-budget']);
  expect(stdout).toMatch(/^42 {2}over-budget {2}\$2\.0000 /m);
  expect(vendor.calls.map(taskOf)).toEqual(['draft', 'review', 'draft', 'review']);

  // Nobody has to hold a key for what is done.
  const { ANTHROPIC_API_KEY: _, ...withoutDrafter } = env;
  const again = await agentos(['resume', '--max-cost-per-item', '5', '--max-cost', '9'], {
    ...options,
    env: withoutDrafter,
  });
  expect(again.stderr).toBe('');
  expect(again.code).toBe(0);
  expect(vendor.calls).toHaveLength(6);
  repository.git('merge', '--quiet', '--no-edit', 'agentos/42-add-a-number');
  // What each run paid, together.
  expect(await standings(repository)).toMatchObject([
    { id: '42', state: 'merged', costUsd: 3, runs: 2 },
    { id: '43', state: 'branch', costUsd: 3, runs: 2 },
  ]);
});

test('what can’t be done is said before anything starts: exit 2', async () => {
  const { repository, models, options, run } = await place(['42']);
  const missing = await run('43');
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain('Did you mean 42?');
  const wrong = await run('42', '--until', 'tests');
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('Allowed choices are lld, implement');
  const key = await agentos(['run', '42', ...models.flags, '--implementer', 'anthropic:claude-opus-5'], options);
  expect(key.code).toBe(2);
  expect(key.stderr).toContain('There is no key for anthropic (implementer)');
  expect(await models.calls()).toEqual([]);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
});
