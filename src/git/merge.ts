import { AgentosError, usageError } from '../core/errors.ts';
import { isAncestor } from './branches.ts';
import type { Git } from './git.ts';
import { headCommit } from './repository.ts';

/** A file that both sides changed differently. */
export interface Conflict {
  path: string;
  /** The blobs of the common ancestor, ours and theirs; null: the file does not exist there. */
  versions: [ancestor: string | null, ours: string | null, theirs: string | null];
}

export interface Merge {
  /** Files in conflict contain conflict markers. */
  tree: string;
  conflicts: Conflict[];
  /** Git's messages about the conflicts, a line each. */
  said: string[];
}

/** Merges two commits among git's objects: nothing is checked out, and no ref is touched. */
export async function mergeTrees(git: Git, ours: string, theirs: string): Promise<Merge> {
  const output = await git.run(['merge-tree', '--write-tree', '-z', ours, theirs], { orEndsWith: 1 });
  const [tree = '', ...fields] = output.toString('utf8').split('\0');
  const end = fields.indexOf('');
  const listed = end < 0 ? [] : fields.slice(0, end);
  const found = new Map<string, Conflict>();
  for (const entry of listed) {
    const [, blob = '', stage = '', path = ''] = /^\d+ ([0-9a-f]+) ([123])\t(.+)$/s.exec(entry) ?? [];
    if (path === '') continue;
    const conflict = found.get(path) ?? { path, versions: [null, null, null] };
    conflict.versions[Number(stage) - 1] = blob;
    found.set(path, conflict);
  }
  const messages = messagesIn(fields.slice(end + 1));
  // Some conflicts, such as a folder that was renamed in two ways, appear only in the messages.
  for (const { paths } of found.size === 0 ? messages : [])
    for (const path of paths) found.set(path, { path, versions: [null, null, null] });
  return { tree: tree.trim(), conflicts: [...found.values()], said: messages.map(({ text }) => text) };
}

/** Each is a count of paths, the paths, the kind, and the text. A clean merge has none. */
function messagesIn(fields: readonly string[]): { paths: string[]; text: string }[] {
  const messages: { paths: string[]; text: string }[] = [];
  for (let at = 0; at + 1 < fields.length; ) {
    const count = Number(fields[at]);
    const paths = fields.slice(at + 1, at + 1 + count);
    const [kind = '', text = ''] = fields.slice(at + 1 + count, at + 3 + count);
    if (kind.startsWith('CONFLICT')) messages.push({ paths, text: text.trim() });
    at += count + 3;
  }
  return messages;
}

/** Deterministic: the same inputs make the same commit, so that steps for it are reused. */
export async function commitMerge(
  git: Git,
  { tree, ours, theirs, message }: { tree: string; ours: string; theirs: string; message: string },
): Promise<string> {
  const dates = await git.text(['show', '--no-patch', '--format=%ct', ours, theirs]);
  const date = `@${Math.max(...dates.split('\n').map(Number))} +0000`;
  const env = { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', tree, '-p', ours, '-p', theirs, '-F', '-'];
  return git.text(args, { env, input: message });
}

/** A branch that an item builds on. */
export interface Foundation {
  id: string;
  branch: string;
  commit: string;
}

/**
 * The commit to start from: the user's commit, merged with the unmerged branches that the item builds on. The merge is made among
 * git's objects, without a checkout.
 */
export async function stackedBase(
  git: Git,
  head: string,
  foundations: readonly Omit<Foundation, 'branch'>[],
): Promise<string> {
  let base = head;
  for (const { id, commit } of foundations) {
    if (await isAncestor(git, commit, base)) continue;
    base = (await isAncestor(git, base, commit)) ? commit : await merge(git, base, { id, commit });
  }
  return base;
}

async function merge(git: Git, ours: string, { id, commit }: Omit<Foundation, 'branch'>): Promise<string> {
  const { tree, conflicts } = await mergeTrees(git, ours, commit);
  const files = conflicts.map(({ path }) => path);
  if (files.length > 0) throw new AgentosError({ code: 'dependency-conflict', on: id, files });
  return commitMerge(git, { tree, ours, theirs: commit, message: `Merge what ${id} needs\n` });
}

/** The commit that branches are combined on. */
export interface NewestBase {
  /** Its branch; `HEAD` if it is detached. */
  name: string;
  commit: string;
  /** Notes for the user about the choice. */
  notes: string[];
}

const FETCH_MS = 300_000;

/**
 * The newer of the checked-out commit and the default branch; with `fetch`, also of the remote's default branch. A commit is newer if
 * it contains the other one. If both have commits of their own, the checkout is the base, with a note.
 */
export async function newestBase(git: Git, { fetch }: { fetch: boolean }): Promise<NewestBase> {
  const commit = await headCommit(git);
  const checkedOut = await git.answer(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const found: NewestBase = { name: checkedOut ?? 'HEAD', commit, notes: [] };
  const standard = (await defaultBranch(git)) ?? checkedOut;
  if (standard === null) return found;
  if (fetch) await fetchBranch(git, standard);
  const candidates = [`refs/heads/${standard}`, ...(fetch ? [`refs/remotes/origin/${standard}`] : [])];
  for (const ref of candidates) {
    const other = await git.answer(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
    if (other === null || (await isAncestor(git, other, found.commit))) continue;
    const shown = ref.replace(/^refs\/(?:heads|remotes)\//, '');
    if (await isAncestor(git, found.commit, other)) Object.assign(found, { name: standard, commit: other });
    else found.notes.push(`${shown} has commits that ${found.name} does not have: the base is ${found.name}.`);
  }
  return found;
}

async function defaultBranch(git: Git): Promise<string | null> {
  const remote = await git.answer(['symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD']);
  if (remote !== null) return remote.replace(/^origin\//, '');
  for (const name of ['main', 'master'])
    if ((await git.answer(['rev-parse', '--verify', '--quiet', `refs/heads/${name}`])) !== null) return name;
  return null;
}

async function fetchBranch(git: Git, branch: string): Promise<void> {
  if ((await git.answer(['remote', 'get-url', 'origin'])) === null) {
    throw usageError('There is no remote named origin to fetch from.', 'Remove --fetch to use what is here.');
  }
  await git.run(['fetch', '--quiet', '--no-tags', 'origin', branch], { timeoutMs: FETCH_MS, isNetworked: true });
}
