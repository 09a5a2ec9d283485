import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { withoutSecrets } from '../core/keys.ts';
import { isInside } from '../core/paths.ts';
import { createGit, type Git } from '../git/git.ts';
import { isTemporaryFile } from '../process/state-folder.ts';
import { holdsKey, isSecret } from '../prompts/context/secrets.ts';
import { type FoundLines, type LineSearch, NotDone, type ReadableFiles } from './tools.ts';

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
    const real = relative(worktree.root, walked.absolute);
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
    refuseForbidden(relative(root, target).split('/'), purpose);
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

export function readableWorktree(worktree: Worktree): ReadableFiles {
  const locateToRead = (asked: string): Promise<Place> => locate(worktree, asked, 'read');
  return {
    list: () => worktreeFiles(worktree),
    locate: locateToRead,
    async read(asked) {
      const place = await locateToRead(asked);
      return { path: place.path, text: await readText(place) };
    },
    search: (search) => searchLines(worktree, search),
  };
}

const INSTALLED = ['node_modules', '__pycache__', '.venv'];

/** Git in the worktree; the ceiling keeps it from finding a repository around it. */
function gitIn({ root }: Worktree): Git {
  return createGit(root, { ...withoutSecrets(process.env, [], []), GIT_CEILING_DIRECTORIES: dirname(root) });
}

/** Tracked and untracked files, sorted, without ignored ones and secrets. */
async function worktreeFiles(worktree: Worktree): Promise<string[]> {
  const git = gitIn(worktree);
  const ask = async (...which: string[]): Promise<string[]> => {
    const output = await git.run(['-c', 'core.fsmonitor=false', 'ls-files', '-z', ...which]);
    return output
      .toString('utf8')
      .split('\0')
      .filter((path) => path !== '' && !path.endsWith('/'));
  };
  const [known, gone] = await Promise.all([ask('--cached', '--others', '--exclude-standard'), ask('--deleted')]);
  const deleted = new Set(gone);
  return [...new Set(known)].filter((path) => !deleted.has(path) && isShown(path)).sort();
}

/** Whether lists and searches show a path. */
export function isShown(path: string): boolean {
  const segments = path.split('/');
  const isOurs = segments.some((segment) => INSTALLED.includes(segment)) || isTemporaryFile(segments.at(-1) ?? '');
  return !isOurs && !isProtected(path) && !isSecret(path);
}

const SEARCH_MS = 30_000;
const SEARCH_BYTES = 4 * 1024 * 1024;

async function searchLines(worktree: Worktree, search: LineSearch): Promise<FoundLines> {
  // With --untracked, git skips files that are tracked although they are ignored.
  const git = gitIn(worktree);
  const [tracked, all] = await Promise.all([grepLines(git, search), grepLines(git, search, { untracked: true })]);
  const found = new Map([...tracked.lines, ...all.lines].map((line) => [`${line.path}\0${line.line}`, line]));
  const lines = [...found.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
  const paths = [...new Set(lines.map(({ path }) => path))];
  const readable = new Set<string>();
  for (const path of paths.filter(isShown)) {
    try {
      await readText(await locate(worktree, path, 'read'));
      readable.add(path);
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
    }
  }
  return { lines: lines.filter(({ path }) => readable.has(path)), cut: tracked.cut || all.cut };
}

/** Matches in the files of the worktree or of a commit, secrets included. */
export async function grepLines(
  git: Git,
  { text, isRegex, ignoreCase, path }: LineSearch,
  where: { untracked?: boolean; commit?: string } = {},
): Promise<FoundLines> {
  const settings = ['core.fsmonitor=false', 'grep.column=false', 'submodule.recurse=false'].flatMap((set) => [
    '-c',
    set,
  ]);
  const options = ['-n', '-I', '-z', '--no-color', isRegex ? '-E' : '-F', ...(ignoreCase ? ['-i'] : [])];
  const except = INSTALLED.map((name) => `:(exclude,glob)**/${name}/**`);
  const which = [...(where.untracked ? ['--untracked'] : []), ...options, '-e', text];
  const commit = where.commit === undefined ? [] : [where.commit];
  const prefix = where.commit === undefined ? '' : `${where.commit}:`;
  try {
    const output = await git.run([...settings, 'grep', ...which, ...commit, '--', `:(literal)${path}`, ...except], {
      timeoutMs: SEARCH_MS,
      atMostBytes: SEARCH_BYTES,
    });
    const cut = output.length >= SEARCH_BYTES;
    const lines = output.toString('utf8').split('\n');
    // The last line is empty, or cut off.
    return { lines: lines.slice(0, -1).flatMap((line) => foundLine(line.slice(prefix.length))), cut };
  } catch (error) {
    if (!(error instanceof AgentosError) || error.problem.code !== 'git-failed') throw error;
    const { exitCode, detail } = error.problem;
    if (exitCode === 1) return { lines: [], cut: false };
    if (exitCode === null) throw new NotDone('it took too long: make it simpler, or name a path');
    throw new NotDone(detail.replace(/^fatal: (?:command line, )?/, ''));
  }
}

/** `path\0number\0text` */
function foundLine(output: string): FoundLines['lines'] {
  const [path = '', line = '', ...text] = output.split('\0');
  return text.length === 0 ? [] : [{ path, line: Number(line), text: text.join('\0').replace(/\r$/, '') }];
}

/** Of a file that is read or written. */
export const LARGEST_BYTES = 4 * 1024 * 1024;

export async function readText({ path, absolute, kind, secret }: Place): Promise<string> {
  refuseUnreadable({ path, kind, secret });
  try {
    const { size } = await stat(absolute);
    return await shownText(path, size, () => readFile(absolute));
  } catch (error) {
    const code = systemCode(error);
    throw code === null ? error : new NotDone(`${path} can't be read: ${code}`);
  }
}

export function refuseUnreadable({ path, kind, secret }: Pick<Place, 'path' | 'kind' | 'secret'>): void {
  if (kind === 'missing') throw new NotDone(`there is no ${path}`);
  if (kind !== 'file') throw new NotDone(`${path} is ${kind === 'folder' ? 'a folder' : 'not a regular file'}`);
  if (secret) throw hidden(path);
}

function hidden(path: string): NotDone {
  return new NotDone(`${path} may hold secrets and is not shown`);
}

export async function shownText(path: string, size: number, read: () => Promise<Buffer>): Promise<string> {
  if (size > LARGEST_BYTES) throw new NotDone(`${path} is too large to be read (${size} bytes)`);
  const text = decoded(await read());
  if (text === null) throw new NotDone(`${path} is not text (${size} bytes)`);
  if (holdsKey(text)) throw hidden(path);
  return text;
}

function decoded(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
