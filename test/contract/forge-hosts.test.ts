import { generateKeyPairSync, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseItemId } from '../../src/core/ids.ts';
import { createGitHubForge, createGitHubTracker } from '../../src/forge/github.ts';
import { createGitLabForge, createGitLabTracker } from '../../src/forge/gitlab.ts';
import type { Forge, Tracker } from '../../src/forge/port.ts';
import { answerMarker } from '../../src/forge/texts.ts';
import { createAppToken } from '../../src/host/token.ts';
import { testFolder } from '../support/folder.ts';
import { fakeGitHub, TOKEN } from '../support/hosts/github.ts';
import { EVE, fakeGitLab, GITLAB_TOKEN, OLIVIA } from '../support/hosts/gitlab.ts';
import { hostedProject } from '../support/hosts/project.ts';
import { connect, type HostServer, startHost } from '../support/hosts/server.ts';

const onGitHubAt = (apiUrl: string, isApp = false) =>
  connect('acme/widget', { host: 'github', apiUrl, token: TOKEN, isApp });

interface Given {
  server: HostServer;
  tracker: Tracker;
  forge: Forge;
  branch: string;
  head: string;
  /** A comment of a stranger on issue 42. */
  strangers: (body: string) => void;
  labels: () => string[];
  /** A pull request for the branch of the same name in a fork. */
  fork: () => void;
  archive: () => void;
  /** CI reports on the commit. */
  report: (name: string, state: 'pending' | 'passed' | 'failed') => void;
  evidence: () => unknown;
  /** A member at a line, and a stranger. */
  review: () => void;
}

const NO_BRANCH = { bare: '', branch: 'agentos/42-x', head: 'a'.repeat(40) };

async function pushedBranch(): Promise<typeof NO_BRANCH> {
  const { bare, finished, repository, remote } = await hostedProject();
  const branch = await finished('42');
  repository.git('push', '--quiet', 'origin', branch);
  return { bare, branch, head: remote('rev-parse', branch) };
}

async function onGitHub(hasBranch = false): Promise<Given> {
  const { bare, branch, head } = hasBranch ? await pushedBranch() : NO_BRANCH;
  const github = await fakeGitHub({ bare });
  github.issue({ number: 42 });
  const repository = onGitHubAt(github.url);
  github.required = ['build'];
  const conclusions = { pending: null, passed: 'success', failed: 'failure' };
  return {
    server: github,
    tracker: createGitHubTracker(repository),
    forge: createGitHubForge(repository),
    branch,
    head,
    strangers: (body) => void github.comment(42, body, 'eve', 'NONE'),
    labels: () => github.issues.get(42)?.labels.map(({ name }) => name) ?? [],
    fork: () =>
      void github.pull({
        number: 60,
        head: { ref: branch, sha: head, repo: { full_name: 'eve/widget' }, label: `eve:${branch}` },
      }),
    archive: () => void Object.assign(github.facts, { archived: true }),
    report: (name, state) =>
      void github.checkRuns.push({
        head_sha: head,
        name,
        status: state === 'pending' ? 'in_progress' : 'completed',
        conclusion: conclusions[state],
      }),
    evidence: () => github.statuses.map(({ sha, state, context }) => [sha, state, context]),
    review() {
      const member = { user: { login: 'mia' }, author_association: 'MEMBER' };
      github.reviews.push({
        id: 1,
        ...member,
        body: 'Not yet',
        state: 'CHANGES_REQUESTED',
        submitted_at: '2026-03-02T10:00:00Z',
      });
      github.lines.push({
        id: 2,
        ...member,
        body: 'Why?',
        path: 'src/x.js',
        line: 3,
        created_at: '2026-03-02T10:00:00Z',
      });
      const stranger = { user: { login: 'eve' }, author_association: 'NONE' };
      github.lines.push({
        id: 3,
        ...stranger,
        body: '+1',
        path: 'src/x.js',
        line: 3,
        in_reply_to_id: 2,
        created_at: '2026-03-02T11:00:00Z',
      });
    },
  };
}

async function onGitLab(hasBranch = false): Promise<Given> {
  const { bare, branch, head } = hasBranch ? await pushedBranch() : NO_BRANCH;
  const gitlab = await fakeGitLab({ bare });
  gitlab.issue({ iid: 42 });
  const apiUrl = `${gitlab.url}/api/v4`;
  const repository = connect('acme/tools/widget', { host: 'gitlab', apiUrl, token: GITLAB_TOKEN });
  const states = { pending: 'running', passed: 'success', failed: 'failed' };
  return {
    server: gitlab,
    tracker: createGitLabTracker(repository),
    forge: createGitLabForge(repository),
    branch,
    head,
    strangers: (body) => void gitlab.note(42, body, EVE),
    labels: () => gitlab.issues.get(42)?.labels ?? [],
    fork: () => void gitlab.merge({ iid: 60, source_branch: branch, source_project_id: 99 }),
    archive: () => void (gitlab.archived = true),
    report: (name, state) => void gitlab.statuses.push({ sha: head, name, status: states[state] }),
    evidence: () =>
      gitlab.statuses
        .filter(({ name }) => name.startsWith('agentos'))
        .map(({ sha, status, name }) => [sha, status, name]),
    review() {
      const position = { new_path: 'src/x.js', new_line: 3 };
      const at = '2026-03-02T10:00:00Z';
      gitlab.discussions.push({
        id: 'd1',
        notes: [
          { id: 2, body: 'Why?', author: OLIVIA, created_at: at, position },
          { id: 3, body: '+1', author: EVE, created_at: at, position },
        ],
      });
    },
  };
}

const ITEM = parseItemId('42');
const MARKER = '<!-- agentos:item 42 -->';

for (const [name, open] of [
  ['GitHub', onGitHub],
  ['GitLab', onGitLab],
] as const) {
  describe(`what is written to ${name}`, () => {
    test('a comment of our own is found by its marker, edited, and missed when it is gone', async () => {
      const { tracker, strangers } = await open();
      strangers(`${MARKER}\nnot ours`);
      expect(await tracker.findComment(ITEM, MARKER)).toBeNull();
      const made = await tracker.addComment(ITEM, `${MARKER}\nours`);
      expect(await tracker.findComment(ITEM, MARKER)).toEqual(made);
      expect(await tracker.editComment(ITEM, made.id, `${MARKER}\nedited`)).toBe(true);
      expect(await tracker.editComment(ITEM, '999999', 'x')).toBe(false);
      await tracker.markRead(ITEM, made.id);
    });

    test('an issue has one state label at a time, and keeps its own', async () => {
      const { tracker, labels } = await open();
      await tracker.setState(ITEM, 'agentos:designing');
      await tracker.setState(ITEM, 'agentos:waiting');
      expect(labels()).toEqual(['agentos', 'agentos:waiting']);
      await tracker.setState(ITEM, null);
      expect(labels()).toEqual(['agentos']);
    });

    test('an issue that was created is found by the marker in its text', async () => {
      const { tracker } = await open();
      expect(await tracker.findIssue('<!-- agentos:brief x -->')).toBeNull();
      const made = await tracker.createIssue({ title: 'A clock', body: 'Words.\n<!-- agentos:brief x -->' });
      expect(await tracker.findIssue('<!-- agentos:brief x -->')).toEqual(made);
      expect((await tracker.existing()).map(({ title }) => title)).toContain('A clock');
    });

    test('a pull request is opened as a draft, made ready, and a fork’s is not taken for it', async () => {
      const { forge, branch, head, fork, server, review } = await open(true);
      expect([await forge.defaultBranch(), await forge.branchHead(branch), await forge.branchHead('none')]).toEqual([
        'main',
        head,
        null,
      ]);
      fork();
      expect(await forge.pullRequestsOf(branch)).toEqual([]);
      const request = { branch, base: 'main', title: 'Add a number', body: 'Words', isDraft: true };
      server.fail('POST', /\/(?:pulls|merge_requests)$/, { status: 502, body: {} });
      await expect(forge.open(request)).rejects.toMatchObject({ problem: { code: 'host-uncertain' } });
      const made = await forge.open(request);
      expect(made).toMatchObject({ state: 'open', isDraft: true, branch, head, base: 'main', isOwn: true });
      await expect(forge.open(request)).rejects.toMatchObject({ problem: { code: 'host-refused' } });
      await forge.makeReady(made.number);
      expect(await forge.pullRequestsOf(branch)).toMatchObject([{ number: made.number, isDraft: false }]);
      expect(
        (await forge.openPullRequests()).map(({ isOwn }) => isOwn).toSorted((a, b) => Number(a) - Number(b)),
      ).toEqual([false, true]);
      expect(await forge.reviews(made.number)).toEqual([]);
      review();
      const said = await forge.reviews(made.number);
      const lines = said.flatMap(({ line, ...one }) => (line === null ? [] : [{ ...one, ...line }]));
      expect(lines).toMatchObject([
        { path: 'src/x.js', line: 3, body: 'Why?', isTrusted: true, isResolved: false },
        { path: 'src/x.js', line: 3, body: '+1', isTrusted: false },
      ]);
      expect(lines[0]?.thread).toBe(lines[1]?.thread);
      // An answer is found by its marker, in its thread and on the whole.
      for (const thread of [lines[0]?.thread ?? '', null]) {
        const marker = answerMarker('key', thread, ['2']);
        expect(await forge.findReply(made.number, thread, marker)).toBeNull();
        const answer = await forge.reply(made.number, thread, `${marker}\n\nDone.`);
        expect(await forge.findReply(made.number, thread, marker)).toMatchObject({ id: answer.id });
      }
      const answered = (await forge.reviews(made.number)).filter(({ isOwn }) => isOwn);
      expect(answered.map(({ thread }) => thread)).toContain(lines[0]?.thread);
      const mark = await forge.poll();
      const asked = server.requests.length;
      expect(await forge.poll()).toBe(mark);
      expect(server.requests.length - asked).toBe(name === 'GitHub' ? 1 : 3);
      if (name === 'GitHub') expect(said[0]).toMatchObject({ isApproval: false, body: 'Not yet', line: null });
    });

    test('checks are those of CI, without the evidence', async () => {
      const { forge, head, report, evidence } = await open(true);
      await forge.setEvidence(head, { passed: true, summary: 'holds: red', details: '', url: 'https://example.org' });
      expect(evidence()).toEqual([[head, 'success', 'agentos / evidence']]);
      report('build', 'failed');
      report('lint', 'pending');
      expect(
        (await forge.checks(head, 'main'))
          .map(({ name: check, state }) => `${check} ${state}`)
          .toSorted((a, b) => a.localeCompare(b)),
      ).toEqual(['build failed', 'lint pending']);
    });

    test('the end of a failed job’s log is fetched with the token, but from where it is stored without it', async () => {
      const { forge, server } = await open();
      const job = name === 'GitHub' ? 'https://github.com/x/actions/runs/1/job/7' : 'https://gitlab.com/x/-/jobs/7';
      const log = (url: string | null) =>
        forge.failureLog({ name: 'build', state: 'failed', isRequired: true, url, output: 'its summary' });
      // There is no job, or no log of it.
      for (const url of [null, 'https://ci.example.org/7', job]) expect(await log(url)).toBe('its summary');
      const stored = (location: string): void =>
        server.fail('GET', /\/jobs\/7\//, { status: 302, headers: { location }, body: {} });
      stored('/stored');
      server.fail('GET', /^\/stored$/, { body: `first${'.'.repeat(5_000_000)}last` });
      expect(await log(job)).toMatch(/^[^f]+last"$/);
      expect(server.requests.slice(-2).map(({ headers }) => headers['authorization'] !== undefined)).toEqual([
        true,
        false,
      ]);
      // Another host is reached over https only.
      stored('http://127.0.0.2:9/stored');
      await expect(log(job)).rejects.toMatchObject({
        problem: { code: 'host-unreachable', detail: '127.0.0.2:9 is not reached over https' },
      });
    });

    test('an archived repository is refused by name', async () => {
      const { forge, tracker, archive } = await open();
      archive();
      for (const place of [forge, tracker])
        await expect(place.requireWrite()).rejects.toMatchObject({ problem: { code: 'host-archived' } });
    });
  });
}

test('required checks that have not reported yet are pending on GitHub', async () => {
  const { forge, head } = await onGitHub(true);
  expect(await forge.checks(head, 'main')).toEqual([
    { name: 'build', state: 'pending', isRequired: true, url: null, output: '' },
  ]);
});

test('all checks of a commit are read, however many there are', async () => {
  const { forge, head, report } = await onGitHub(true);
  for (let number = 1; number <= 250; number++) report(`job ${number}`, 'passed');
  expect(await forge.checks(head, 'main')).toHaveLength(251);
});

test('two hundred open pull requests are three requests on GitHub, and as many when nothing changed', async () => {
  const github = await fakeGitHub();
  for (let number = 1; number <= 201; number++) github.pull({ number });
  const forge = createGitHubForge(onGitHubAt(github.url));
  expect(await forge.openPullRequests()).toHaveLength(201);
  const asked = github.requests.length;
  const mark = await forge.poll();
  expect([github.requests.length - asked, await forge.poll()]).toEqual([3, mark]);
  github.checkRuns.push({ head_sha: '0'.repeat(40), name: 'build', status: 'completed', conclusion: 'failure' });
  expect(await forge.poll()).not.toBe(mark);
});

test('a GitHub App signs for its token, renews it early, and reports a check run', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = join(await testFolder(), 'app.pem');
  await writeFile(keyFile, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  let lifeMs = 3_600_000;
  const server = await startHost(() => {
    const expires_at = new Date(Date.now() + lifeMs).toISOString();
    return { status: 201, body: { token: `ghs_${server.requests.length}`, expires_at } };
  });
  const app = { id: '7', installation: '9', keyFile };
  const token = createAppToken(app, server.url);
  expect([(await token()).reveal(), (await token()).reveal()]).toEqual(['ghs_1', 'ghs_1']);
  const [asked] = server.requests;
  expect(asked?.path).toBe('/app/installations/9/access_tokens');
  const jwt = asked?.headers['authorization']?.replace('Bearer ', '') ?? '';
  const [head = '', claims = '', signature = ''] = jwt.split('.');
  expect(verify('RSA-SHA256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))).toBe(
    true,
  );
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))).toMatchObject({ iss: '7' });

  lifeMs = 60_000;
  const short = createAppToken(app, server.url);
  expect([(await short()).reveal(), (await short()).reveal()]).toEqual(['ghs_2', 'ghs_3']);
  const broken = createAppToken({ ...app, keyFile: '/nonexistent' }, server.url);
  await expect(broken()).rejects.toMatchObject({ problem: { code: 'host-token-unusable' } });

  const github = await fakeGitHub();
  const forge = createGitHubForge(onGitHubAt(github.url, true));
  await forge.setEvidence('a'.repeat(40), {
    passed: false,
    summary: 'fails: red',
    details: '| Gate |',
    url: 'https://example.org',
  });
  expect(github.checkRuns).toMatchObject([
    { name: 'agentos / evidence', conclusion: 'failure', output: { title: 'fails: red' } },
  ]);
});
