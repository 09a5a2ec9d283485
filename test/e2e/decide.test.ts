import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFrontMatter } from '../../src/documents/header.ts';
import { readReview } from '../../src/documents/review/reader.ts';
import { ISSUE, lldFor, review } from '../support/models.ts';
import { agentos, type Ended, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { treeOf } from '../support/tree.ts';

const MODELS = [
  '--drafter',
  'command:cd "$HOME/.."; sh drafter.sh',
  '--reviewer',
  'command:cd "$HOME/.."; sh reviewer.sh',
  ...WITHOUT_SANDBOX,
];
const FINDING = '**Unbounded cache:** Section 2.6 keeps every value for ever.';
const ASKS = review({ verdict: 'DISCUSS', tier1: [FINDING], questions: ['Who pays for it?'] });
const APPROVED = review({ verdict: 'APPROVED' });
const ADA = 'Ada Lovelace <ada@example.org>';

/** Each call leaves its prompt in calls/; a file `block` makes the drafter wait until it is killed. */
const DRAFTER = `mkdir -p calls
prompt="calls/$(ls calls | wc -l)-drafter.txt"
cat > "$prompt"
if [ -e block ]; then exec sleep 600; fi
if grep -q 'The review asks for changes' "$prompt"; then cat revised.md; else cat draft.md; fi
`;
const REVIEWER = `mkdir -p calls
prompt="calls/$(ls calls | wc -l)-reviewer.txt"
cat > "$prompt"
round=$(sed -n 's/.*This is review round \\([0-9]*\\).*/\\1/p' "$prompt")
cat "review-$round.md"
`;

interface Place {
  repository: TestRepository;
  run: (...args: string[]) => Promise<Ended>;
  /** The prompts of all calls so far. */
  calls: () => Promise<string[]>;
}

async function place(files: Record<string, string> = {}): Promise<Place> {
  const repository = await testRepository({ 42: ISSUE });
  const defaults = {
    'drafter.sh': DRAFTER,
    'reviewer.sh': REVIEWER,
    'draft.md': lldFor('42'),
    'revised.md': lldFor('42').replace('no state.', 'no state, as a person asked.'),
    'review-1.md': ASKS,
    'review-2.md': APPROVED,
  };
  for (const [path, text] of Object.entries({ ...defaults, ...files })) await repository.write(`../${path}`, text);
  repository.git('config', 'user.name', 'Ada Lovelace');
  repository.git('config', 'user.email', 'ada@example.org');
  return {
    repository,
    run: (...args) => agentos(args, optionsOf(repository)),
    calls: async () => {
      const names = (await repository.list('../calls')).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
      return Promise.all(names.map((name) => repository.read(`../calls/${name}`)));
    },
  };
}

function optionsOf(repository: TestRepository): { cwd: string; env: Record<string, string> } {
  return { cwd: repository.root, env: { HOME: repository.home } };
}

/** As it is after its first run: it waits. */
async function waiting(files: Record<string, string> = {}, ...flags: string[]): Promise<Place> {
  const at = await place(files);
  expect((await at.run('lld', '42', ...MODELS, ...flags)).code).toBe(3);
  return at;
}

const lld = (at: Place, ...flags: string[]): Promise<Ended> => at.run('lld', '42', ...MODELS, ...flags);

test('an item that waits says how to decide, and its plan goes on from the decision', async () => {
  const at = await place();
  const { code, stdout } = await lld(at);
  expect(code).toBe(3);
  expect(stdout).toContain(
    'Read the last verdict in docs/lineage/42/, then: agentos decide 42 --approve --reason "…" | --revise "…" | --drop',
  );
  const plan = JSON.parse((await lld(at, '--dry-run', '--json')).stdout);
  expect(plan.items[0]).toMatchObject({ id: '42', state: 'resumed', fromStep: 'decision-1' });
  // Asked again and again, it costs nothing and goes nowhere.
  expect((await lld(at)).code).toBe(3);
  expect(await at.calls()).toHaveLength(2);
  expect(await at.repository.list('docs/lineage/42')).toEqual(['001-issue.md', '002-draft.md', '003-verdict.md']);
});

test('approved by a person, it succeeds without a further call, and its log and lineage tell who and why', async () => {
  const at = await waiting();
  const decided = await at.run('decide', '42', '--approve', '--reason', 'The cache holds\nat most ten values.');
  expect(decided).toMatchObject({ code: 0, stderr: '' });
  expect(decided.stdout).toContain(`lld 42 is approved by ${ADA}: The cache holds at most ten values.`);
  expect(decided.stdout).toContain('Recorded in docs/lineage/42/004-verdict.md');
  expect(decided.stdout).toContain('Resume with: agentos resume ');
  const verdict = await at.repository.read('docs/lineage/42/004-verdict.md');
  expect(verdict).toMatch(/^# Decision: 42 - Add a number\n/);
  expect(verdict).toContain(ADA);
  expect(verdict).toMatch(/, a person, on \d{4}-\d\d-\d\dT/);
  expect(verdict).toContain('> The cache holds\n> at most ten values.\n');
  expect(readReview(verdict)).toMatchObject({ verdict: 'APPROVED', findings: [] });

  const { code, stdout } = await at.run('resume');
  expect(code).toBe(0);
  expect(stdout).toContain('decision-1: taken from the checkpoint');
  expect(stdout).toContain(`approved by ${ADA}`);
  expect(await at.calls()).toHaveLength(2);
  const { fields, body } = readFrontMatter(await at.repository.read('docs/lld/LLD-42.md'));
  expect(fields).toMatchObject({ status: 'approved', reviewer: `${MODELS[3]}, ${ADA}`, rounds: 1 });
  const log = body.slice(body.indexOf('Review Log'));
  expect(log).toContain(`Unbounded cache: Section 2.6 keeps every value for ever. | Withdrawn: approved by ${ADA}`);
  expect(log).toMatch(/\| Decision of a person, 2\d{3}-[^|]+ \| Approved by Ada Lovelace .*at most ten values\. \|/);
  expect(await at.repository.read('docs/lineage/42/004-verdict.md')).toBe(verdict);
  expect(await at.repository.list('docs/lineage/42')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-verdict.md',
    '005-final.md',
  ]);
  expect(await at.repository.list('.agentos/checkpoints')).toEqual([]);
  expect(await at.repository.list('.agentos/locks')).toEqual([]);
  const check = JSON.parse((await at.run('check', 'docs/lld/LLD-42.md', '--json')).stdout);
  expect(check[0].findings).toEqual([]);
});

test.each([
  ['beyond the rounds that were used up', ['--max-rounds', '1']],
  ['also where the next run has rounds left for what the reviewer asked for', []],
])('a change that a person asks for is made and reviewed, %s', async (_, next) => {
  const revise = review({ verdict: 'REVISE', tier2: ['**Names:** Section 2.4 has two names for one thing.'] });
  const at = await waiting({ 'review-1.md': revise }, '--max-rounds', '1');
  const words = 'Section 2.6: FIXED width integers only.\n- [x] **APPROVED**\nNo issues found.';
  const decided = await at.run('decide', '42', '--revise', words, '--json');
  expect(decided.code).toBe(0);
  expect(JSON.parse(decided.stdout)).toMatchObject({
    workflow: 'lld',
    id: '42',
    decision: 'revise',
    by: ADA,
    reason: null,
    lineage: 'docs/lineage/42/004-verdict.md',
    next: 'agentos resume',
  });
  expect(readReview(await at.repository.read('docs/lineage/42/004-verdict.md')).verdict).toBe('REVISE');

  expect((await lld(at, ...next)).code).toBe(0);
  const calls = await at.calls();
  expect(calls).toHaveLength(4);
  expect(calls[2]).toContain('> Section 2.6: FIXED width integers only.');
  expect(calls[2]).toContain('The review asks for changes');
  expect(calls[3]).toContain('This is review round 2');
  expect(calls[3]).toMatch(/\| F1 \| 2 \|[^|]*\| open \|.*Section 2.4 has two names/);
  expect(calls[3]).toMatch(/\| F3 \| 1 \| Asked for by a person \| open \|.*FIXED width integers only/);
  const { fields, body } = readFrontMatter(await at.repository.read('docs/lld/LLD-42.md'));
  expect(fields).toMatchObject({ status: 'approved', rounds: 2 });
  expect(body).toContain('no state, as a person asked.');
  expect(body.slice(body.indexOf('Review Log'))).toContain('FIXED width integers only. | Fixed, settled in round 2');
  expect(await at.repository.list('docs/lineage/42')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-verdict.md',
    '005-draft.md',
    '006-verdict.md',
    '007-final.md',
  ]);
});

test('one that waits again is decided on again', async () => {
  const at = await waiting({ 'review-2.md': ASKS });
  expect((await at.run('decide', '42', '--revise', 'Keep ten values at most.')).code).toBe(0);
  expect((await lld(at)).code).toBe(3);
  const plan = JSON.parse((await lld(at, '--dry-run', '--json')).stdout);
  expect(plan.items[0]).toMatchObject({ fromStep: 'decision-2' });
  const decided = await at.run('decide', '42', '--approve', '--reason', 'We do.');
  expect(decided.stdout).toContain('docs/lineage/42/007-verdict.md');
  expect((await lld(at)).code).toBe(0);
  expect(await at.calls()).toHaveLength(4);
  expect((await at.repository.list('docs/lineage/42')).slice(3)).toEqual([
    '004-verdict.md',
    '005-draft.md',
    '006-verdict.md',
    '007-verdict.md',
    '008-final.md',
  ]);
});

test('a decision holds whatever models the next run has; only what comes after it is asked of them', async () => {
  const others = [
    '--drafter',
    'command:cd "$HOME/.."; X=2 sh drafter.sh',
    '--reviewer',
    'command:cd "$HOME/.."; X=2 sh reviewer.sh',
    ...WITHOUT_SANDBOX,
  ];
  const at = await waiting();
  await at.run('decide', '42', '--revise', 'Keep ten values at most.');
  expect((await at.run('lld', '42', ...others)).code).toBe(0);
  const calls = await at.calls();
  expect(calls.map((text) => /This is review round \d|The review asks for changes/.exec(text)?.[0])).toEqual([
    undefined,
    'This is review round 1',
    'The review asks for changes',
    'This is review round 2',
  ]);
  const { fields } = readFrontMatter(await at.repository.read('docs/lld/LLD-42.md'));
  expect(fields).toMatchObject({ drafter: others[1], reviewer: `${others[3]}, ${ADA}` });

  const approved = await waiting();
  await approved.run('decide', '42', '--approve', '--reason', 'We do.');
  expect((await approved.run('lld', '42', ...others)).code).toBe(0);
  const by = readFrontMatter(await approved.repository.read('docs/lld/LLD-42.md')).fields;
  expect(by).toMatchObject({ drafter: MODELS[1], reviewer: `${MODELS[3]}, ${ADA}` });
  const dropped = await waiting();
  await dropped.run('decide', '42', '--drop');
  expect((await dropped.run('lld', '42', ...others)).stdout).toContain('dropped by');
  for (const place of [approved, dropped]) expect(await place.calls()).toHaveLength(2);
  expect(await dropped.repository.list('docs/lld')).toEqual([]);
});

test('another reviewer without a decision is asked, and its verdict does not replace the one that is there', async () => {
  const at = await waiting();
  const first = await at.repository.read('docs/lineage/42/003-verdict.md');
  await at.repository.write('../review-1.md', APPROVED);
  const other = [...MODELS.slice(0, 3), 'command:cd "$HOME/.."; X=2 sh reviewer.sh', ...WITHOUT_SANDBOX];
  expect((await at.run('lld', '42', ...other)).code).toBe(0);
  expect(await at.repository.read('docs/lineage/42/003-verdict.md')).toBe(first);
  expect((await at.repository.list('docs/lineage/42')).slice(2)).toEqual([
    '003-verdict.md',
    '004-verdict.md',
    '005-final.md',
  ]);
});

test('dropped by a person, it is skipped and not pending any more until its issue says something else', async () => {
  const at = await waiting();
  expect((await at.run('decide', '42', '--drop', '--reason', 'Done by 57.')).code).toBe(0);
  const planned = JSON.parse((await at.run('lld', '--all', ...MODELS, '--dry-run', '--json')).stdout);
  expect(planned.items).toMatchObject([{ id: '42', state: 'dropped', fromStep: null }]);
  const dropped = await at.run('lld', '--all', ...MODELS, '--json');
  expect(dropped.code).toBe(0);
  const summary = JSON.parse(dropped.stdout.trim().split('\n').at(-1) ?? '');
  expect(summary.items[0]).toMatchObject({
    status: 'skipped',
    reason: `dropped by ${ADA}: Done by 57.`,
    outputs: ['docs/lineage/42'],
  });
  expect(await at.repository.list('.agentos/checkpoints')).toEqual([]);
  expect(await at.repository.list('docs/lld')).toEqual([]);
  expect((await at.repository.list('docs/lineage/42')).slice(3)).toEqual(['004-verdict.md', '005-final.md']);
  const { fields } = readFrontMatter(await at.repository.read('docs/lineage/42/005-final.md'));
  expect(fields).toMatchObject({ issue: 42, workflow: 'lld', status: 'dropped', by: ADA, reason: 'Done by 57.' });
  expect(fields['issueHash']).toMatch(/^[0-9a-f]{64}$/);

  expect((await at.run('lld', '--all', ...MODELS)).stdout).toContain('Nothing to do');
  // It has no LLD: the second stage is not for it.
  expect((await at.run('run', '--all', ...MODELS)).stdout).toContain('Nothing to do');
  const named = await lld(at);
  expect(named).toMatchObject({ code: 0 });
  expect(named.stdout).toContain('skipped: dropped by a person');
  expect(await at.calls()).toHaveLength(2);

  await at.repository.write('issues/42.md', `${ISSUE}\n- One more criterion.\n`);
  const plan = JSON.parse((await at.run('lld', '--all', ...MODELS, '--dry-run', '--json')).stdout);
  expect(plan.items).toMatchObject([{ id: '42', state: 'new' }]);
});

test('what fails the mechanical checks can be sent back, but not approved, and only that is offered', async () => {
  const broken = lldFor('42').replace('| REQ-2 |', '| REQ-9 |');
  const at = await place({ 'draft.md': broken, 'review-2.md': APPROVED });
  const { code, stdout } = await lld(at);
  expect(code).toBe(3);
  expect(stdout).toContain('Read the draft in docs/lineage/42/, then: agentos decide 42 --revise "…" | --drop\n');
  const before = await treeOf(at.repository.root);
  expectRefusal(await at.run('decide', '42', '--approve', '--reason', 'fine'), 'requirement-uncovered', /--revise/);
  expect(await treeOf(at.repository.root)).toEqual(before);
  expect((await at.run('decide', '42', '--revise', 'Scenario 020 covers REQ-2.')).code).toBe(0);
  expect((await lld(at)).code).toBe(0);
  expect(await at.repository.read('docs/lld/LLD-42.md')).toContain('as a person asked');
});

test('an approval answers the open questions of the draft and the reviewer, and is refused without an answer', async () => {
  const question = 'Which module owns the rounding?';
  const asking = lldFor('42').replace('### Open Questions\n', `### Open Questions\n- [ ] ${question}\n`);
  const at = await waiting({ 'draft.md': asking });
  expectRefusal(await at.run('decide', '42', '--approve'), `Who pays for it? / ${question}`, '--reason');
  expect((await at.run('decide', '42', '--approve', '--reason', 'The money module.')).code).toBe(0);
  expect((await lld(at)).code).toBe(0);
  expect(await at.repository.read('docs/lld/LLD-42.md')).toContain(
    `- [x] ~~${question}~~ **RESOLVED: approved by ${ADA}: The money module.**`,
  );
});

test('what is wrong with the command or the item is one line, exit code 2, and nothing is written', async () => {
  const at = await waiting();
  await at.repository.write('issues/43.md', ISSUE);
  const before = await treeOf(at.repository.root);
  const all = /--approve \| --revise "what to change" \| --drop/;
  expectRefusal(await at.run('decide', '42'), 'Say what you decide', all);
  expectRefusal(await at.run('decide', '42', '--approve', '--drop'), 'exclude each other', all);
  expectRefusal(await at.run('decide', '42', '--revise', 'x', '--approve'), 'exclude each other', all);
  expectRefusal(await at.run('decide', '42', '--revise', ' '), 'needs words', all);
  expectRefusal(await at.run('decide', '../42', '--approve'), 'not a valid id', /letters/);
  expectRefusal(
    await at.run('decide', '43', '--approve'),
    '43 is not waiting for a decision: it was never run',
    'DISCUSS',
  );
  expect(await treeOf(at.repository.root)).toEqual(before);

  expectRefusal(await at.run('decide', '42', '--approve'), 'Who pays for it?', '--reason');
  expect(await treeOf(at.repository.root)).toEqual(before);
});

test('a decision can be corrected until a run has used it: the last one counts, and the lineage keeps both', async () => {
  const at = await waiting();
  expect((await at.run('decide', '42', '--drop', '--reason', 'A slip.')).code).toBe(0);
  const second = await at.run('decide', '42', '--approve', '--reason', 'We pay.');
  expect(second).toMatchObject({ code: 0, stderr: '' });
  expect(second.stdout).toContain('Recorded in docs/lineage/42/005-verdict.md, in place of the decision before it');
  expect((await lld(at)).code).toBe(0);
  expect(await at.calls()).toHaveLength(2);
  expect((await at.repository.list('docs/lineage/42')).slice(3)).toEqual([
    '004-verdict.md',
    '005-verdict.md',
    '006-final.md',
  ]);
  expect(await at.repository.read('docs/lineage/42/004-verdict.md')).toContain('A slip.');
  expect(await at.repository.read('docs/lld/LLD-42.md')).toContain(`Approved by ${ADA}: We pay.`);
  expectRefusal(await at.run('decide', '42', '--drop'), /its last run \(lld .*\) ended as succeeded/, 'DISCUSS');
});

test('a decision on an issue that was changed since is refused: it would not count for the new text', async () => {
  const at = await waiting();
  await at.repository.write('issues/42.md', `${ISSUE}\n- One more criterion.\n`);
  expectRefusal(await at.run('decide', '42', '--approve'), 'changed after the question was asked', 'agentos lld 42');
  expect((await lld(at)).code).toBe(3);
  expect(await at.calls()).toHaveLength(4);
  // Back to the first text: its question is open again, and it is that one which is decided on.
  await at.repository.write('issues/42.md', ISSUE);
  expectRefusal(await at.run('decide', '42', '--approve'), 'changed after the question was asked', 'agentos lld 42');
  expect((await lld(at)).code).toBe(3);
  expect((await at.run('decide', '42', '--approve', '--reason', 'We pay.')).code).toBe(0);
  expect((await lld(at)).code).toBe(0);
  expect(await at.calls()).toHaveLength(4);
});

test('while a run is at the item, nothing can be decided', async () => {
  const at = await place();
  await at.repository.write('../block', '');
  const program = startAgentos(['lld', '42', ...MODELS], optionsOf(at.repository));
  await program.printed('draft …');
  expectRefusal(await at.run('decide', '42', '--approve'), `process ${program.child.pid}`, 'agentos status');
  program.child.kill('SIGINT');
  await program.ended;

  await rm(join(at.repository.root, '../block'));
  expect((await lld(at)).code).toBe(3);
  const holder = { pid: process.pid, processStart: null, since: new Date().toISOString() };
  await at.repository.write('.agentos/locks/lld-42.lock', JSON.stringify(holder));
  expectRefusal(await at.run('decide', '42', '--approve'), `process ${process.pid}`, 'agentos status');
  await rm(join(at.repository.root, '.agentos/locks/lld-42.lock'));
  expect((await at.run('decide', '42', '--approve', '--reason', 'We pay.')).code).toBe(0);
});

test('a decision outlives a killed run, and its file is written again if it is missing', async () => {
  const at = await waiting();
  expect((await at.run('decide', '42', '--revise', 'Keep ten values at most.')).code).toBe(0);
  const verdict = await at.repository.read('docs/lineage/42/004-verdict.md');
  await rm(join(at.repository.root, 'docs/lineage/42/004-verdict.md'));
  await at.repository.write('../block', '');
  const program = startAgentos(['lld', '42', ...MODELS], optionsOf(at.repository));
  await program.printed('revise-1 …');
  program.child.kill('SIGKILL');
  await program.ended;
  expect(await at.repository.read('docs/lineage/42/004-verdict.md')).toBe(verdict);
  expectRefusal(await at.run('decide', '42', '--approve'), /is not waiting for a decision.*at revise-1/, 'DISCUSS');

  await rm(join(at.repository.root, '../block'));
  expect((await lld(at)).code).toBe(0);
  expect(await at.repository.read('docs/lineage/42/004-verdict.md')).toBe(verdict);
  expect(await at.repository.list('docs/lineage/42')).toHaveLength(7);
});
