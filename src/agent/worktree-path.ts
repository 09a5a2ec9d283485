import { lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { isInside } from '../core/paths.ts';
import { isSecret } from '../prompts/context/secrets.ts';
import { NotDone } from './tools.ts';

/** The folder that the model's paths are relative to. */
export interface Worktree {
  /** The path by which the model may know it. */
  given: string;
  /** With all links resolved. */
  root: string;
}

export type Purpose = 'read' | 'write' | 'remove';

/** A path inside the worktree; every component was checked. */
export interface Place {
  /** Relative to the worktree, with slashes; `.` for the worktree itself. */
  path: string;
  /** The real path. Only its last component may be a link, if the link itself is to be removed. */
  absolute: string;
  kind: 'file' | 'folder' | 'link' | 'other' | 'missing';
  /** By its name, or by the name of a link's target, it may hold secrets. */
  secret: boolean;
}

export async function openWorktree(given: string): Promise<Worktree> {
  try {
    return { given, root: await realpath(given) };
  } catch (error) {
    const reason = systemCode(error) ?? String(error);
    throw new AgentosError({ code: 'worktree-unusable', path: given, reason }, { cause: error });
  }
}

/**
 * Resolves a path of the model; throws `NotDone` if it leads out or is forbidden. Every component is checked, so that no link,
 * also above a file that does not exist yet, leads out.
 */
export async function locate(worktree: Worktree, asked: string, purpose: Purpose): Promise<Place> {
  const path = namedPath(worktree, asked, purpose);
  const named = path === '.' ? [] : path.split('/');
  try {
    const walked = await walk(worktree.root, named, purpose);
    const real = relative(worktree.root, walked.absolute).split(sep).join('/');
    return { path, ...walked, secret: isSecret(path) || isSecret(real) };
  } catch (error) {
    const code = systemCode(error);
    throw code === null ? error : new NotDone(`${path} can't be used: ${code}`);
  }
}

/** The path with `.` and `..` resolved, without looking at the disk; throws `NotDone` if it leads out or is forbidden. */
export function namedPath(worktree: Worktree, asked: string, purpose: Purpose): string {
  const segments = segmentsOf(worktree, asked);
  refuseForbidden(segments, purpose);
  return segments.join('/') || '.';
}

function segmentsOf({ given, root }: Worktree, asked: string): string[] {
  if (asked === '') throw new NotDone('a path is missing');
  if (/\p{Cc}/u.test(asked) || !asked.isWellFormed())
    throw new NotDone('the path holds characters that no path here may have');
  if (asked.includes('\\')) throw new NotDone('write paths with / between folders');
  const base = [root, given].find((folder) => asked === folder || asked.startsWith(`${folder}/`));
  if (base === undefined && isAbsolute(asked))
    throw new NotDone(`${asked} is outside of the repository: use a path relative to it`);
  const segments: string[] = [];
  for (const segment of asked.slice(base?.length ?? 0).split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) throw new NotDone(`${asked} leads out of the repository`);
  }
  return segments;
}

const PROTECTED = new Set(['.git', 'git~1', '.agentos']);

/** Git's folder and ours, in any spelling. */
export function isProtected(path: string): boolean {
  return path.split('/').some((segment) => PROTECTED.has(plainName(segment)));
}

function refuseForbidden(segments: readonly string[], purpose: Purpose): void {
  const guarded = segments.find(isProtected);
  if (guarded !== undefined) throw new NotDone(`${guarded} is not part of the task and can't be touched`);
  if (purpose !== 'read' && segments.some((segment) => plainName(segment) === 'node_modules'))
    throw new NotDone('node_modules holds installed packages: not to be changed');
}

/** Some file systems ignore case, invisible characters, or dots, spaces and streams at the end. */
function plainName(segment: string): string {
  return segment
    .replaceAll(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '')
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
    .toLowerCase();
}

async function walk(
  root: string,
  segments: readonly string[],
  purpose: Purpose,
): Promise<Pick<Place, 'absolute' | 'kind'>> {
  let absolute = root;
  let kind: Place['kind'] = 'folder';
  for (const [index, segment] of segments.entries()) {
    const shown = segments.slice(0, index + 1).join('/');
    if (kind !== 'folder') throw new NotDone(`${segments.slice(0, index).join('/')} is not a folder`);
    const next = join(absolute, segment);
    kind = await kindOf(next);
    if (kind === 'missing') return { absolute: join(absolute, ...segments.slice(index)), kind };
    const follows = kind === 'link' && !(purpose === 'remove' && index === segments.length - 1);
    if (!follows) {
      absolute = next;
      continue;
    }
    const target = await realpath(next).catch(() => null);
    if (target === null) throw new NotDone(`${shown} is a link that leads nowhere`);
    if (!isInside(root, target)) throw new NotDone(`${shown} is a link out of the repository`);
    refuseForbidden(relative(root, target).split(sep), purpose);
    absolute = target;
    kind = await kindOf(target);
  }
  return { absolute, kind };
}

async function kindOf(path: string): Promise<Place['kind']> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return 'link';
    if (stats.isDirectory()) return 'folder';
    return stats.isFile() ? 'file' : 'other';
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'missing';
    throw error;
  }
}
