import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { testFolder } from './folder.ts';

export interface TestRepository {
  root: string;
  /** A home of its own, which nothing may write to. */
  home: string;
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
    async write(path, text) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    },
    read: (path) => readFile(join(root, path), 'utf8'),
    list: async (path) => (await readdir(join(root, path)).catch(() => [] as string[])).sort(),
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
