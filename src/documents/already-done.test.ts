import { expect, test } from 'vitest';
import { SAMPLE_LLD } from '../../test/support/sample-lld.ts';
import { checkAlreadyDone, evidenceIn } from './already-done.ts';
import { documentFromReply, isAlreadyDone } from './revise/reply.ts';
import { reviseDraft } from './revise/revision.ts';

const CLAIM = `# Already done: Retry calls

## Evidence
- \`src/retry.ts:1-2\` – calls again on a 429

## Why
Every requirement is met there.
`;
const TREE = {
  kindOf: (path: string) =>
    (path === 'src' ? 'directory' : /^(?:src|issues)\//.test(path) ? 'file' : null) as 'file' | null,
  read: async (path: string) => Buffer.from(path === 'src/empty.ts' ? '' : 'one\ntwo\n'),
};

test.each([
  ['`src/a.ts:1-2` – shows it', { path: 'src/a.ts', from: 1, to: 2 }],
  ['src/a.ts:1: shows it', { path: 'src/a.ts', from: 1, to: 1 }],
  ['**src/a.ts:1–2**, shows it', { path: 'src/a.ts', from: 1, to: 2 }],
  ['[src/a.ts#L1-L2](src/a.ts#L1-L2) shows it', { path: 'src/a.ts', from: 1, to: 2 }],
  ['`./src/with space.ts:1` shows it', { path: 'src/with space.ts', from: 1, to: 1 }],
])('%s names a file and its lines', async (item, cited) => {
  const claim = CLAIM.replace(/- .*/, `- ${item}`);
  expect(evidenceIn(claim)).toEqual([cited]);
  expect(await checkAlreadyDone(claim, TREE)).toEqual([]);
});

test.each([
  ['- src/a.ts shows it', 'evidence-unread'],
  ['- `src/a.ts:1`', 'evidence-unread'],
  ['- `src/a.ts:3` past the end', 'evidence-missing'],
  ['- `src/a.ts:2-1` the wrong way round', 'evidence-missing'],
  ['- `src/a.ts:0` before the first', 'evidence-missing'],
  ['- `src/empty.ts:1` nothing in it', 'evidence-missing'],
  ['- `lib/a.ts:1` no such file', 'evidence-missing'],
  ['- `src:1` a folder', 'evidence-missing'],
  ['- `issues/42.md:1` the issue itself', 'evidence-missing'],
  ['It is in src/a.ts:1.', 'evidence-missing'],
])('%s is no evidence', async (item, rule) => {
  const findings = await checkAlreadyDone(CLAIM.replace(/- .*/, item), TREE);
  expect(findings.map((finding) => finding.rule)).toEqual([rule]);
});

test('a claim without a reason is incomplete', async () => {
  const findings = await checkAlreadyDone(CLAIM.replace(/Every .*/, ''), TREE);
  expect(findings.map(({ rule }) => rule)).toEqual(['why-missing']);
});

test('a claim is recognised by its title, in whatever a model puts around it; an LLD that quotes one is an LLD', () => {
  const wrapped = `Nothing to design.\n\n\`\`\`markdown\n${CLAIM}\`\`\`\n\nLet me know if you need more.\n`;
  expect(documentFromReply(wrapped)).toEqual({ ok: true, text: CLAIM });
  expect(isAlreadyDone(CLAIM)).toBe(true);
  const quoting = SAMPLE_LLD.replace('A pure policy', `It may say:\n\n${CLAIM}\nA pure policy`);
  expect(isAlreadyDone(quoting)).toBe(false);
});

test('a revision of a claim may be other evidence, or an LLD in its place; and a claim in place of an LLD', () => {
  const better = CLAIM.replace('src/retry.ts:1-2', 'src/a.ts:1');
  const named = ['Requirement 2 is not met.'];
  expect(reviseDraft(CLAIM, better, { named })).toEqual({ ok: true, text: better });
  expect(reviseDraft(CLAIM, SAMPLE_LLD, { named })).toEqual({ ok: true, text: SAMPLE_LLD });
  expect(reviseDraft(SAMPLE_LLD, CLAIM, { named })).toEqual({ ok: true, text: CLAIM });
  expect(reviseDraft(CLAIM, CLAIM.slice(0, CLAIM.indexOf('## Why')), { named })).toMatchObject({ ok: false });
});
