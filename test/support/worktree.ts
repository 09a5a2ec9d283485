import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createGit, type Git } from '../../src/git/git.ts';
import { type OpenedWorktree, openWorktree } from '../../src/git/worktree/open.ts';
import { type TestRepository, testRepository } from './repository.ts';

export interface WorktreeBench extends TestRepository {
  base: string;
  env: Record<string, string>;
  /** In the user's repository. */
  user: Git;
  head: string;
  directory: string;
  open(options?: { branch?: string; start?: string; id?: string }): Promise<OpenedWorktree>;
}

/** A repository with an identity, and a base directory in it as the program makes it. */
export async function worktreeBench(): Promise<WorktreeBench> {
  const repository = await testRepository({});
  const base = join(repository.root, '.agentos');
  await repository.write('.agentos/.gitignore', '*\n');
  mkdirSync(join(base, 'locks'));
  await repository.write('README.md', '# Sample\n');
  await repository.write('.gitignore', '*.log\n');
  repository.git('config', 'user.name', 'A Person');
  repository.git('config', 'user.email', 'person@example.org');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'More');
  return benchAt(repository, repository.root, base);
}

export function benchAt(repository: TestRepository, root: string, base: string): WorktreeBench {
  const env = { PATH: process.env['PATH'] ?? '', HOME: repository.home };
  const user = createGit(root, env);
  const head = gitIn(root, env, 'rev-parse', 'HEAD');
  const directoryOf = (id: string): string => join(base, 'worktrees', `implement-${id}`);
  return {
    ...repository,
    root,
    base,
    env,
    user,
    head,
    directory: directoryOf('42'),
    open: ({ branch = 'agentos/42-title', start = head, id = '42' } = {}) =>
      openWorktree({ repository: user, directory: directoryOf(id), branch, start, env }),
  };
}

export function gitIn(directory: string, env: Record<string, string>, ...args: string[]): string {
  return execFileSync('git', args, { cwd: directory, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** All that is the user's own: every file of the checkout but the base directory, index, HEAD, branches, stash, settings. */
export function ofTheUser({ root, base }: WorktreeBench): Map<string, string> {
  const git = join(root, '.git');
  const skipped = new Set([base, ...['objects', 'worktrees', 'refs', 'logs'].map((name) => join(git, name))]);
  const found = new Map<string, string>();
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (skipped.has(path)) continue;
      if (entry.isDirectory()) walk(path);
      else found.set(path, describe(path));
    }
  };
  walk(root);
  const refs = execFileSync('git', ['for-each-ref'], { cwd: root, encoding: 'utf8' });
  found.set(
    'refs',
    refs
      .split('\n')
      .filter((line) => !line.includes('agentos/'))
      .join('\n'),
  );
  return found;
}

function describe(path: string): string {
  const { mode, mtimeMs, ino } = lstatSync(path);
  const content = (mode & 0o170000) === 0o120000 ? readlinkSync(path) : readFileSync(path);
  return `${mode} ${mtimeMs} ${ino} ${createHash('sha256').update(content).digest('hex')}`;
}
