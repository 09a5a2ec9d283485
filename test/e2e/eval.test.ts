import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseItemId } from '../../src/core/ids.ts';
import { decisionOf } from '../../src/documents/decision.ts';
import { parseIssue } from '../../src/source/directory.ts';
import { approvedLld } from '../../src/workflow/approved-documents.ts';
import { ISSUE, issueOf, lldFor, review, script, taskOf, vendorEnv } from '../support/models.ts';
import { agentos, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { startVendor } from '../support/vendor/index.ts';

const UNBOUND = 'A pure function, no state.';
const BOUND = 'A pure function; values above 1000 are refused.';
const boundLld = (id: string): string => lldFor(id).replace(UNBOUND, BOUND);

/** The lineage of an item that ends with this body as its approved LLD, as files. */
async function lineage(repository: TestRepository, id: string, base: string, versions: string[]): Promise<void> {
  const names: string[] = [];
  for (const [index, text] of [ISSUE, ...versions].entries()) {
    const isDraft = text.startsWith(`# ${id} - Feature`);
    const kind = index === 0 ? 'issue' : index === versions.length ? 'final' : isDraft ? 'draft' : 'verdict';
    const by = { drafter: 'a:b', reviewer: 'c:d', recorded: false, rounds: 1, baseCommit: base };
    const stored = kind === 'final' ? approvedLld(text, parseIssue(parseItemId(id), ISSUE), by) : text;
    names.push(`${String(index + 1).padStart(3, '0')}-${kind}.md`);
    await repository.write(`docs/lineage/${id}/${names.at(-1)}`, stored);
    if (kind === 'final') await repository.write(`docs/lld/LLD-${id}.md`, stored);
  }
}

function decisionBy(kind: 'approve' | 'revise', change: string | null): string {
  return decisionOf({ kind, by: 'Ada', at: '2026-01-02', reason: null, change, id: '1', title: 'T', asked: 'why' })
    .document;
}

/** A reviewer as a command. It notes each call in a file, and finds what it is made to find. */
async function reviewer(
  repository: TestRepository,
  name: string,
  revises: string,
  findings: string[],
): Promise<string> {
  const file = join(repository.home, '..', `${name}.mjs`);
  const replies = [review({ verdict: 'REVISE', tier2: findings }), review({ verdict: 'APPROVED' })];
  await writeFile(
    file,
    `import { appendFileSync, readFileSync } from 'node:fs';
const draft = /<draft>([^]*)<\\/draft>/.exec(readFileSync(0, 'utf8'))[1];
appendFileSync(${JSON.stringify(join(file, '..', 'calls'))}, 'x');
process.stdout.write(${JSON.stringify(replies)}[draft.includes(${JSON.stringify(revises)}) ? 0 : 1]);`,
  );
  return `command:node '${file}'`;
}

test('reviewers are compared by what came of past drafts: revised, edited, approved, decided by a person', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: ISSUE, 3: ISSUE });
  const env = { HOME: repository.home };
  const run = (...args: string[]) => agentos(['eval', ...args, ...WITHOUT_SANDBOX], { cwd: repository.root, env });
  const none = await run('--reviewer', 'command:false');
  expect([none.code, none.stdout]).toEqual([2, '']);
  expect(none.stderr).toMatch(/There is nothing to replay\..*\n.*agentos lld <id> makes one/);

  const base = repository.git('rev-parse', 'HEAD');
  const finding = '**Missing bound:** Section 2.6 names no largest value.';
  const approved = review({ verdict: 'APPROVED' });
  const revise = review({ verdict: 'REVISE', tier2: [finding] });
  // The second draft failed the checks: it was not reviewed, and a person asked for a change.
  const change = decisionBy('revise', 'Repair it.');
  const drafts = [lldFor('1'), revise, lldFor('1').replace('REQ-2', 'REQ-9'), change, boundLld('1'), approved];
  await lineage(repository, '1', base, [...drafts, boundLld('1')]);
  const decision = decisionBy('approve', null);
  const unsure = review({ verdict: 'DISCUSS', questions: ['Is it wanted?'] });
  await lineage(repository, '2', base, [boundLld('2'), unsure, decision, boundLld('2')]);
  await lineage(repository, '3', base, [lldFor('3'), approved, lldFor('3')]);
  const lld = await repository.read('docs/lld/LLD-3.md');
  await repository.write('docs/lld/LLD-3.md', lld.replace('throws a TypeError.', 'throws a RangeError.'));
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Past items');

  const wise = await reviewer(repository, 'wise', UNBOUND, ['**Type:** Requirement 2 names the wrong error.']);
  const strict = await reviewer(repository, 'strict', '#', [finding, '**Tests:** Section 10 has no test of zero.']);
  const candidates = ['--reviewer', strict, '--reviewer', wise];
  const plan = await run(...candidates, '--dry-run', '--json');
  expect(JSON.parse(plan.stdout).items.map(({ state }: { state: string }) => state)).toEqual(Array(8).fill('new'));
  expect(await repository.list('.agentos')).toEqual([]);

  const { code, stdout } = await run(...candidates, '--parallel', '2', '--json');
  expect(code).toBe(0);
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const judged = events.filter(({ type }) => type === 'case-judged').map(({ result }) => result);
  const truth = Object.fromEntries(judged.map((result) => [result.case, `${result.right} ${result.because}`]));
  expect(truth).toEqual({
    '1/002': 'REVISE revised',
    '1/006': 'APPROVED approved',
    '2/002': 'APPROVED decision',
    '3/002': 'REVISE edited',
  });
  const { evaluation, workflow, items } = events.at(-1);
  expect([workflow, items.length]).toEqual(['eval', 8]);
  const row = { cases: 4, discuss: 0, missed: 0, costUsd: 0 };
  expect(evaluation).toEqual({
    reviews: {
      cases: 4,
      // 1/002 and 1/006 were right; 3/002 was approved, and edited afterwards.
      recorded: {
        ...row,
        candidate: 'recorded',
        agreed: 2,
        missed: 1,
        discuss: 1,
        findings: 1,
        confirmed: 1,
        costUsd: null,
      },
      candidates: [
        // Section 2.6 was changed after 1/002; section 10 never was.
        { ...row, candidate: strict, agreed: 2, findings: 8, confirmed: 1 },
        // Requirement 2 was changed in 3, not in 1.
        { ...row, candidate: wise, agreed: 4, findings: 2, confirmed: 1 },
      ],
      best: {
        candidate: wise,
        cases: 4,
        hits: 4,
        between: [expect.closeTo(0.51, 2), 1],
        runnerUp: { candidate: strict, hits: 2, chance: 0.5 },
      },
    },
    designs: null,
  });
  const calls = (): Promise<string> => repository.read('../calls');
  expect(await calls()).toHaveLength(8);

  // A second evaluation takes its answers from the first.
  const again = await run('1', '3', ...candidates);
  expect(again.code).toBe(0);
  expect(again.stdout).toContain('Reviews of 3 past drafts');
  expect(again.stdout).toMatch(/^3\/3 100 % +0 +0\/3 0 % +1\/2 50 % +\$0\.0000 {2}command:node '.*wise\.mjs'$/m);
  expect(again.stdout).toMatch(
    /^Best reviewer: .*wise\.mjs' was right about 3 of 3 drafts .* that may be chance \(p = 1\.00\)\.$/m,
  );
  expect(await calls()).toHaveLength(8);
  expect(repository.git('status', '--porcelain')).toBe('');

  const prompts = join(repository.home, '..', 'prompts');
  await repository.write('../prompts/review.md', 'Say yes to {{title}}.');
  const other = await run('1', '--reviewer', wise, '--prompts', prompts, '--dry-run');
  expect(other.stdout).toContain(`by ${wise}, prompts ${prompts}`);
  const unknown = await run('4', ...candidates);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('4 has nothing that can be replayed')]);
});

test('designs are compared; killed, an evaluation is resumed without paying again; a budget stops it', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: ISSUE });
  const base = repository.git('rev-parse', 'HEAD');
  const approved = review({ verdict: 'APPROVED' });
  for (const id of ['1', '2']) await lineage(repository, id, base, [boundLld(id), approved, boundLld(id)]);
  // Kept by a person for another text of the issue: no draft, and no end of its own.
  await repository.write('docs/lineage/2/005-issue.md', '# Another text\n');
  await repository.write('docs/lineage/2/006-verdict.md', decisionBy('approve', null));
  const hash = /bodyHash: (\w+)/.exec(await repository.read('docs/lld/LLD-1.md'))?.[1];
  const report = `---\nstatus: implemented\nlldHash: ${hash}\nbranch: agentos/1-x\n---\n\n| File | Change |\n|---|---|\n| \`src/item-1.js\` | added |\n| \`src/more.js\` | added |\n`;
  await repository.write('docs/reports/1.md', report);
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Merged');

  let isHeld = true;
  const lastCall = Promise.withResolvers<void>();
  const models = script({ draft: (call) => lldFor(issueOf(call)).replace('| REQ-2 |', '| REQ-9 |') });
  const vendor = await startVendor({
    script: (call) => {
      const isLast = isHeld && issueOf(call) === '2' && taskOf(call) === 'review';
      if (isLast) lastCall.resolve();
      return isLast ? { ...models(call), latencyMs: 60_000 } : models(call);
    },
  });
  onTestFinished(() => vendor.close());
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  const command = ['eval', '--drafter', 'anthropic:claude-opus-5', '--config', 'agentos.yaml'];
  await repository.write('agentos.yaml', 'explore: off\nmodels:\n  reviewer: google:gemini-3-pro-preview\n');

  const broke = await agentos([...command, '--max-cost', '0.0001', '--max-retries', '0'], options);
  expect(broke.code).toBe(1);
  expect(broke.stdout).toContain('over-budget');
  expect(vendor.calls).toHaveLength(0);

  const killed = startAgentos(command, options);
  await lastCall.promise;
  killed.child.kill('SIGKILL');
  expect((await killed.ended).signal).toBe('SIGKILL');
  isHeld = false;
  const { code, stdout } = await agentos(['resume', '--json'], options);
  expect(code).toBe(0);
  // Three calls for each item: draft, repair, review; the one that was under way is made again.
  expect(vendor.calls.map((call) => `${issueOf(call)} ${taskOf(call)}`)).toEqual([
    '1 draft',
    '1 repair',
    '1 review',
    '2 draft',
    '2 repair',
    '2 review',
    '2 review',
  ]);
  const { evaluation, exitCode } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(exitCode).toBe(0);
  const name = 'anthropic:claude-opus-5 + google:gemini-3-pro-preview';
  expect(evaluation.reviews).toBeNull();
  expect(evaluation.designs).toMatchObject({
    cases: 2,
    // Of 1 a design was merged that names one file of two others: 1 of 3.
    recorded: { candidate: 'recorded', cases: 2, discuss: 0, rounds: 1, repairs: null, files: expect.closeTo(1 / 3) },
    candidates: [{ candidate: name, cases: 2, discuss: 0, rounds: 1, repairs: 1, files: expect.closeTo(2 / 3) }],
    best: { candidate: name, hits: 2, runnerUp: null },
  });
  expect(evaluation.designs.candidates[0].costUsd).toBeGreaterThan(0);
  expect(repository.git('status', '--porcelain', 'docs')).toBe('');
  const refused = await agentos(['resume', '--reviewer', 'offline'], options);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('can’t be changed')]);
});
