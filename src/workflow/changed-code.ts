import { basename, extname } from 'node:path';
import type { Git } from '../git/git.ts';
import { readAt } from '../git/repository.ts';
import { isSecret } from '../prompts/context/secrets.ts';
import type { ImplementContext } from './implement-item.ts';

const MOST_CHARS = 80_000;
const MOST_CALLERS = 20;
const LONGEST_LINE = 200;
const SEARCH_MS = 30_000;
/** Words that stand before the name of a module that is used. */
const USING = '(import|require|from|use|using|include|load|mod|export)';
/** Names that many folders have: by them alone no user of a file can be told. */
const COMMON_NAMES = new Set(['index', 'main', 'mod', 'lib', '__init__', 'types', 'utils']);

/**
 * What a diff leaves out, for a reviewer: the files that were changed, whole, and the lines elsewhere that use them by name.
 * New files are whole in the diff. Files that don't fit are named.
 */
export async function changedCode(
  { git, worktree, baseTree }: Pick<ImplementContext, 'git' | 'worktree' | 'baseTree'>,
  tree: string,
): Promise<string> {
  const changes = await worktree.changes(baseTree, tree);
  const modified = changes.filter(({ kind, isLink }) => kind === 'modified' && isLink !== true);
  const known = modified.map(({ path }) => path).filter((path) => !isSecret(path));
  const texts = await readAt(
    git,
    known.map((path) => ({ ref: tree, path })),
  );
  const sections: string[] = [];
  const leftOut: string[] = [];
  let room = MOST_CHARS;
  for (const [index, path] of known.entries()) {
    const text = texts[index] ?? null;
    if (text === null || text.includes('\0') || text.includes('PRIVATE KEY-----')) continue;
    if (text.length > room) leftOut.push(path);
    else sections.push(`## ${path}\n\n${numbered(text)}`);
    room -= Math.min(text.length, room);
  }
  if (leftOut.length > 0) sections.push(`## Too long to be shown whole\n\n${leftOut.join('\n')}`);
  for (const path of known) {
    const callers = await usersOf(git, tree, path, new Set(changes.map((change) => change.path)));
    if (callers.length > 0) sections.push(`## Uses of ${path}\n\n${callers.join('\n')}`);
  }
  return sections.join('\n\n');
}

function numbered(text: string): string {
  const lines = text.replace(/\n$/, '').split(/\r?\n/);
  return lines.map((line, index) => `${String(index + 1).padStart(6)}\t${line}`).join('\n');
}

async function usersOf(git: Git, tree: string, path: string, changed: ReadonlySet<string>): Promise<string[]> {
  const name = basename(path, extname(path));
  if (!/^[\w-]{3,}$/.test(name) || COMMON_NAMES.has(name)) return [];
  const pattern = `(^|[^[:alnum:]_])${USING}([^[:alnum:]_].*)?[^[:alnum:]_-]${name}([^[:alnum:]_-]|$)`;
  const settings = ['-c', 'core.fsmonitor=false', '-c', 'grep.column=false', '-c', 'submodule.recurse=false'];
  const output = await git
    .text([...settings, 'grep', '-n', '-I', '-z', '--no-color', '-E', '-e', pattern, tree], { timeoutMs: SEARCH_MS })
    // Exit code 1: nothing uses it. What can't be searched is no reason to stop a review.
    .catch(() => '');
  const found = output.split('\n').flatMap((line) => {
    const [place = '', number = '', text = ''] = line.slice(tree.length + 1).split('\0');
    const isOther = number !== '' && !changed.has(place) && !isSecret(place);
    return isOther ? [`${place}:${number}: ${text.trim().slice(0, LONGEST_LINE)}`] : [];
  });
  return found.slice(0, MOST_CALLERS);
}
