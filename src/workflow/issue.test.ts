import { describe, expect, test } from 'vitest';
import {
  type IssuePlace,
  issueAt,
  issuePlace,
  type Replies,
  runIssueAt as run,
  firstBriefState as stateOf,
} from '../../test/support/issue-workflow.ts';
import { review } from '../../test/support/models.ts';
import { editedIssue, SAMPLE_ISSUE } from '../../test/support/sample-issue.ts';
import { parseItemId } from '../core/ids.ts';
import { readFrontMatter } from '../documents/header.ts';

const BRIEF = `Calls that met a quota are lost\n\nA vendor answers 429 and the whole batch has to be started again.\n`;
const APPROVED = review({ verdict: 'APPROVED' });
const REVISE = review({ verdict: 'REVISE', tier2: ['**Bound:** requirement 2 does not say after how many refusals.'] });
const REVISED = editedIssue('After 5 refusals', 'After 5 refusals of the same call');

function place(files: Record<string, string> = {}): Promise<IssuePlace> {
  return issuePlace({ 'briefs/quota.md': BRIEF, ...files });
}

describe('a brief becomes an issue', () => {
  test('under the next free number, with its origin in the front matter and every version in the lineage', async () => {
    const at = await place({
      'issues/9.md': '# Nine\n',
      'issues/add-login.md': '# Login\n',
      'docs/lld/LLD-11.md': '# Eleven\n',
      'docs/lineage/12/001-issue.md': '# Twelve\n',
      'docs/lineage/2024-plan/001-issue.md': '# A name\n',
    });
    expect(await stateOf(at)).toBe('pending');
    const { status, asked, outputs } = await run(at);
    expect(status).toBe('succeeded');
    expect(asked.map(({ step }) => step)).toEqual(['draft', 'review-1']);
    expect(outputs).toEqual([at.paths.issue(parseItemId('13')), at.paths.lineage(parseItemId('quota'))]);
    const { fields, body } = readFrontMatter(await at.read('issues/13.md'));
    expect(fields).toMatchObject({
      brief: 'quota',
      status: 'approved',
      drafter: 'test:drafter',
      reviewer: 'test:reviewer',
      rounds: 1,
    });
    expect(body).toBe(SAMPLE_ISSUE);
    expect(await at.list('docs/lineage/quota')).toEqual([
      '001-issue.md',
      '002-draft.md',
      '003-verdict.md',
      '004-final.md',
    ]);
    expect(await at.read('docs/lineage/quota/001-issue.md')).toBe(BRIEF);
    expect(await at.list('issues')).toEqual(['13.md', '9.md', 'add-login.md']);
    expect(await stateOf(at)).toBe('done');
  });

  test('that the source of issues reads as it is', async () => {
    const at = await place();
    await run(at);
    expect(await issueAt(at, '1')).toMatchObject({ title: 'Retry calls that met a quota', body: SAMPLE_ISSUE.trim() });
  });

  test('after a revision, whose log is in the lineage and not in the issue', async () => {
    const at = await place();
    const answer = `${REVISED}\n## Review Log\n| Finding | Answer |\n|---|---|\n| Bound | Said now |\n`;
    const { status, asked } = await run(at, { 'review-1': REVISE, 'revise-1': answer });
    expect(status).toBe('succeeded');
    expect(asked.map(({ step }) => step)).toEqual(['draft', 'review-1', 'revise-1', 'review-2']);
    expect(asked[3]?.text).toContain('+2. After 5 refusals of the same call');
    const issue = await at.read('issues/1.md');
    expect(readFrontMatter(issue).body).toBe(REVISED);
    expect(issue).toContain('rounds: 2');
    const final = await at.read('docs/lineage/quota/006-final.md');
    expect(final).toContain('Review Log');
    expect(final).toContain('does not say after how many refusals');
  });

  test('only when it passes the checks', async () => {
    const at = await place();
    const { status, asked } = await run(at, {
      draft: editedIssue('(S2, R2)', '(R2)'),
      'repair-1-1': '<<<<<<< SEARCH\n75. (R2)\n=======\n75. (S2, R2)\n>>>>>>> REPLACE\n',
    });
    expect(status).toBe('succeeded');
    expect(asked.map(({ step }) => step)).toEqual(['draft', 'repair-1-1', 'review-1']);
    expect(asked[1]?.text).toContain('scenario-uncovered');
  });

  test('and a discussion takes no number', async () => {
    const at = await place();
    const { status, reason } = await run(at, { 'review-1': review({ verdict: 'DISCUSS', questions: ['Who pays?'] }) });
    expect({ status, reason }).toEqual({ status: 'discuss', reason: 'the reviewer asks: Who pays?' });
    expect(await at.list('issues')).toEqual([]);
    expect(await stateOf(at)).toBe('pending');
  });
});

describe('an item that was ended in the middle', () => {
  const stop = (): never => {
    throw new Error('killed');
  };

  test.each(['draft', 'review-1', 'revise-1', 'review-2'])(
    '%s: goes on there and ends in the same files',
    async (step) => {
      const replies: Replies = { 'review-1': REVISE, 'revise-1': REVISED };
      const whole = await place();
      const expected = await run(whole, replies);
      const at = await place();
      await expect(run(at, { ...replies, [step]: stop })).rejects.toThrow();
      const { asked } = await run(at, replies);
      const steps = expected.asked.map((call) => call.step);
      expect(asked.map((call) => call.step)).toEqual(steps.slice(steps.indexOf(step)));
      expect(await at.read('issues/1.md')).toBe(await whole.read('issues/1.md'));
      expect(await at.list('docs/lineage/quota')).toEqual(await whole.list('docs/lineage/quota'));
      expect(await at.list('issues')).toEqual(['1.md']);
    },
  );

  test('after its file was written: that file is its result, and nobody is asked again', async () => {
    const at = await place();
    await run(at);
    const { status, asked, outputs } = await run(at);
    expect(status).toBe('succeeded');
    expect(asked).toEqual([]);
    expect(outputs).toEqual([at.paths.issue(parseItemId('1'))]);
    expect(await at.list('issues')).toEqual(['1.md']);
  });
});

describe('a brief that was changed after its issue was written', () => {
  test('is pending, and its issue is revised in its place', async () => {
    const at = await place();
    await run(at);
    await at.write('briefs/quota.md', `${BRIEF}\nIt should wait no longer than an hour.\n`);
    expect(await stateOf(at)).toBe('pending');
    const { asked } = await run(at, { draft: REVISED });
    expect(asked[0]?.text).toContain(`<current-issue>\n${SAMPLE_ISSUE.trim()}`);
    expect(asked[0]?.text).not.toContain('<existing-work>');
    expect(readFrontMatter(await at.read('issues/1.md')).body).toBe(REVISED);
    expect(await at.list('issues')).toEqual(['1.md']);
    expect(await at.list('docs/lineage/quota')).toHaveLength(8);
    expect(await stateOf(at)).toBe('done');
  });

  test('and was edited by a person: their text is the draft', async () => {
    const at = await place();
    await run(at);
    const own = editedIssue('After 5 refusals', 'After 7 refusals');
    await at.write('issues/1.md', editedIssue('After 5 refusals', 'After 7 refusals', await at.read('issues/1.md')));
    expect(await stateOf(at)).toBe('done');
    await at.write('briefs/quota.md', `${BRIEF}\nAn hour at most.\n`);
    const { asked } = await run(at);
    expect(asked.map(({ step }) => step)).toEqual(['review-1']);
    const { fields, body } = readFrontMatter(await at.read('issues/1.md'));
    expect(body).toBe(own);
    expect(fields['drafter']).toBe('a person');
  });

  test('and whose issue is edited during the review: that text stays, and a person decides', async () => {
    const at = await place();
    await run(at);
    await at.write('briefs/quota.md', `${BRIEF}\nAn hour at most.\n`);
    const { status, reason } = await run(at, {
      'review-1': async () => {
        await at.write('issues/1.md', '# Mine now\n');
        return APPROVED;
      },
    });
    expect(status).toBe('discuss');
    expect(reason).toContain('edited while its revision was reviewed');
    expect(await at.read('issues/1.md')).toBe('# Mine now\n');
  });
});

describe('existing work', () => {
  const design = `---\nissue: 8\nstatus: approved\n---\n\n# 8 - Feature: Export\n\nA table as CSV.\n`;

  test('that looks the same is told of and shown to the reviewer, who decides', async () => {
    const at = await place({
      'issues/7.md': `# Calls that met a quota\n\nA vendor answers 429, and then the batch has to be started again.\n`,
      'docs/lld/LLD-8.md': design,
    });
    const { events, asked, status } = await run(at, {
      'review-1': review({ verdict: 'DISCUSS', questions: ['Is this issue 7 again?'] }),
    });
    const notices = events.flatMap((event) => (event.type === 'notice' ? [event.text] : []));
    expect(notices).toEqual([
      expect.stringMatching(/^looks like 7 \(\d\.\d\d\): Calls that met a quota; shares: .*quota/),
    ]);
    expect(asked[1]?.text).toContain('<existing-work>');
    expect(asked[1]?.text).toContain('perhaps the same: decide whether it is');
    expect(asked[1]?.text).toContain('<work-7>\n# Calls that met a quota');
    expect(status).toBe('discuss');
  });

  test('that is another thing is not mentioned', async () => {
    const at = await place({ 'issues/7.md': '# Dark mode\n\nA dark theme.\n', 'docs/lld/LLD-8.md': design });
    const { events, asked } = await run(at);
    expect(events.filter(({ type }) => type === 'notice')).toEqual([]);
    expect(asked[1]?.text).not.toContain('existing-work');
  });
});

test.each([
  ['a number, which may be an issue one day', '42', {}],
  ['the name of an issue', 'login', { 'issues/login.md': '# Login\n' }],
])('the lineage of a brief that is called like %s is apart from the issue’s', async (_, id, files) => {
  const at = await place({ [`briefs/${id}.md`]: BRIEF, ...files });
  const { outputs } = await run(at, {}, { id });
  expect(outputs[1]).toBe(at.paths.briefLineage(parseItemId(id)));
  expect(await at.list(`docs/lineage/${id}`)).toEqual([]);
  expect(await at.list(`docs/lineage/${id}.brief`)).toHaveLength(4);
});
