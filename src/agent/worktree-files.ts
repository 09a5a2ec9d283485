import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../core/errors.ts';
import { withoutSecrets } from '../core/keys.ts';
import { createGit } from '../git/git.ts';
import { isSecret } from '../prompts/context/context.ts';
import { isProtected } from './worktree-path.ts';

/** Where there is no git to ask, at most this many files and folders are looked at. */
const MOST_ENTRIES = 50_000;
const NEVER_LISTED = new Set(['node_modules', '__pycache__', '.venv']);
/** What a writer that was killed left beside a file. */
const HALF_WRITTEN = /^\.\d+-\d+\.tmp$/;

/** The files that belong to the repository or would with the next commit, in a stable order; no secrets, no litter. */
export async function worktreeFiles(root: string): Promise<string[]> {
  const paths = (await filesByGit(root)) ?? (await filesByWalking(root));
  return paths.filter((path) => !isLitter(path) && !isProtected(path) && !isSecret(path)).sort();
}

function isLitter(path: string): boolean {
  const segments = path.split('/');
  return segments.some((segment) => NEVER_LISTED.has(segment)) || HALF_WRITTEN.test(segments.at(-1) ?? '');
}

/** Null where this is no working tree of git, or git can't say. The ceiling keeps it from asking a repository around. */
async function filesByGit(root: string): Promise<string[] | null> {
  const git = createGit(root, { ...withoutSecrets(process.env, [], []), GIT_CEILING_DIRECTORIES: dirname(root) });
  const ask = async (...which: string[]): Promise<string[]> => {
    const output = await git.run(['-c', 'core.fsmonitor=false', 'ls-files', '-z', ...which]);
    return output
      .toString('utf8')
      .split('\0')
      .filter((path) => path !== '' && !path.endsWith('/'));
  };
  try {
    const [known, gone] = await Promise.all([ask('--cached', '--others', '--exclude-standard'), ask('--deleted')]);
    const deleted = new Set(gone);
    return [...new Set(known)].filter((path) => !deleted.has(path));
  } catch (error) {
    if (codeOf(error) === 'git-failed' || codeOf(error) === 'git-missing') return null;
    throw error;
  }
}

async function filesByWalking(root: string): Promise<string[]> {
  const files: string[] = [];
  const folders = [''];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined && seen < MOST_ENTRIES; folder = folders.shift()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) files.push(path);
      else if (entry.isDirectory() && !isLitter(path) && !isProtected(path)) folders.push(path);
    }
  }
  return files;
}
