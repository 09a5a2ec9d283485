import { expect, test } from 'vitest';
import { fakeGitHub } from '../support/hosts/github.ts';
import { hostedProject } from '../support/hosts/project.ts';
import { ISSUE } from '../support/models.ts';
import { agentos } from '../support/program.ts';

const SOURCE = ['--source', 'github:acme/widget'];

test('an issue becomes a pull request with its evidence, and a second run posts nothing', async () => {
  const { repository, bare, flags, remote } = await hostedProject({
    '.github/pull_request_template.md': '## Checklist\n- [ ] I read the guide\n',
  });
  const github = await fakeGitHub({ bare });
  github.issue({ number: 42, title: 'Add a number', body: ISSUE });
  const used = github.comment(42, 'Please keep it small.');
  const command = ['run', '42', ...SOURCE, '--comment', '--pr', ...flags];
  const run = () => agentos(command, { cwd: repository.root, env: github.env });

  const first = await run();
  expect(first, first.stdout).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toContain('Next: review https://github.com/acme/widget/pull/43');
  const [pull] = github.pulls;
  expect(github.pulls).toHaveLength(1);
  expect(pull).toMatchObject({ title: 'Add a number', base: { ref: 'main' }, draft: false });
  expect(pull?.head.sha).toBe(remote('rev-parse', 'agentos/42-add-a-number'));
  for (const part of [
    /^Closes #42$/m,
    /^\*\*Why\.\*\* Deliver the change/m,
    /^\| red \| holds \|/m,
    /^\| green \| holds \| `npm test` \| 3 passed/m,
    /^\| reverse \| holds \|/m,
    /^## Risk\n\n- Wrong type passed/m,
    /^Of the implementation: /m,
    /^`agentos implement --again 42 --source github:acme\/widget`$/m,
    /\[the design\]\(https:\/\/github.com\/acme\/widget\/blob\/agentos\/42-add-a-number\/docs\/reports\/42.lld.md\)/,
    /\n---\n\n## Checklist\n- \[ \] I read the guide\n$/,
  ])
    expect(pull?.body).toMatch(part);
  expect(remote('show', 'agentos/42-add-a-number:docs/reports/42.lld.md')).toContain('status: approved');
  expect(github.statuses).toMatchObject([{ sha: pull?.head.sha, state: 'success', context: 'agentos / evidence' }]);
  expect(github.issues.get(42)?.labels.map(({ name }) => name)).toEqual(['agentos', 'agentos:pr']);
  expect(github.reactions).toEqual([{ comment: used.id, content: 'eyes' }]);
  const comments = github.comments.filter(({ body }) => body.includes('agentos:item 42'));
  expect(comments).toHaveLength(1);
  expect(comments[0]?.body).toContain('- Pull request: https://github.com/acme/widget/pull/43');

  const written = github.writes().length;
  expect(await run()).toMatchObject({ code: 0, stderr: '' });
  expect(github.writes()).toHaveLength(written);
  expect(await repository.read('docs/lineage/42/001-issue.md')).toContain('> Please keep it small.');
});
