import { realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { AgentosError, codeOf, usageError } from '../core/errors.ts';
import { createGit, type Git, type GitObject } from './git.ts';

/** The root of the work tree around a directory. With `mayBeBare`, also the folder of a bare repository. */
export async function findRepository(
  directory: string,
  env: Record<string, string>,
  mayBeBare = false,
): Promise<string> {
  let start: string;
  try {
    start = await realpath(directory);
  } catch (error) {
    throw new AgentosError({ code: 'repository-missing', directory }, { cause: error });
  }
  if (!(await stat(start)).isDirectory()) throw new AgentosError({ code: 'repository-missing', directory: start });
  try {
    const { top, gitDir } = await placesOf(start, env);
    // `core.worktree` of a copied folder could name any other folder as its files.
    const isOwn = gitDir === join(top, '.git') || gitDir === (await placesOf(top, env).catch(() => null))?.gitDir;
    if (isOwn) return top;
    const reason = `The repository at ${start} says that its files are in ${top}, which has no .git of its own.`;
    throw usageError(reason, 'Remove the setting core.worktree: agentos does not follow it.');
  } catch (error) {
    if (codeOf(error) !== 'git-failed' || !isNoRepository(error)) throw error;
    const bare = mayBeBare ? await createGit(start, env).answer(['rev-parse', '--absolute-git-dir']) : null;
    if (bare !== null) return await realpath(bare);
    throw new AgentosError({ code: 'repository-missing', directory: start }, { cause: error });
  }
}

/** The top of the work tree, and git's own folder for it. */
async function placesOf(directory: string, env: Record<string, string>): Promise<{ top: string; gitDir: string }> {
  const text = await createGit(directory, env).text(['rev-parse', '--show-toplevel', '--absolute-git-dir']);
  const end = text.lastIndexOf('\n/');
  return { top: await realpath(text.slice(0, end)), gitDir: await realpath(text.slice(end + 1)) };
}

// Git's exit code 128 means "not a repository", but also a repository that it refuses because of its owner.
function isNoRepository(error: unknown): boolean {
  if (!(error instanceof AgentosError) || error.problem.code !== 'git-failed') return false;
  return error.problem.exitCode === 128 && !error.problem.detail.includes('dubious ownership');
}

/** The user's checkout. */
export interface Checkout {
  /** The branch, or the commit of a detached HEAD. */
  name: string;
  /** A branch of a repository that has a remote. */
  canPush: boolean;
}

export async function checkoutOf(git: Git): Promise<Checkout> {
  const branch = await git.answer(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  if (branch === null) return { name: (await headCommit(git)).slice(0, 12), canPush: false };
  return { name: branch, canPush: (await git.text(['remote'])) !== '' };
}

/** The repository at one commit. Uncommitted changes are never read. */
export interface BaseCommit {
  commit: string;
  /** Every tracked file, in git's order. */
  paths: string[];
  kindOf(path: string): 'file' | 'directory' | null;
  /** Size in bytes, or null for what is not a plain file (a submodule, a symbolic link). */
  sizeOf(path: string): number | null;
  /** Of its content: the id of the blob; null where there is no such file. */
  idOf(path: string): string | null;
  read(path: string): Promise<Buffer>;
}

/** The commit that designs are made for. */
export async function headCommit(git: Git): Promise<string> {
  const commit = await git.answer(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (commit === null) throw new AgentosError({ code: 'repository-empty', directory: git.directory });
  return commit;
}

/** Reads names and texts of a commit on demand; empty if they don't exist. */
export function commitFiles(
  git: Git,
  commit: string,
): { names(folder: string): Promise<readonly string[]>; read(path: string): Promise<string> } {
  return {
    async names(folder) {
      const tree = await git.object(`${commit}:${folder}`);
      return tree?.type === 'tree' ? namesIn(tree) : [];
    },
    read: async (path) => (await readAt(git, [{ ref: commit, path }]))[0] ?? '',
  };
}

/** A tree is a list of `<mode> <name>\0<id>`, the id in bytes. */
function namesIn({ id, content }: GitObject): string[] {
  const names: string[] = [];
  for (let at = 0; at < content.length; ) {
    const end = content.indexOf(0, at);
    names.push(content.toString('utf8', content.indexOf(' ', at) + 1, end));
    at = end + 1 + id.length / 2;
  }
  return names;
}

export async function openCommit(git: Git, commit: string): Promise<BaseCommit> {
  const listing = (await git.run(['ls-tree', '-r', '-l', '-z', '--full-tree', commit])).toString('utf8');
  const sizes = new Map<string, number | null>();
  const ids = new Map<string, string>();
  const directories = new Set<string>();
  for (const entry of listing.split('\0')) {
    const match = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)$/s.exec(entry);
    if (!match) continue;
    const [, mode, id = '', size, path = ''] = match;
    ids.set(path, id);
    sizes.set(path, mode?.startsWith('100') ? Number(size) : null);
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) directories.add(path.slice(0, at));
  }
  return {
    commit,
    paths: [...sizes.keys()],
    kindOf: (path) => (sizes.has(path) ? 'file' : directories.has(path.replace(/\/+$/, '')) ? 'directory' : null),
    sizeOf: (path) => sizes.get(path) ?? null,
    idOf: (path) => ids.get(path) ?? null,
    async read(path) {
      const object = await git.object(`${commit}:${path}`);
      if (object?.type === 'blob') return object.content;
      throw new AgentosError({
        code: 'git-failed',
        command: `git cat-file blob ${commit}:${path}`,
        exitCode: null,
        detail: 'there is no such file',
      });
    },
  };
}

/** The text of files at commits or in trees; null for one that does not exist. */
export function readAt(git: Git, wanted: readonly { ref: string; path: string }[]): Promise<(string | null)[]> {
  return Promise.all(
    wanted.map(async ({ ref, path }) => {
      const object = await git.object(`${ref}:${path}`);
      return object?.type === 'blob' ? object.content.toString('utf8') : null;
    }),
  );
}

/** To be called before anything is paid for: nothing can be committed without a name and an address. */
export async function requireIdentity(git: Git): Promise<void> {
  const known = ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((who) => git.run(['var', who]));
  await Promise.all(known).catch((error: unknown) => {
    if (!(error instanceof AgentosError) || error.problem.code !== 'git-failed') throw error;
    throw new AgentosError({ code: 'git-identity-missing', detail: error.problem.detail }, { cause: error });
  });
}

/** The user, named like the author of a commit; without a git identity, the user of the operating system. */
export async function personOf(git: Git): Promise<string> {
  // Never guessed from the machine's name. Asked separately, because git prints no identity that lacks one of the two.
  const own = ['-c', 'user.useConfigOnly=true'];
  const name = (await authorOf(git, [...own, '-c', 'user.email=x']))?.name ?? '';
  const email = (await authorOf(git, [...own, '-c', 'user.name=x']))?.email ?? '';
  const named = [name, email === '' ? '' : `<${email}>`].filter((part) => part !== '').join(' ');
  return named === '' ? userName() : named;
}

/** The author of commits; null: git knows none. */
export async function authorOf(
  git: Git,
  settings: readonly string[] = [],
): Promise<{ name: string; email: string } | null> {
  const ident = await git.answer([...settings, 'var', 'GIT_AUTHOR_IDENT']);
  const [, name, email] = /^(.*?) ?<([^>]*)> \d+ [-+]\d+$/.exec(ident ?? '') ?? [];
  return name === undefined || email === undefined ? null : { name, email };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number without a name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
