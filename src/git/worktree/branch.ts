import { AgentosError, codeOf } from '../../core/errors.ts';
import type { Git } from '../git.ts';

const MOST_NAMES = 100;

export interface BranchRef {
  commit: string;
  /** Where it is checked out; null: nowhere. */
  checkedOutAt: string | null;
}

/** Branches with the same first word as this one, by name. */
export async function branchesNear(repository: Git, branch: string): Promise<Map<string, BranchRef>> {
  const first = branch.split('/')[0] ?? branch;
  const format = '--format=%(refname:lstrip=2)%00%(objectname)%00%(worktreepath)%00';
  const fields = (await repository.text(['for-each-ref', format, `refs/heads/${first}`])).split('\0');
  const found = new Map<string, BranchRef>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [name = '', commit = '', path = ''] = fields.slice(at, at + 3);
    found.set(name.replace(/^\n/, ''), { commit, checkedOutAt: path || null });
  }
  return found;
}

/**
 * The name for a new branch: the one asked for, unless there are commits on it that are not ours to build on; then the
 * first free one with a number behind it.
 */
export async function freeBranch(
  repository: Git,
  branches: ReadonlyMap<string, BranchRef>,
  { branch, start, directory }: { branch: string; start: string; directory: string },
): Promise<string> {
  for (const parent of parentsOf(branch)) {
    if (branches.has(parent)) {
      throw unusable(directory, `There is a branch ${parent}, so that git can't make one named ${branch}.`);
    }
  }
  for (let n = 1; n < MOST_NAMES; n++) {
    const name = n === 1 ? branch : `${branch}-${n}`;
    const there = branches.get(name);
    if (there === undefined) return name;
    if (there.checkedOutAt !== null) throw unusable(directory, `${name} is checked out in ${there.checkedOutAt}.`);
    if (await isAncestor(repository, there.commit, start)) return name;
  }
  throw unusable(directory, `There are ${MOST_NAMES} branches named ${branch} already.`);
}

function parentsOf(branch: string): string[] {
  const parts = branch.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

export async function isAncestor(repository: Git, older: string, newer: string): Promise<boolean> {
  try {
    await repository.run(['merge-base', '--is-ancestor', older, newer]);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    return false;
  }
}

export function unusable(path: string, reason: string): AgentosError {
  return new AgentosError({ code: 'worktree-unusable', path, reason });
}

/** The longest slug in characters, and in the bytes that a file name has room for beside the id. */
const SLUG_CHARACTERS = 60;
const SLUG_BYTES = 150;
/** Letters that are no plain letter with a mark. */
const PLAIN: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' };

/** `agentos/42-a-short-title`. Letters of other scripts stay; git and file systems take them. */
export function branchNameOf(id: string, title: string): string {
  const letters = title
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => PLAIN[letter] ?? letter)
    .normalize('NFKD')
    .replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .normalize('NFC')
    .replace(/['’]/g, '');
  let slug = '';
  for (const word of letters.split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean)) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (Array.from(longer).length > SLUG_CHARACTERS || Buffer.byteLength(longer) > SLUG_BYTES) {
      if (slug === '') slug = cut(word);
      break;
    }
    slug = longer;
  }
  return slug === '' ? `agentos/${id}` : `agentos/${id}-${slug}`;
}

function cut(word: string): string {
  let short = '';
  for (const letter of Array.from(word).slice(0, SLUG_CHARACTERS)) {
    if (Buffer.byteLength(short + letter) > SLUG_BYTES) break;
    short += letter;
  }
  return short;
}
