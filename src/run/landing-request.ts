import { parseItemId } from '../core/ids.ts';
import type { Landing } from '../core/landing.ts';
import { landingBody } from '../documents/post/landing.ts';
import { createGit } from '../git/git.ts';
import { pushBranch } from '../git/push.ts';
import { postOnce } from './post-once.ts';
import { type Opened, openedFor, type Pushed, STEPS } from './posts.ts';
import type { Project } from './project.ts';
import { headerFor, newestOf, openDraft, openedOf, REMOTE } from './pull-request.ts';

/** A branch that was made of several, and what became of each of them. */
export interface LandedRequest {
  landing: Landing;
  branch: string;
  /** By the id of its item; null: it is in. */
  out: ReadonlyMap<string, string | null>;
}

interface LandingOptions {
  project: Project;
  /** Of the landing. */
  id: string;
  landed: LandedRequest;
  onNotice: (text: string) => void;
  signal: AbortSignal;
}

/** Pushes the branch of a landing and opens a pull request that closes what is on it, unless that was done. */
export async function openLandingRequest({ project, id, landed, onNotice, signal }: LandingOptions): Promise<string> {
  const { paths, childEnv: env, hosts, config, source, mask } = project;
  const { landing, branch, out } = landed;
  const git = createGit(paths.repository, env);
  const forge = await hosts.forge();
  const commit = await git.text(['rev-parse', `refs/heads/${branch}`]);
  const posts = `land-${id}` as const;
  await postOnce<Pushed>(
    paths,
    posts,
    { name: STEPS.pushed, inputs: { branch, commit } },
    {
      lookUp: async () => null,
      async post() {
        const header = await headerFor(forge, git);
        await pushBranch(git, { remote: REMOTE, branch, commit, before: null, header, env, signal });
        return { branch, commit };
      },
    },
  );
  const isRemote = config.remote.source !== null;
  const parts = landing.branches.map((one) => ({
    id: one.id,
    title: one.title,
    reason: out.get(one.id) ?? null,
    closing: isRemote ? forge.closing(source.location, parseItemId(one.id)) : null,
    request: openedFor(project, parseItemId(one.id))?.url ?? null,
  }));
  const ids = parts.filter(({ reason }) => reason === null).map((one) => one.id);
  const base = (await forge.branchHead(landing.onto)) === null ? await forge.defaultBranch() : landing.onto;
  const opened = await postOnce<Opened>(
    paths,
    posts,
    { name: STEPS.opened, inputs: { branch } },
    {
      lookUp: async () => newestOf(await forge.pullRequestsOf(branch)),
      post: async () => {
        const text = { title: mask(`Land ${ids.join(', ')}`.slice(0, 200)), body: mask(landingBody(parts)) };
        const isDraft = config.remote.pr.ready === 'never';
        return openedOf(await openDraft(forge, { branch, base, ...text, isDraft }, onNotice));
      },
    },
  );
  onNotice(`pull request ${opened.url}`);
  return opened.url;
}
