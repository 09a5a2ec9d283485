import { AgentosError } from '../core/errors.ts';
import type { Git } from './git.ts';

const FOLDER = 'agentos';
/** The prefix of all our branches. */
export const BRANCH_PREFIX = `${FOLDER}/`;

/** Local and remote branches whose name begins so, e.g. `agentos/`. */
export async function branchesBelow(git: Git, prefix: string): Promise<{ ref: string; name: string }[]> {
  const listing = await git.text(['for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/remotes']);
  return listing.split('\n').flatMap((ref) => {
    const name = ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '');
    return name.startsWith(prefix) ? [{ ref, name }] : [];
  });
}

export interface BranchRef {
  commit: string;
  /** Where it is checked out; null: nowhere. */
  checkedOutAt: string | null;
}

/** Our branches by name, and one that is named like their folder. */
export async function ourBranches(repository: Git): Promise<Map<string, BranchRef>> {
  const format = '--format=%(refname:lstrip=2)%00%(objectname)%00%(worktreepath)%00';
  const fields = (await repository.text(['for-each-ref', format, `refs/heads/${FOLDER}`])).split('\0');
  const found = new Map<string, BranchRef>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [name = '', commit = '', path = ''] = fields.slice(at, at + 3);
    found.set(name.replace(/^\n/, ''), { commit, checkedOutAt: path || null });
  }
  return found;
}

/** The name for a new branch: the wanted one, or, if that has other commits, the first free one with a number appended. */
export async function freeBranch(
  repository: Git,
  branches: ReadonlyMap<string, BranchRef>,
  { branch, start, directory }: { branch: string; start: string; directory: string },
): Promise<string> {
  if (branches.has(FOLDER))
    throw unusable(directory, `There is a branch ${FOLDER}, so that git can't make one named ${branch}.`);
  for (let n = 1; ; n++) {
    const name = n === 1 ? branch : `${branch}-${n}`;
    const there = branches.get(name);
    if (there === undefined) return name;
    if (there.checkedOutAt !== null) throw unusable(directory, `${name} is checked out in ${there.checkedOutAt}.`);
    if (await isAncestor(repository, there.commit, start)) return name;
  }
}

const MOST_TRIES = 100;

/**
 * Creates a branch `agentos/land-2026-01-31` at this commit. If the name is taken, here or on a remote, a number is appended: no
 * branch is ever moved. A landing branch that is already at the commit is reused.
 */
export async function makeLandBranch(repository: Git, commit: string, date: string): Promise<string> {
  const prefix = `${BRANCH_PREFIX}land-`;
  const pointing = ['for-each-ref', `--points-at=${commit}`, '--format=%(refname:lstrip=2)', `refs/heads/${prefix}*`];
  const [same] = (await repository.text(pointing)).split('\n').filter(Boolean);
  if (same !== undefined) return same;
  for (let n = 1; ; n++) {
    const taken = new Set((await branchesBelow(repository, prefix)).map(({ name }) => name));
    const name = n === 1 ? `${prefix}${date}` : `${prefix}${date}-${n}`;
    if (taken.has(name)) continue;
    // Fails if it exists: another process may make it at the same time.
    const create = ['update-ref', '-m', 'agentos land', `refs/heads/${name}`, commit, ''];
    if ((await repository.answer(create)) !== null) return name;
    if (n === MOST_TRIES) throw unusable(repository.directory, `Git can't make a branch ${name}.`);
  }
}

/** Moves a branch forward, unless it has moved meanwhile or is checked out. */
export async function moveBranchForward(
  repository: Git,
  branch: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const format = '--format=%(objectname) %(worktreepath)';
  if ((await repository.text(['for-each-ref', format, ref])) !== from) return;
  await repository.run(['update-ref', '-m', 'agentos react', ref, to, from]);
}

/** Deletes a branch of ours. */
export async function deleteBranch(repository: Git, branch: string): Promise<void> {
  await repository.run(['update-ref', '-d', `refs/heads/${branch}`]);
}

export async function isAncestor(repository: Git, older: string, newer: string): Promise<boolean> {
  return (await repository.answer(['merge-base', '--is-ancestor', older, newer])) !== null;
}

export function unusable(path: string, reason: string): AgentosError {
  return new AgentosError({ code: 'worktree-unusable', path, reason });
}

/** The longest slug, in bytes: it is part of a file name. */
const SLUG_BYTES = 60;
/** Letters that Unicode does not decompose into a plain letter and a mark. */
const PLAIN: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' };

/** `agentos/42-a-short-title`. Letters of other scripts are kept. */
export function branchNameOf(id: string, title: string): string {
  const letters = title
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => PLAIN[letter] ?? letter)
    .normalize('NFKD')
    .replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .normalize('NFC')
    .replace(/['’]/g, '');
  const words = letters.split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (Buffer.byteLength(longer) > SLUG_BYTES) break;
    slug = longer;
  }
  // A first word that is too long, for example in a script without spaces: the letters that fit.
  if (slug === '')
    slug = Buffer.from(words[0] ?? '')
      .toString('utf8', 0, SLUG_BYTES)
      .replace(/\uFFFD+$/, '');
  return slug === '' ? `${BRANCH_PREFIX}${id}` : `${BRANCH_PREFIX}${id}-${slug}`;
}

/** The object ids of all refs below these prefixes, by full name. */
export async function refsBelow(git: Git, ...prefixes: string[]): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  // Without a prefix, git lists all refs.
  if (prefixes.length === 0) return refs;
  const listing = await git.text(['for-each-ref', '--format=%(objectname) %(refname)', ...prefixes]);
  for (const line of listing.split('\n').filter(Boolean)) {
    const [id = '', name = ''] = line.split(' ');
    refs.set(name, id);
  }
  return refs;
}

export async function removeRefsBelow(git: Git, ...prefixes: string[]): Promise<void> {
  const names = [...(await refsBelow(git, ...prefixes)).keys()];
  const input = names.map((name) => `delete ${name}\n`).join('');
  if (input !== '') await git.run(['update-ref', '--stdin'], { input });
}
