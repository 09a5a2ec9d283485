import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { workDirectory } from '../../src/core/paths.ts';
import { userId } from '../../src/process/state-folder.ts';
import { testFolder } from './folder.ts';

export interface TestRepository {
  root: string;
  /** A home of its own, which nothing may write to. */
  home: string;
  /** Where the program has worktrees, homes and caches for it. */
  work: string;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  list(path: string): Promise<string[]>;
  git(...args: string[]): string;
}

const DATE = '2026-01-01T00:00:00Z';
const IDENTITY = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false'];

interface RepositoryOptions {
  commit?: boolean;
  /** Of its folder. */
  name?: string;
}

/** A real git repository with one commit; `issues` by id. Its path has spaces and a letter outside ASCII. */
export async function testRepository(
  issues: Record<string, string>,
  options: RepositoryOptions = {},
): Promise<TestRepository> {
  return repositoryIn(await testFolder(), issues, options);
}

/** The same in a folder whose removal is the caller's business. */
export async function repositoryIn(
  folder: string,
  issues: Record<string, string>,
  options: RepositoryOptions = {},
): Promise<TestRepository> {
  const root = join(folder, options.name ?? 'repo sitory');
  const home = join(folder, 'home');
  await mkdir(join(root, 'issues'), { recursive: true });
  await mkdir(home);
  const repository: TestRepository = {
    root,
    home,
    work: workDirectory(await realpath(root), join(await realpath(root), '.agentos'), userId()),
    async write(path, text) {
      await mkdir(dirname(resolve(root, path)), { recursive: true });
      await writeFile(resolve(root, path), text);
    },
    read: (path) => readFile(resolve(root, path), 'utf8'),
    list: async (path) => (await readdir(resolve(root, path)).catch(() => [] as string[])).sort(),
    git: (...args) =>
      execFileSync('git', [...IDENTITY, ...args], {
        cwd: root,
        encoding: 'utf8',
        // The same files make the same commit, so that runs in two repositories can be compared.
        env: { ...process.env, HOME: home, GIT_AUTHOR_DATE: DATE, GIT_COMMITTER_DATE: DATE },
      }).trim(),
  };
  await repository.write('src/main.js', 'export const answer = 42;\n');
  await repository.write('test/main.test.js', "import '../src/main.js';\n");
  for (const [id, text] of Object.entries(issues)) await repository.write(`issues/${id}.md`, text);
  repository.git('init', '--quiet', '--initial-branch=main', '.');
  if (options.commit !== false) {
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '-m', 'Start');
  }
  return repository;
}
