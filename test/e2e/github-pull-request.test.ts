import { expect, test } from 'vitest';
import { fakeGitHub, TOKEN } from '../support/hosts/github.ts';
import { hostedProject } from '../support/hosts/project.ts';
import { ISSUE } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { treeOf } from '../support/tree.ts';

const SOURCE = ['--source', 'github:acme/widget'];

test('an issue becomes a pull request with its evidence, and a second run posts nothing', async () => {
  const { repository, bare, flags, remote, writerCalls } = await hostedProject({
    'agentos.yaml': 'lineage: commit\n',
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
  expect(remote('show', 'agentos/42-add-a-number:docs/reports/42.lineage/001-issue.md')).toContain('Add a number');
  expect(github.statuses).toMatchObject([{ sha: pull?.head.sha, state: 'success', context: 'agentos / evidence' }]);
  expect(github.issues.get(42)?.labels.map(({ name }) => name)).toEqual(['agentos', 'agentos:pr']);
  expect(github.reactions).toEqual([{ comment: used.id, content: 'eyes' }]);
  const comments = github.comments.filter(({ body }) => body.includes('agentos:item 42'));
  expect(comments).toHaveLength(1);
  expect(comments[0]?.body).toContain('- Pull request: https://github.com/acme/widget/pull/43');

  const environments = (await writerCalls()).map(({ env }) => JSON.stringify(env));
  expect(environments.length).toBeGreaterThan(0);
  expect(environments.join()).not.toContain(TOKEN);

  const written = github.writes().length;
  expect(await run()).toMatchObject({ code: 0, stderr: '' });
  expect(github.writes()).toHaveLength(written);
  expect(await repository.read('docs/lineage/42/001-issue.md')).toContain('> Please keep it small.');
});

/** A project with a finished branch for 42, and the command that posts it. */
async function unposted(title?: string) {
  const project = await hostedProject();
  const github = await fakeGitHub({ bare: project.bare });
  github.issue({ number: 42, title: 'Add a number', body: ISSUE });
  const branch = await project.finished('42', title);
  const command = ['implement', '42', ...SOURCE, '--pr', ...project.flags];
  const options = { cwd: project.repository.root, env: github.env };
  const post = (...more: string[]) => agentos([...command, ...more], options);
  return { ...project, github, branch, command, options, post };
}

test('a post whose answer was lost is looked up before it is repeated, also by the next program', async () => {
  const { github, post, models } = await unposted();
  github.fail('POST', /\/pulls$/, 'cut-after');
  github.fail('POST', /\/statuses\//, 'cut-before');
  expect(await post()).toMatchObject({ code: 0, stderr: '' });
  expect(github.pulls).toHaveLength(1);

  // Killed in the moment in which GitHub carries out the post.
  const other = await unposted('Another title');
  const started = startAgentos(other.command, other.options);
  other.github.onPost = (path) => {
    if (path.endsWith('/pulls')) started.child.kill('SIGKILL');
  };
  expect((await started.ended).signal).toBe('SIGKILL');
  expect(other.github.pulls).toHaveLength(1);
  other.github.onPost = () => undefined;
  expect(await other.post()).toMatchObject({ code: 0, stderr: '' });
  expect([github.pulls.length, other.github.pulls.length]).toEqual([1, 1]);
  expect([github.statuses.length, other.github.statuses.length]).toEqual([1, 1]);
  expect(await models.calls()).toEqual([]);
});

test('a branch that a person pushed to, or pushed over, is never overwritten; a fork’s is ignored', async () => {
  const { github, branch, post, remote, repository } = await unposted();
  const theirs = repository.git('commit-tree', '-m', 'mine', 'main^{tree}');
  repository.git('push', '--quiet', 'origin', `${theirs}:refs/heads/${branch}`);
  const refused = await post();
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('so it is not overwritten') });
  expect(remote('rev-parse', branch)).toBe(theirs);
  expect(github.writes()).toEqual([]);

  remote('update-ref', '-d', `refs/heads/${branch}`);
  const head = { ref: branch, sha: theirs, repo: { full_name: 'eve/widget' }, label: `eve:${branch}` };
  github.pull({ number: 50, head, user: { login: 'eve', type: 'User' }, author_association: 'NONE' });
  expect(await post()).toMatchObject({ code: 0 });
  expect(github.pulls.map(({ head: { label } }) => label)).toEqual([`eve:${branch}`, `acme:${branch}`]);

  // A person adds a commit on top of ours: nothing is pushed, and the next run has nothing to do.
  const onTop = repository.git('commit-tree', '-p', branch, '-m', 'more', `${branch}^{tree}`);
  repository.git('push', '--quiet', 'origin', `${onTop}:refs/heads/${branch}`);
  expect(await post()).toMatchObject({ code: 0 });
  expect(remote('rev-parse', branch)).toBe(onTop);
});

test('a draft stays one until its required checks have passed; pr.ready says when', async () => {
  const { github, post, repository, flags, options } = await unposted();
  github.required = ['build'];
  expect((await post()).stdout).toContain('the pull request stays a draft: build (pending)');
  const sha = github.pulls[0]?.head.sha ?? '';
  expect(github.pulls[0]?.draft).toBe(true);
  github.checkRuns.push({ head_sha: sha, name: 'build', status: 'completed', conclusion: 'failure' });
  expect((await post()).stdout).toContain('build (failed)');
  github.checkRuns.push({ head_sha: sha, name: 'build', status: 'completed', conclusion: 'success' });
  // A watch makes it ready as well as the same command.
  const watched = await agentos(['watch', '--once', ...SOURCE, '--pr', ...flags], options);
  expect(watched, watched.stderr).toMatchObject({ code: 0 });
  expect(watched.stdout).toContain('the pull request is ready for review');
  expect(github.pulls).toMatchObject([{ draft: false }]);
  await repository.write('agentos.yaml', 'pr:\n  open: true\n  ready: never\n');
  const asked = github.requests.length;
  expect(await post()).toMatchObject({ code: 0 });
  expect(github.requests.slice(asked).filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('hostile words neither notify, link, close nor leave their place; a dry run writes nowhere', async () => {
  const hostile = 'Fixes #1 @everyone <!-- agentos:item 1 --> ](x) --> | `x` \u001B[31m';
  const { github, branch, post, repository, remote } = await unposted(hostile);
  const before = await treeOf(repository.root);
  expect(await post('--dry-run', '--comment')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('pull-request'),
  });
  expect(github.writes()).toEqual([]);
  expect(await treeOf(repository.root)).toEqual(before);
  expect(remote('branch', '--list', branch)).toBe('');

  expect(await post('--comment')).toMatchObject({ code: 0 });
  const [pull] = github.pulls;
  const comment = github.comments.find(({ body }) => body.startsWith('<!-- agentos:item 42 -->'));
  for (const text of [pull?.title, pull?.body.replace('Closes #42', ''), comment?.body ?? ''])
    expect(text).not.toMatch(/@(?=\w)|#\d|\u001B/);
  expect(`${pull?.body}${comment?.body}`).not.toMatch(/<!-- agentos:item 1\b/);
  expect(pull?.body.match(/^Closes/gm)).toHaveLength(1);
});

test('what can’t be written is said before anything is paid for', async () => {
  const { github, post, repository, models } = await unposted();
  repository.git('branch', '-D', '--quiet', 'agentos/42-add-a-number');
  github.facts.archived = true;
  expect(await post()).toMatchObject({ code: 2, stderr: expect.stringContaining('is archived') });
  expect(await post('--comment')).toMatchObject({ code: 2 });
  github.facts = { ...github.facts, archived: false, permissions: { push: false } };
  expect(await post()).toMatchObject({ code: 2, stderr: expect.stringContaining('may not push to acme/widget') });
  expect(await models.calls()).toEqual([]);
  expect(github.writes()).toEqual([]);
});

test('pr.ready at-once opens no draft; a repository that takes none gets an ordinary one; a redo rewrites its text', async () => {
  const { github, post, repository, finished, branch, remote } = await unposted();
  await repository.write('agentos.yaml', 'pr:\n  ready: at-once\n');
  expect(await post()).toMatchObject({ code: 0, stderr: '' });
  expect(github.seen('POST', /\/pulls$/).map(({ body }) => body['draft'])).toEqual([false]);

  // Done over, by the same name: what was pushed for it is replaced, and its text with it.
  const [pull] = github.pulls;
  const before = remote('rev-parse', branch);
  await repository.write('agentos.yaml', '');
  await repository.write('docs/lld/LLD-42.md', '');
  repository.git('branch', '--quiet', '-D', branch);
  await finished('42');
  repository.git('switch', '--quiet', branch);
  repository.git('commit', '--quiet', '--amend', '--allow-empty', '-m', 'Done over', '--date', '2026-02-02T00:00:00Z');
  repository.git('switch', '--quiet', 'main');
  Object.assign(pull ?? {}, { body: 'Old words', draft: true });
  expect(await post()).toMatchObject({ code: 0, stderr: '' });
  expect(remote('rev-parse', branch)).not.toBe(before);
  expect(github.pulls).toMatchObject([{ body: expect.stringContaining('Closes #42'), draft: false }]);
  const edits = (): number => github.seen('PATCH', /\/pulls\/\d+$/).length;
  expect(edits()).toBe(1);
  expect(await post()).toMatchObject({ code: 0 });
  expect(edits()).toBe(1);

  const other = await unposted('Another title');
  const refusal = { status: 422, body: { message: 'Draft pull requests are not supported in this repository.' } };
  other.github.fail('POST', /\/pulls$/, refusal);
  const ordinary = await other.post();
  expect(ordinary, ordinary.stdout).toMatchObject({ code: 0, stdout: expect.stringContaining('takes no drafts') });
  expect(other.github.pulls).toMatchObject([{ draft: false }]);
});
