import { expect, test } from 'vitest';
import { approve } from '../support/implement.ts';
import { ISSUE, issueOf, lldFor, type Models, review, roundOf, script, vendorEnv } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { repositoryIn } from '../support/repository.ts';
import { shared } from '../support/shared.ts';
import { startVendor } from '../support/vendor/index.ts';

/*
 * What becomes of an issue, by what drafter and reviewer answer: one run of the program with an item for each case.
 */

const CLAUDE_AND_GEMINI = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const broken = (id: string): string => lldFor(id).replace('| REQ-2 |', '| REQ-9 |');

const QUESTION = 'Which module owns the rounding?';
const asking = (id: string): string =>
  lldFor(id).replace('### Open Questions\n', `### Open Questions\n- [ ] ${QUESTION}\n`);

const APPROVED = review({ verdict: 'APPROVED' });
const data = (fields: object): string => `${APPROVED}\n\`\`\`json\n${JSON.stringify(fields)}\n\`\`\`\n`;
const AGREES = data({ verdict: 'APPROVED', blocking: [] });

let version = 0;
const next = (...replies: string[]) => {
  let at = 0;
  return () => replies[at++] ?? '';
};

const CASES: Record<string, Models> = {
  // Revised once.
  43: {
    review: (call) =>
      roundOf(call) === 1
        ? review({ verdict: 'REVISE', tier2: ['**Missing bound:** Section 2.6 says nothing of the largest value.'] })
        : APPROVED,
  },
  // Repaired before its review.
  44: { draft: () => broken('44') },
  // Never passes the checks.
  45: { draft: () => broken('45'), repair: () => broken('45') },
  // Never satisfies its reviewer.
  46: {
    revise: () => {
      version += 1;
      return lldFor('46').replace('no state.', `no state, version ${version}.`);
    },
    review: (call) =>
      review({
        verdict: 'REVISE',
        tier1: [`**Objection ${roundOf(call)}:** of another kind, number ${roundOf(call)}.`],
      }),
  },
  // The same finding again.
  47: {
    revise: () => lldFor('47'),
    review: () =>
      review({ verdict: 'REVISE', tier1: ['**Unbounded cache:** Section 2.6 keeps every value for ever.'] }),
  },
  // An approval that contradicts itself.
  48: {
    review: () => review({ verdict: 'APPROVED', tier1: ['**Data loss:** the file is deleted before it is copied.'] }),
  },
  // Verdicts repeated as data.
  49: { review: next(AGREES) },
  50: { review: next(data({ verdict: 'REVISE', blocking: [] }), AGREES) },
  51: { review: next(data({ verdict: 'APPROVED', blocking: ['Data loss'] }), APPROVED) },
  // An open question that is answered, and one that is not.
  52: {
    draft: () => asking('52'),
    review: () => review({ verdict: 'APPROVED', resolved: [`~~${QUESTION}~~ **RESOLVED: the money module.**`] }),
  },
  53: { draft: () => asking('53') },
  // Another model than the one that was asked.
  54: { review: () => ({ text: APPROVED, model: 'gemini-3-flash-preview' }) },
  // Cut off.
  55: { draft: () => ({ text: lldFor('55').slice(0, 400), stop: 'length' }) },
};
const EDITED = '56';
const NAMES_FILES = '57';

const answers = shared(async ({ folder, onEnd }) => {
  const vendor = await startVendor({ script: (call) => script(CASES[issueOf(call)])(call) });
  onEnd(() => vendor.close());
  const ids = ['42', ...Object.keys(CASES)];
  const repository = await repositoryIn(folder, Object.fromEntries(ids.map((id) => [id, ISSUE])), { commit: false });
  await repository.write(`issues/${NAMES_FILES}.md`, `${ISSUE}\nSee src/main.js and .env and config/server.pem.\n`);
  await repository.write('.env', 'TOKEN=very-secret-value\n');
  await repository.write('config/server.pem', '-----BEGIN PRIVATE KEY-----\nAAAA\n');
  repository.git('add', '--all', '--force');
  repository.git('commit', '--quiet', '-m', 'Start');
  await approve(repository, EDITED, lldFor(EDITED));
  const lld = `docs/lld/LLD-${EDITED}.md`;
  await repository.write(lld, (await repository.read(lld)).replace('no state.', 'no state, and tiny.'));

  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  const run = (...args: string[]) => agentos(['lld', ...args, '--max-rounds', '3', ...CLAUDE_AND_GEMINI], options);
  const ended = await run('--all', '--json', '--parallel', '2', '--halt', '99');
  const lines = ended.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const items: { id: string; status: string; costUsd: number; usage: { outputTokens: number } }[] = lines.at(-1).items;
  return {
    vendor,
    repository,
    run,
    ended,
    lines,
    itemOf: (id: string) => items.find((item) => item.id === id),
    callsFor: (id: string) => vendor.calls.filter((call) => issueOf(call) === id),
  };
});

test('--json prints one JSON document a line, the summary last, and people’s lines go to stderr', async () => {
  const { ended, lines, itemOf } = await answers();
  expect(lines[0]).toMatchObject({ type: 'run-started' });
  expect(lines.at(-1)).toMatchObject({ workflow: 'lld', exitCode: 1 });
  expect(ended.code).toBe(1);
  expect(itemOf('42')).toMatchObject({ status: 'succeeded' });
  expect(ended.stderr).toContain('[LLD-42] ');
});

test('a REVISE verdict leads to a revision, and the reviewer then gets the ledger and the change', async () => {
  const { repository, itemOf, callsFor } = await answers();
  expect(itemOf('43')).toMatchObject({ status: 'succeeded' });
  expect(callsFor('43')).toHaveLength(4);
  const second = callsFor('43')[3]?.text ?? '';
  expect(second).toContain('Missing bound');
  expect(second).toContain('+A pure function without state, as the review asked.');
  const lld = await repository.read('docs/lld/LLD-43.md');
  expect(lld).toContain('rounds: 2');
  expect(lld).toContain('as the review asked');
  expect(lld.slice(lld.indexOf('Review Log'))).toContain('Missing bound');
  expect(await repository.list('docs/lineage/43')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-draft.md',
    '005-verdict.md',
    '006-final.md',
  ]);
});

test('a draft that fails the mechanical checks is repaired before a reviewer is paid', async () => {
  const { ended, itemOf, callsFor } = await answers();
  expect(itemOf('44')).toMatchObject({ status: 'succeeded' });
  expect(callsFor('44').map((call) => call.vendor)).toEqual(['anthropic', 'anthropic', 'google']);
  expect(callsFor('44')[1]?.text).toContain('requirement-uncovered');
  expect(ended.stderr).toMatch(/^\[LLD-44\] .*requirement-uncovered/m);
});

test('a draft that never passes the checks ends in DISCUSS without one review', async () => {
  const { repository, itemOf, callsFor } = await answers();
  expect(itemOf('45')).toMatchObject({ status: 'discuss' });
  expect(callsFor('45').every((call) => call.vendor === 'anthropic')).toBe(true);
  expect(await repository.list('docs/lld')).not.toContain('LLD-45.md');
});

test('a reviewer that is never content ends in DISCUSS after the last round, and the checkpoint is kept', async () => {
  const { repository, itemOf, callsFor, run } = await answers();
  expect(itemOf('46')).toMatchObject({ status: 'discuss' });
  const before = callsFor('46').length;
  expect(callsFor('46').filter((call) => call.vendor === 'google')).toHaveLength(3);
  expect(await repository.list('docs/lld')).not.toContain('LLD-46.md');
  expect(await repository.list('.agentos/checkpoints')).toContain('lld-46.db');
  expect((await run('46')).code).toBe(3);
  expect(callsFor('46')).toHaveLength(before);
});

test('the same finding twice on an unchanged draft ends in DISCUSS before the rounds are used up', async () => {
  const { itemOf, callsFor } = await answers();
  expect(itemOf('47')).toMatchObject({ status: 'discuss' });
  expect(callsFor('47')).toHaveLength(4);
});

test('a review that contradicts itself is asked for once more, then fails closed', async () => {
  const { repository, itemOf, callsFor } = await answers();
  expect(itemOf('48')).toMatchObject({ status: 'discuss' });
  expect(callsFor('48')).toHaveLength(3);
  expect(callsFor('48')[2]?.text).toContain('Your review can');
  expect(await repository.list('docs/lld')).not.toContain('LLD-48.md');
});

test('a verdict that is repeated as data costs no call; one that says something else is asked for once more', async () => {
  const { itemOf, callsFor } = await answers();
  const reviewsOf = (id: string): string[] =>
    callsFor(id)
      .filter((call) => call.vendor === 'google')
      .map((call) => call.text);
  const [agreeing, revising, blocking] = [reviewsOf('49'), reviewsOf('50'), reviewsOf('51')];
  expect([agreeing.length, revising.length, blocking.length]).toEqual([1, 2, 2]);
  expect(agreeing[0]).toContain('"blocking": []');
  expect(revising[1]).toContain('It states more than one verdict');
  expect(blocking[1]).toContain('its JSON lists as blocking: Data loss');
  for (const id of ['49', '50', '51']) expect(itemOf(id)).toMatchObject({ status: 'succeeded' });
});

test('an open question is folded in when the reviewer answers it, and blocks approval when nobody does', async () => {
  const { repository, itemOf } = await answers();
  expect(itemOf('52')).toMatchObject({ status: 'succeeded' });
  expect(await repository.read('docs/lld/LLD-52.md')).toContain(
    `- [x] ~~${QUESTION}~~ **RESOLVED: the money module.**`,
  );
  expect(itemOf('53')).toMatchObject({ status: 'discuss' });
  expect(await repository.list('docs/lld')).not.toContain('LLD-53.md');
});

test('a review by another model than the one asked for is refused', async () => {
  const { ended, repository, itemOf } = await answers();
  expect(itemOf('54')).toMatchObject({ status: 'failed' });
  expect(ended.stderr).toMatch(/^\[LLD-54\] .*gemini-3-flash-preview answered/m);
  expect(ended.stderr).toContain('Failed: 54, 55. Retry with: agentos lld --ids 54 55');
  expect(await repository.list('docs/lld')).not.toContain('LLD-54.md');
});

test('a truncated answer is an error with a name, counts as paid, and is not paid for again', async () => {
  const { ended, itemOf, callsFor } = await answers();
  expect(ended.stderr).toMatch(/^55 +failed .*reply-truncated$/m);
  expect(callsFor('55')).toHaveLength(1);
  const item = itemOf('55');
  expect(item?.status).toBe('failed');
  expect(item?.costUsd).toBeGreaterThan(0);
  expect(item?.usage.outputTokens).toBeGreaterThan(0);
});

test('an LLD that a person edited after approval is reviewed as it is, not drafted anew', async () => {
  const { repository, itemOf, callsFor } = await answers();
  expect(itemOf(EDITED)).toMatchObject({ status: 'succeeded' });
  expect(callsFor(EDITED).map((call) => call.vendor)).toEqual(['google']);
  expect(await repository.read(`docs/lld/LLD-${EDITED}.md`)).toContain('no state, and tiny.');
});

test('the drafter is shown the files that the issue names, but no secrets', async () => {
  const { callsFor } = await answers();
  const prompt = callsFor(NAMES_FILES)[0]?.text ?? '';
  expect(prompt).toContain('export const answer = 42;');
  expect(prompt).not.toContain('very-secret-value');
  expect(prompt).not.toContain('BEGIN PRIVATE KEY');
});
