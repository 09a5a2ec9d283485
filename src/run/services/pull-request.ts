import { relative } from 'node:path';
import { codeOf } from '../../core/errors.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import type { LandedBranch, Landing } from '../../core/landing.ts';
import type { ItemState } from '../../core/run-state.ts';
import { wordingOf } from '../../core/wording.ts';
import { readHeader } from '../../documents/header.ts';
import { designFacts } from '../../documents/lld/document.ts';
import type { Forge, NewPullRequest, PullRequest } from '../../forge/port.ts';
import { closingWords, landingBody, pullRequestBody, pullRequestTitle } from '../../forge/texts.ts';
import { isAncestor } from '../../git/branches.ts';
import { checkoutOf, readAt } from '../../git/repository.ts';
import { reportedGates } from '../../verification/report.ts';
import { readLldFile } from '../../workflow/approved-documents.ts';
import { implementationsOf } from '../../workflow/implementations.ts';
import type { Project } from '../project.ts';
import { type Opened, openedFor, type Posting, type Pushed, postOnce, pushedFor, pushOnce } from './posts.ts';

/** Pushes the branch of an implementation and opens its pull request, unless that was done before. Null: there is no such branch. */
export async function openPullRequest(posting: Posting): Promise<(Opened & { lldUrl: string }) | null> {
  const { project, id } = posting;
  const { paths, git, hosts, config } = project;
  const found = await finishedBranch(project, id);
  if (found === null) return null;
  const { branch, commit } = found;
  const forge = await hosts.forge();
  await pushUnlessNewer(posting, forge, found);
  const { lldUrl, report, ...text } = await textsOf(project, forge, id, branch);
  const { name } = await checkoutOf(git);
  const isDraft = config.remote.pr.ready !== 'at-once';
  const opened = await openOnce(posting, id, forge, name, { branch, ...text, isDraft });
  // The following steps are idempotent.
  if (opened.commit !== commit)
    await postOnce(paths, id, { name: 'pull-request-text', inputs: { commit } }, () =>
      forge.rewrite(opened.number, text),
    );
  const evidence = { ...reportedGates(report), url: opened.url };
  await postOnce(paths, id, { name: 'evidence', inputs: { commit } }, () => forge.setEvidence(commit, evidence));
  if (config.remote.pr.ready === 'green' && evidence.passed) await makeReadyIfGreen(posting, forge, opened);
  return { ...opened, lldUrl };
}

/** Pushes the branch of a landing and opens a pull request that closes its issues, unless that was done before. */
export async function openLandingRequest(
  posting: Posting,
  landing: Landing,
  branch: string,
  known: ItemState['parts'] | undefined,
): Promise<string> {
  const { project, id } = posting;
  const { git, hosts, config, source, mask } = project;
  const forge = await hosts.forge();
  const commit = await git.text(['rev-parse', `refs/heads/${branch}`]);
  const name = `land-${id}`;
  await pushOnce(posting, name, forge, { branch, commit });
  const parts = landing.branches.map((one) => ({
    id: one.id,
    title: one.title,
    reason: whyOut(known?.get(one.id)?.landed ?? null),
    closing: closingWords(forge.location, source.location, parseItemId(one.id)),
    request: openedFor(project, parseItemId(one.id))?.url ?? null,
  }));
  const ids = parts.filter(({ reason }) => reason === null).map((one) => one.id);
  const title = mask(`Land ${ids.join(', ')}`.slice(0, 200));
  const text = { title, body: mask(landingBody(parts)), isDraft: config.remote.pr.ready === 'never' };
  return (await openOnce(posting, name, forge, landing.onto, { branch, ...text })).url;
}

/** Null: it is in, or nothing was said about it. */
function whyOut(landed: LandedBranch | null): string | null {
  if (landed === null || landed.status === 'succeeded') return null;
  return landed.error === null ? (landed.reason ?? landed.status) : wordingOf(landed.error.problem).message;
}

/**
 * Opens no second pull request for a branch, even if the first one was merged or closed. `onto`: the branch to merge into, if the service
 * has it; else its default branch.
 */
async function openOnce(
  { project, say }: Posting,
  name: string,
  forge: Forge,
  onto: string,
  request: Omit<NewPullRequest, 'base'>,
): Promise<Opened> {
  const { branch } = request;
  const asOpened = ({ number, url, head }: PullRequest): Opened => ({ number, url, branch, commit: head });
  const opened = await postOnce<Opened>(
    project.paths,
    name,
    { name: 'pull-request', inputs: { branch } },
    async () => {
      const base = (await forge.branchHead(onto)) === null ? await forge.defaultBranch() : onto;
      return asOpened(await openDraft(forge, { ...request, base }, say));
    },
    async () => {
      const own = await forge.pullRequestsOf(branch);
      const found = own.find(({ state }) => state !== 'closed') ?? own[0];
      return found === undefined ? null : asOpened(found);
    },
  );
  say(`pull request ${opened.url}`);
  return opened;
}

/** A branch that was pushed before belongs to its reviewers too: what they added is not overwritten. */
async function pushUnlessNewer(posting: Posting, forge: Forge, { branch, commit }: Pushed): Promise<void> {
  const { project, id } = posting;
  const last = pushedFor(project, id);
  const before = last?.branch === branch ? last.commit : null;
  // A reaction may have pushed commits on top of it since.
  if (before === commit || (before !== null && (await isAncestor(project.git, commit, before)))) return;
  await pushOnce(posting, id, forge, { branch, commit }, before);
}

/** The local branch that implements the approved design. */
async function finishedBranch(project: Project, id: ItemId): Promise<Pushed | null> {
  const lld = await readLldFile(project.paths.lld(id));
  const all = (await implementationsOf(project, [id])).get(id) ?? [];
  const own = all.findLast(({ ref, lldHash }) => ref.startsWith('refs/heads/') && lldHash === lld?.header.bodyHash);
  if (own === undefined) return null;
  return { branch: own.ref.slice('refs/heads/'.length), commit: await project.git.text(['rev-parse', own.ref]) };
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

/** The text of the pull request, and the documents as they are on the branch, because that is what a reviewer sees. */
async function textsOf(project: Project, forge: Forge, id: ItemId, branch: string) {
  const { paths, git, source, mask } = project;
  const ref = `refs/heads/${branch}`;
  const found = await readAt(
    git,
    [paths.report(id), ...TEMPLATES].map((path) => ({ ref, path })),
  );
  const report = found[0] ?? '';
  const lldPath = readHeader(report).header.lld ?? relative(paths.repository, paths.lld(id));
  const lld = (await readAt(git, [{ ref, path: lldPath }]))[0] ?? '';
  const issue = await project.issueCache.lastKnown.read(id).catch(() => null);
  const lldUrl = await forge.fileUrl(branch, lldPath);
  const body = pullRequestBody({
    id,
    closing: closingWords(forge.location, source.location, id),
    issueUrl: issue?.facts?.url ?? null,
    lld,
    report,
    lldUrl,
    reportUrl: await forge.fileUrl(branch, paths.report(id)),
    place: project.placeFlags,
    template: found.slice(1).find((text) => text !== null) ?? null,
  });
  return { title: mask(pullRequestTitle(id, designFacts(lld).title)), body: mask(body), lldUrl, report };
}

/** Some repositories refuse drafts, but not with an error of its own kind. */
async function openDraft(forge: Forge, request: NewPullRequest, say: Posting['say']): Promise<PullRequest> {
  try {
    return await forge.open(request);
  } catch (error) {
    if (!request.isDraft || codeOf(error) !== 'host-refused') throw error;
    const made = await forge.open({ ...request, isDraft: false }).catch(() => null);
    if (made === null) throw error;
    say('the repository takes no drafts: the pull request is an ordinary one');
    return made;
  }
}

/** With one of these, a repository has CI, whose checks may not have reported yet. */
const CI_FILES = [
  '.github/workflows',
  '.gitlab-ci.yml',
  '.circleci',
  '.travis.yml',
  'azure-pipelines.yml',
  'Jenkinsfile',
];

/** Makes a draft ready when its checks have passed. With CI, having no checks is not a pass. */
async function makeReadyIfGreen({ project, id, say }: Posting, forge: Forge, opened: Opened): Promise<void> {
  const request = await forge.pullRequest(opened.number);
  const { number, state } = request;
  const isReady = state !== 'open' || !request.isDraft;
  if (!isReady) {
    const checks = await forge.checks(request.head, request.base);
    const waiting = checks.filter((check) => check.state !== 'passed').map((check) => `${check.name} (${check.state})`);
    if (waiting.length > 0) return say(`the pull request stays a draft: ${waiting.join(', ')}`);
    const ci = ['ls-tree', '--name-only', request.head, '--', ...CI_FILES];
    const hasCi = checks.length === 0 && (await project.git.text(ci).catch(() => '')) !== '';
    if (hasCi) return say('the pull request stays a draft until its checks have reported');
  }
  await postOnce(project.paths, id, { name: 'ready', inputs: { number } }, async () => {
    if (!isReady) await forge.makeReady(number);
    return { state };
  });
  if (!isReady) say('the pull request is ready for review');
}
