import { readFile, realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';

/** The text of a file, or null where there is none. */
export async function readWorktreeFile(worktree: string, path: string): Promise<string | null> {
  const file = await placeOf(worktree, path);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw unwritable(path, systemCode(error) ?? String(error), error);
  }
}

export async function writeWorktreeFile(worktree: string, path: string, text: string): Promise<void> {
  await writeFileAtomic(await placeOf(worktree, path), text);
}

/** A design names the paths, and the repository may hold links: neither leads out of the worktree or into git's files. */
async function placeOf(worktree: string, path: string): Promise<string> {
  const segments = path.split('/');
  const isPlain = segments.every((segment) => !['', '.', '..'].includes(segment) && !segment.includes('\\'));
  if (!isPlain || segments.some((segment) => /^\.(?:git|agentos)$/i.test(segment))) {
    throw unwritable(path, 'it is no path inside of the worktree');
  }
  const root = await realpath(worktree);
  const file = join(root, ...segments);
  const real = await realpathOfNearest(file);
  if (real !== root && !real.startsWith(`${root}${sep}`)) throw unwritable(path, 'a link leads out of the worktree');
  return file;
}

/** Of the file, or of the nearest folder above it that is there. */
async function realpathOfNearest(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || path === dirname(path)) {
      throw unwritable(path, systemCode(error) ?? String(error), error);
    }
    return realpathOfNearest(dirname(path));
  }
}

function unwritable(path: string, reason: string, cause?: unknown): AgentosError {
  return new AgentosError({ code: 'output-unwritable', path, reason }, { cause });
}
