import { chmod, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { withoutSecrets } from '../core/keys.ts';
import { createGit, type Git } from '../git/git.ts';
import { isTemporaryFile, writeFileAtomic } from '../process/files.ts';
import { holdsKey, isSecret } from '../prompts/context/secrets.ts';
import { type FoundLines, type LineSearch, NotDone, type ReadableFiles } from './tools.ts';
import { isProtected, locate, type Place, type Worktree } from './worktree-path.ts';

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

const LARGEST_BYTES = 4 * 1024 * 1024;

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

/** Replaces a file by renaming, with the same permissions: a hard link elsewhere keeps the old text. */
export async function saveText(place: Place, text: string): Promise<void> {
  const bytes = Buffer.byteLength(text);
  if (bytes > LARGEST_BYTES) throw new NotDone(`${bytes} bytes are too much for one file`);
  try {
    const mode = place.kind === 'file' ? (await stat(place.absolute)).mode & 0o777 : null;
    await writeFileAtomic(place.absolute, text);
    if (mode !== null) await chmod(place.absolute, mode);
  } catch (error) {
    throw notWritten(error, place);
  }
}

/** The disk is full or gone: another path would not help. */
const HOPELESS = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']);

/** The error of a failed write: for the model, unless another path would not help. */
export function notWritten(error: unknown, { path, absolute }: Place): unknown {
  const unwritable = error instanceof AgentosError && error.problem.code === 'output-unwritable';
  const code = systemCode(unwritable ? error.cause : error);
  if (code === null) return error;
  return HOPELESS.has(code)
    ? new AgentosError({ code: 'output-unwritable', path: absolute, reason: code }, { cause: error })
    : new NotDone(`${path} can't be written: ${code}`);
}
