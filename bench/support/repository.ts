import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const IDENTITY = ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost', '-c', 'commit.gpgsign=false'];

/** A git repository with one commit. The issues are not part of it: git's time for thousands of files is not ours. */
export async function createRepository(root: string, issues: Iterable<[string, string]>): Promise<void> {
  await mkdir(join(root, 'src'), { recursive: true });
  await mkdir(join(root, 'test'));
  await mkdir(join(root, 'issues'));
  await writeFile(join(root, 'src', 'main.js'), 'export const answer = 42;\n');
  await writeFile(join(root, 'test', 'main.test.js'), "import '../src/main.js';\n");
  const git = (...args: string[]): Buffer => execFileSync('git', [...IDENTITY, ...args], { cwd: root });
  git('init', '--quiet', '--initial-branch=main', '.');
  git('add', '--all');
  git('commit', '--quiet', '-m', 'Start');
  for (const [id, text] of issues) await writeFile(join(root, 'issues', `${id}.md`), text);
}
