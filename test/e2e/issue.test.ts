import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readFrontMatter } from '../../src/documents/header.ts';
import { issueOf, review, roundOf, script, taskOf, vendorEnv } from '../support/models.ts';
import { agentos, type Ended, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { editedIssue, SAMPLE_ISSUE } from '../support/sample-issue.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const BRIEF = 'Calls that met a quota are lost\n\nA vendor answers 429 and the whole batch has to be started again.\n';

interface Place {
  vendor: Vendor;
  repository: TestRepository;
  issue: (...args: string[]) => Promise<Ended>;
  options: { cwd: string; env: Record<string, string> };
}

/** A repository with these briefs, and a vendor that behaves well unless told otherwise. */
async function place(
  briefs: Record<string, string>,
  vendorOptions: VendorOptions = { script: script() },
  issues: Record<string, string> = {},
): Promise<Place> {
  const vendor = await startVendor(vendorOptions);
  onTestFinished(() => vendor.close());
  const repository = await testRepository(issues);
  for (const [name, text] of Object.entries(briefs)) await repository.write(`briefs/${name}.md`, text);
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  return { vendor, repository, options, issue: (...args) => agentos(['issue', ...args, ...MODELS], options) };
}

interface Summary {
  workflow: string;
  counts: Record<string, number>;
  retryCommand: string | null;
  items: { id: string; status: string; reason: string | null; outputs: string[]; steps: { replayed: boolean }[] }[];
}

async function summaryOf(repository: TestRepository): Promise<Summary> {
  const runs = await repository.list('.agentos/runs');
  return JSON.parse(await repository.read(`.agentos/runs/${runs.at(-1)}/summary.json`));
}

/** The brief that each issue was written from. */
async function briefsOf(repository: TestRepository): Promise<Record<string, unknown>> {
  const names = await repository.list('issues');
  const entries = names.map(async (name) => [
    name,
    readFrontMatter(await repository.read(`issues/${name}`)).fields['brief'],
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

const STALL = { text: 'x', stallAfterChars: 1 };

test('a brief becomes the next free issue, which agentos lld takes as it is', async () => {
  const { vendor, repository, options, issue } = await place({ quota: BRIEF }, { script: script() }, { 9: '# Nine\n' });
  const { code, stdout } = await issue('quota');
  expect(code).toBe(0);
  expect(stdout).toContain('[ISSUE-quota] review 1: APPROVED');
  expect(stdout).toContain('[ISSUE-quota] wrote issues/10.md');
  expect(vendor.calls.map((call) => call.vendor)).toEqual(['anthropic', 'google']);
  const text = await repository.read('issues/10.md');
  const { fields, body } = readFrontMatter(text);
  expect(fields).toMatchObject({
    brief: 'quota',
    status: 'approved',
    reviewer: 'google:gemini-3-pro-preview',
    rounds: 1,
  });
  expect(body).toBe(SAMPLE_ISSUE);
  expect(await repository.list('docs/lineage/quota')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-final.md',
  ]);
  expect(await repository.read('docs/lineage/quota/001-issue.md')).toBe(BRIEF);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  expect(await repository.list('.agentos/locks')).toEqual([]);
  expect(await repository.list('../home')).toEqual([]);
  const { items, ...summary } = await summaryOf(repository);
  expect(summary).toMatchObject({ workflow: 'issue', counts: { total: 1, succeeded: 1 }, retryCommand: null });
  expect(items[0]).toMatchObject({ id: 'quota', outputs: ['issues/10.md', 'docs/lineage/quota'] });

  expect((await agentos(['logs', 'quota'], options)).stdout).toContain('review 1: APPROVED');
  expect((await agentos(['status'], options)).stdout).toMatch(/ issue {2}finished .*\n {2}quota {2}succeeded/);

  expect((await agentos(['lld', '10', ...MODELS], options)).code).toBe(0);
  expect(await repository.read('issues/10.md')).toBe(text);
  expect(vendor.calls[2]?.text).toContain('Retry calls that met a quota');
  expect(await repository.list('docs/lld')).toEqual(['LLD-10.md']);
});

test('workers side by side, in two programs at once, give every issue a number of its own and no gap', async () => {
  const { repository, options } = await place(
    Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, `Idea ${name}\n`])),
  );
  const models = await scriptedModels(repository);
  const start = (...args: string[]): Promise<Ended> => agentos(['issue', ...args, ...models.flags], options);
  const [first, second] = await Promise.all([
    start('a', 'b', 'c', '--parallel', '3'),
    start('--ids', 'd', 'e', 'f', '--parallel', '3', '--json'),
  ]);
  expect([first.code, second.code]).toEqual([0, 0]);
  const written = await briefsOf(repository);
  expect(Object.keys(written)).toEqual(['1.md', '2.md', '3.md', '4.md', '5.md', '6.md']);
  expect(new Set(Object.values(written))).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'f']));

  for (const name of ['a', 'b', 'c']) expect(first.stdout).toContain(`[ISSUE-${name}] asked for issue ${name}`);
  const events = second.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events[0]).toMatchObject({ type: 'run-started', workflow: 'issue', items: ['d', 'e', 'f'], parallel: 3 });
  expect(events.at(-1)).toMatchObject({ workflow: 'issue', counts: { total: 3, succeeded: 3 } });
  const wrote = events.filter((event) => event.type === 'file-written' && event.what === 'issue');
  expect(wrote.map(({ item, workflow }) => ({ item, workflow }))).toHaveLength(3);
  expect(second.stderr).toContain('[ISSUE-d] asked for review-issue d');
});

test('--dry-run shows the plan, for people and as JSON, and writes nothing', async () => {
  const { vendor, repository, issue } = await place({ quota: BRIEF, 'dark-mode': 'A dark theme\n' });
  const { code, stdout } = await issue('--all', '--parallel', '2', '--dry-run');
  expect(code).toBe(0);
  expect(stdout).toContain('issue: 2 item(s), 2 at a time');
  expect(stdout).toMatch(/^ {2}dark-mode {2}new {2}A dark theme$/m);
  const plan = JSON.parse((await issue('quota', '--dry-run', '--json')).stdout);
  expect(plan).toMatchObject({
    workflow: 'issue',
    items: [{ id: 'quota', workflow: 'issue', title: 'Calls that met a quota are lost', state: 'new', fromStep: null }],
  });
  expect(plan.costCeilingUsd).toBeGreaterThan(0);
  expect(vendor.calls).toEqual([]);
  expect(await repository.list('issues')).toEqual([]);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
});

test('what can’t be done is said in one line with what to do, exit 2, and nothing is written', async () => {
  const { repository, options, issue } = await place({ 'dark-mode': 'A dark theme\n' });
  const refused = async (said: string, ...args: string[]): Promise<void> => {
    const { code, stdout, stderr } = await issue(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(said);
  };
  await refused('Did you mean dark-mode?', 'dark-mod');
  await refused('the name of the file in issues/ or briefs/ without .md', 'notes/dark-mode.md');
  await refused('agentos issue dark-mode, or agentos issue --all');
  const { GEMINI_API_KEY: _, ...env } = options.env;
  const noKey = await agentos(['issue', '--all', ...MODELS], { ...options, env });
  expect(noKey.code).toBe(2);
  expect(noKey.stderr).toContain('There is no key for google (reviewer)');
  const nowhere = await testRepository({ 1: '# One\n' });
  const noFolder = await agentos(['issue', '--all', ...MODELS], { ...options, cwd: nowhere.root });
  expect(noFolder.code).toBe(2);
  expect(noFolder.stderr).toContain('Write an idea as briefs/<name>.md');
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
});

test('an empty brief and a failing one fail alone; the line to copy names both, and they can be done later', async () => {
  let isBroken = true;
  const { repository, issue } = await place(
    { blank: ' \n', broken: 'Idea broken\n', fine: 'Idea fine\n' },
    {
      script: script({
        draft: (call) =>
          isBroken && issueOf(call) === 'broken' ? { status: 400, message: 'no such model' } : SAMPLE_ISSUE,
      }),
    },
  );
  const { code, stdout } = await issue('--all', '--parallel', '3');
  expect(code).toBe(1);
  expect(stdout).toContain("[ISSUE-blank] failed: Brief blank can't be read");
  expect(stdout).toContain(`Failed: blank, broken. Retry with: agentos issue --ids blank broken ${MODELS.join(' ')}`);
  expect(await briefsOf(repository)).toEqual({ '1.md': 'fine' });

  isBroken = false;
  await repository.write('briefs/blank.md', 'Idea blank\n');
  expect((await issue('--all')).code).toBe(0);
  expect(await briefsOf(repository)).toEqual({ '1.md': 'fine', '2.md': 'blank', '3.md': 'broken' });
});

test('REVISE leads to a revision that the reviewer sees, and its log stays in the lineage', async () => {
  const finding = '**Bound:** requirement 2 does not say of which calls.';
  const { vendor, repository, issue } = await place(
    { quota: BRIEF },
    {
      script: script({
        review: (call) =>
          roundOf(call) === 1 ? review({ verdict: 'REVISE', tier2: [finding] }) : review({ verdict: 'APPROVED' }),
      }),
    },
  );
  expect((await issue('quota')).code).toBe(0);
  expect(vendor.calls.map(taskOf)).toEqual(['draft', 'review', 'revise', 'review']);
  expect(vendor.calls[3]?.text).toContain('+2. After 5 refusals of the same call');
  const text = await repository.read('issues/1.md');
  expect(text).toContain('rounds: 2');
  expect(text).not.toContain('Review Log');
  expect(await repository.read('docs/lineage/quota/006-final.md')).toContain('does not say of which calls');
});

test('what a person has to decide takes no number: exit 3, and the last line says where to look and what to do', async () => {
  const { vendor, repository, issue } = await place(
    { quota: BRIEF, endless: 'Idea endless\n', fine: 'Idea fine\n' },
    {
      script: script({
        revise: (call) => editedIssue('Out of Scope\n', `Out of Scope\n- Round ${vendor.calls.indexOf(call)}\n`),
        review: (call) => {
          if (issueOf(call) === 'fine') return review({ verdict: 'APPROVED' });
          const objection = `**Objection ${roundOf(call)}:** of another kind, number ${roundOf(call)}.`;
          return issueOf(call) === 'quota'
            ? review({ verdict: 'DISCUSS', questions: ['Who pays?'] })
            : review({ verdict: 'REVISE', tier1: [objection] });
        },
      }),
    },
  );
  const { code, stdout } = await issue('--all', '--parallel', '3', '--max-rounds', '2');
  expect(code).toBe(3);
  for (const id of ['endless', 'quota'])
    expect(stdout).toContain(`Waiting for a person: ${id}. Read the last verdict in docs/lineage/${id}/`);
  expect(await briefsOf(repository)).toEqual({ '1.md': 'fine' });
  expect(vendor.calls.filter((call) => issueOf(call) === 'endless' && taskOf(call) === 'review')).toHaveLength(2);
  const paid = vendor.calls.length;
  const again = await issue('quota');
  expect(again.code).toBe(3);
  expect(again.stdout).toContain('the reviewer asks: Who pays?');
  expect(again.stdout).toContain('Read the last verdict in docs/lineage/quota/, then: agentos decide quota');
  expect(vendor.calls).toHaveLength(paid);
  // More rounds go on after those that are paid for.
  expect((await issue('endless', '--max-rounds', '3')).code).toBe(3);
  expect(vendor.calls.slice(paid).map(taskOf)).toEqual(['revise', 'review']);
});

test('a brief with the name of an issue keeps its versions apart, and the last line says where', async () => {
  const discuss = script({ review: () => review({ verdict: 'DISCUSS', questions: ['Who pays?'] }) });
  const { repository, issue } = await place({ 9: BRIEF }, { script: discuss }, { 9: '# Another thing\n' });
  const { code, stdout } = await issue('9');
  expect(code).toBe(3);
  expect(stdout).toContain('Read the last verdict in docs/lineage/9.brief/, then: agentos decide 9 ');
  expect(await repository.list('docs/lineage')).toEqual(['9.brief']);
});

test('existing work that the brief looks like is shown to the user and to the reviewer', async () => {
  const { vendor, issue } = await place(
    { quota: BRIEF },
    { script: script() },
    { 7: `# Calls that met a quota are lost\n\nA vendor answers 429 and the batch has to be started again.\n` },
  );
  const { code, stdout } = await issue('quota');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\[ISSUE-quota\] looks like 7 \([01]\.\d\d\): Calls that met a quota are lost; shares: /m);
  const [draft, reviewed] = vendor.calls;
  for (const call of [draft, reviewed]) expect(call?.text).toContain('7 (');
  expect(reviewed?.text).toContain('perhaps the same: decide whether it is');
});

test('a brief that was changed revises its issue in place; an unchanged one is done', async () => {
  const { vendor, repository, issue } = await place({ quota: BRIEF });
  expect((await issue('--all')).code).toBe(0);
  expect((await issue('--all')).stdout).toContain('Nothing to do: every brief has an issue for what it says now.');
  expect((await issue('quota')).code).toBe(0);
  expect((await summaryOf(repository)).items[0]).toMatchObject({ status: 'skipped' });
  expect(vendor.calls).toHaveLength(2);

  await repository.write('briefs/quota.md', `${BRIEF}\nIt should also say how long it waits.\n`);
  expect((await issue('--all')).code).toBe(0);
  expect(vendor.calls).toHaveLength(4);
  expect(vendor.calls[2]?.text).toContain('<current-issue>');
  expect(await repository.list('issues')).toEqual(['1.md']);
  expect((await repository.list('docs/lineage/quota')).filter((name) => name.endsWith('final.md'))).toHaveLength(2);
});

test('kill -9 and Ctrl+C in the middle: resume ends in the same files, and no finished call is paid twice', async () => {
  const whole = await place({ quota: BRIEF, retry: 'Idea retry\n' });
  expect((await whole.issue('--all')).code).toBe(0);

  let isSlow = true;
  const { vendor, repository, options } = await place(
    { quota: BRIEF, retry: 'Idea retry\n' },
    { script: (call) => (isSlow && taskOf(call) === 'review' ? STALL : script()(call)) },
  );
  const killed = startAgentos(['issue', '--all', '--parallel', '2', ...MODELS], options);
  await vendor.waitFor((calls) => calls.filter((call) => taskOf(call) === 'review').length === 2);
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect((await agentos(['status'], options)).stdout).toMatch(/quota {2}interrupted {2}review-1/);
  expect(await repository.list('issues')).toEqual([]);

  const stopped = startAgentos(['resume'], options);
  await vendor.waitFor((calls) => calls.filter((call) => taskOf(call) === 'review').length === 4);
  stopped.child.kill('SIGINT');
  expect((await stopped.ended).code).toBe(130);

  isSlow = false;
  const { code, stdout } = await agentos(['resume', '--parallel', '1'], options);
  expect(code).toBe(0);
  expect(stdout).toContain('[ISSUE-retry] draft: taken from the checkpoint');
  expect(vendor.calls.filter((call) => taskOf(call) === 'draft')).toHaveLength(2);
  expect(await repository.list('docs/lineage/quota')).toEqual(await whole.repository.list('docs/lineage/quota'));
  for (const name of ['issues/1.md', 'issues/2.md', 'docs/lineage/quota/004-final.md'])
    expect(await repository.read(name)).toBe(await whole.repository.read(name));
});

test.each<[flags: string[], status: string, models: Parameters<typeof script>[0]]>([
  [['--timeout', '1s'], 'timed-out', { draft: () => STALL }],
  [['--max-cost-per-item', '0.0001'], 'over-budget', {}],
])('%j ends the item as %s, and a later run goes on', async (flags, status, models) => {
  let isBound = true;
  const { repository, issue } = await place(
    { quota: BRIEF },
    { script: (call) => script(isBound ? models : {})(call) },
  );
  expect((await issue('quota', ...flags)).code).toBe(1);
  expect((await summaryOf(repository)).items[0]).toMatchObject({ status });
  isBound = false;
  expect((await issue('quota')).code).toBe(0);
  expect(await repository.list('issues')).toEqual(['1.md']);
});

test('--halt 1 starts nothing after the first failure', async () => {
  const { vendor, repository, issue } = await place(
    { a: 'Idea a\n', b: 'Idea b\n', c: 'Idea c\n' },
    { script: script({ draft: () => ({ status: 400, message: 'no such model' }) }) },
  );
  expect((await issue('--all', '--halt', '1')).code).toBe(1);
  expect(vendor.calls).toHaveLength(1);
  expect((await summaryOf(repository)).counts).toMatchObject({ failed: 1, cancelled: 2 });
});
