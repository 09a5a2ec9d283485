import { relative } from 'node:path';
import { AgentosError, codeOf } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { readHeader } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { evidenceOf, pullRequestBody, pullRequestTitle } from '../documents/post/pull-request.ts';
import type { Forge, NewPullRequest, PullRequest } from '../forge/port.ts';
import { createGit, type Git } from '../git/git.ts';
import { pushBranch, pushUrl } from '../git/push.ts';
import { checkoutOf, readAt } from '../git/repository.ts';
import { readLldFile } from '../workflow/approved-lld.ts';
import { implementationsOf } from '../workflow/implementations.ts';
import { postOnce } from './post-once.ts';
import { type Opened, type Pushed, pushedFor, STEPS } from './posts.ts';
import type { Project } from './project.ts';

const REMOTE = 'origin';

interface PullRequestOptions {
  project: Project;
  id: ItemId;
  /** Flags that say where, for commands to copy. */
  place: readonly string[];
  onNotice: (text: string) => void;
  signal: AbortSignal;
}

interface OpenedRequest extends Opened {
  lldUrl: string;
}

/** Pushes the branch of an implementation and opens its pull request, unless that was done. Null: there is no such branch here. */
export async function openPullRequest(options: PullRequestOptions): Promise<OpenedRequest | null> {
  const { project, id, onNotice } = options;
  const { paths, childEnv, hosts, config } = project;
  const git = createGit(paths.repository, childEnv);
  const found = await finishedBranch(project, git, id);
  if (found === null) return null;
  const { branch, commit } = found;
  const forge = await hosts.forge();
  await push(options, git, forge, found);
  const texts = await textsOf(project, git, id, branch);
  const requestTo = (base: string): Promise<NewPullRequest> => requestFor(options, forge, { branch, base, ...texts });
  const key = { name: STEPS.opened, inputs: { branch } };
  const opened = await postOnce<Opened>(paths, id, key, {
    lookUp: async () => newest(await forge.pullRequestsOf(branch)),
    post: async () => openedOf(await openDraft(forge, await requestTo(await baseBranch(forge, git)), onNotice)),
  });
  onNotice(`pull request ${opened.url}`);
  // What follows is the same however often it is done.
  const again = async (name: string, post: () => Promise<void>): Promise<void> => {
    const done = { commit };
    await postOnce(
      paths,
      id,
      { name, inputs: done },
      { lookUp: async () => null, post: () => post().then(() => done) },
    );
  };
  if (opened.commit !== commit) {
    const text = await requestTo('');
    await again(STEPS.text, () => forge.rewrite(opened.number, text));
  }
  const evidence = { ...evidenceOf(texts.report), url: opened.url };
  await again(STEPS.evidence, () => forge.setEvidence(commit, evidence));
  if (config.remote.pr.ready === 'green' && evidence.passed) await makeReadyIfGreen(options, forge, opened);
  return { ...opened, lldUrl: forge.fileUrl(branch, texts.lldPath) };
}

/** Once it is pushed the branch is its reviewers' too: whatever they added to it is theirs, and nothing is pushed again. */
async function push(
  { project, id, signal }: PullRequestOptions,
  git: Git,
  forge: Forge,
  { branch, commit }: Pushed,
): Promise<void> {
  const { paths, childEnv: env } = project;
  const last = pushedFor(project, id);
  const before = last?.branch === branch ? last.commit : null;
  if (before === commit) return;
  const key = { name: STEPS.pushed, inputs: { branch, commit } };
  await postOnce<Pushed>(paths, id, key, {
    lookUp: async () => null,
    async post() {
      const header = await headerFor(forge, git);
      await pushBranch(git, { remote: REMOTE, branch, commit, before, header, env, signal });
      return { branch, commit };
    },
  });
}

/** The branch here that implements the approved design. */
async function finishedBranch({ paths }: Project, git: Git, id: ItemId): Promise<Pushed | null> {
  const lld = await readLldFile(paths.lld(id));
  const all = (await implementationsOf(git, paths, [id])).get(id) ?? [];
  const own = all.findLast(({ ref, lldHash }) => ref.startsWith('refs/heads/') && lldHash === lld?.header.bodyHash);
  if (own === undefined) return null;
  return { branch: own.ref.slice('refs/heads/'.length), commit: await git.text(['rev-parse', own.ref]) };
}

/** The token, where git speaks HTTP with the service that it belongs to; ssh and folders have credentials of their own. */
async function headerFor(forge: Forge, git: Git): Promise<{ url: string; header: string } | null> {
  const url = await pushUrl(git, REMOTE);
  if (url === null) {
    const hint = 'Add the repository that branches go to: git remote add origin <url>';
    throw new AgentosError({ code: 'usage', reason: 'There is no remote origin to push to.', hint });
  }
  if (!/^https?:/.test(url)) return null;
  const header = await forge.gitHeader();
  return header !== null && URL.parse(url)?.host === new URL(header.url).host ? header : null;
}

/** A merged one answers the branch for good; one that a person closed is not opened again either. */
function newest(requests: readonly PullRequest[]): Opened | null {
  const own = requests.filter(({ isOwn }) => isOwn);
  const found = own.find(({ state }) => state !== 'closed') ?? own[0];
  return found === undefined ? null : openedOf(found);
}

function openedOf({ number, url, branch, head }: PullRequest): Opened {
  return { number, url, branch, commit: head };
}

/** What the checkout is on, where the service has that branch too. */
async function baseBranch(forge: Forge, git: Git): Promise<string> {
  const { name } = await checkoutOf(git);
  const usual = await forge.defaultBranch();
  return name === usual || (await forge.branchHead(name)) === null ? usual : name;
}

interface BranchTexts {
  lld: string;
  lldPath: string;
  report: string;
  template: string | null;
}

const TEMPLATES = [
  '.github/pull_request_template.md',
  '.github/PULL_REQUEST_TEMPLATE.md',
  'pull_request_template.md',
  'PULL_REQUEST_TEMPLATE.md',
  'docs/pull_request_template.md',
  'docs/PULL_REQUEST_TEMPLATE.md',
  '.gitlab/merge_request_templates/Default.md',
];

/** As the branch has them: what a reviewer sees is what is summed up. */
async function textsOf({ paths }: Project, git: Git, id: ItemId, branch: string): Promise<BranchTexts> {
  const ref = `refs/heads/${branch}`;
  const [report = null, ...templates] = await readAt(git, [
    { ref, path: paths.report(id) },
    ...TEMPLATES.map((path) => ({ ref, path })),
  ]);
  const lldPath = readHeader(report ?? '').header.lld ?? relative(paths.repository, paths.lld(id));
  const [lld = null] = await readAt(git, [{ ref, path: lldPath }]);
  return { lld: lld ?? '', lldPath, report: report ?? '', template: templates.find((text) => text !== null) ?? null };
}

async function requestFor(
  { project, id, place }: PullRequestOptions,
  forge: Forge,
  { branch, base, lld, lldPath, report, template }: BranchTexts & { branch: string; base: string },
): Promise<NewPullRequest> {
  const { paths, source, config, mask } = project;
  const isRemote = config.remote.source !== null;
  const issue = isRemote ? await project.kept.lastKnown.read(id).catch(() => null) : null;
  const body = pullRequestBody({
    id,
    closing: isRemote ? forge.closing(source.location, id) : null,
    issueUrl: issue?.facts?.url ?? null,
    lld,
    report,
    lldUrl: forge.fileUrl(branch, lldPath),
    reportUrl: forge.fileUrl(branch, paths.report(id)),
    place,
    template,
  });
  const title = pullRequestTitle(id, designFacts(lld).title);
  return { branch, base, title: mask(title), body: mask(body), isDraft: config.remote.pr.ready !== 'at-once' };
}

/** Some repositories take no drafts, and don't say so in a form that could be told. */
async function openDraft(
  forge: Forge,
  request: NewPullRequest,
  onNotice: (text: string) => void,
): Promise<PullRequest> {
  try {
    return await forge.open(request);
  } catch (error) {
    if (!request.isDraft || codeOf(error) !== 'host-refused') throw error;
    const made = await forge.open({ ...request, isDraft: false }).catch(() => null);
    if (made === null) throw error;
    onNotice('the repository takes no drafts: the pull request is an ordinary one');
    return made;
  }
}

/** Files by which a repository has checks that may not have reported yet. */
const CI_FILES = [
  '.github/workflows',
  '.gitlab-ci.yml',
  '.circleci',
  '.travis.yml',
  'azure-pipelines.yml',
  'Jenkinsfile',
];

/** Makes a draft ready when its checks have passed. No check at all is no pass where there is CI. */
async function makeReadyIfGreen(
  { project, id, onNotice }: PullRequestOptions,
  forge: Forge,
  opened: Opened,
): Promise<void> {
  const { paths, childEnv } = project;
  const request = await forge.pullRequest(opened.number);
  const settle = async (post: () => Promise<void>): Promise<void> => {
    const { number, state } = request;
    await postOnce(
      paths,
      id,
      { name: STEPS.ready, inputs: { number } },
      {
        lookUp: async () => (request.isDraft && state === 'open' ? null : { state }),
        post: async () => {
          await post();
          return { state };
        },
      },
    );
  };
  if (request.state !== 'open' || !request.isDraft) return settle(async () => undefined);
  const checks = await forge.checks(request.head, request.base);
  const waiting = checks.filter(({ state }) => state !== 'passed').map(({ name, state }) => `${name} (${state})`);
  const git = createGit(paths.repository, childEnv);
  const hasCi = (await git.text(['ls-tree', '--name-only', request.head, '--', ...CI_FILES]).catch(() => '')) !== '';
  if (waiting.length > 0) return onNotice(`the pull request stays a draft: ${waiting.join(', ')}`);
  if (checks.length === 0 && hasCi) return onNotice('the pull request stays a draft until its checks have reported');
  await settle(() => forge.makeReady(request));
  onNotice('the pull request is ready for review');
}
