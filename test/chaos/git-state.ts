import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestRepository } from '../support/repository.ts';
import { treeOf } from '../support/tree.ts';

/** What belongs to the user of a repository: two that are equal mean that nothing of it was touched. */
export type GitState = Record<string, unknown>;

export async function gitStateOf(repository: TestRepository): Promise<GitState> {
  const { root } = repository;
  const git = (...args: string[]): string => repository.git(...args);
  const refs = git('for-each-ref', '--format=%(refname) %(objectname)')
    .split('\n')
    .filter((line) => !/^refs\/(heads\/)?agentos\//.test(line));
  return {
    head: git('symbolic-ref', 'HEAD'),
    commit: git('rev-parse', 'HEAD'),
    refs,
    index: git('ls-files', '--stage'),
    'tracked files': git('--no-optional-locks', 'status', '--porcelain', '--untracked-files=no'),
    stash: existsSync(join(root, '.git', 'refs', 'stash')),
    config: await readFile(join(root, '.git', 'config'), 'utf8'),
    hooks: await treeOf(join(root, '.git', 'hooks')),
    exclude: await readFile(join(root, '.git', 'info', 'exclude'), 'utf8'),
  };
}

/** What differs, by name. */
export function changesOf(before: GitState, after: GitState): string[] {
  return Object.keys(before)
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map(
      (name) =>
        `${name} was ${JSON.stringify(before[name])?.slice(0, 300)}, is ${JSON.stringify(after[name])?.slice(0, 300)}`,
    );
}
