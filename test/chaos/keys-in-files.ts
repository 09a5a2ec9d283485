import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Facts } from './facts.ts';

/** Keys in any file, in what was printed, or on a branch. */
export async function keysInFiles({ ground, acts }: Facts): Promise<string[]> {
  const { keys, repository, state, work } = ground;
  if (keys.length === 0) return [];
  const holds = (text: string | Buffer): boolean => keys.some((key) => text.includes(key));
  const folders = new Set([repository.root, repository.home, state, dirname(state), work]);
  const problems: string[] = [];
  for (const folder of folders) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && holds(await readFile(path).catch(() => ''))) problems.push(path);
    }
  }
  if (acts.some(({ stdout, stderr }) => holds(stdout) || holds(stderr))) problems.push('the output');
  if (holds(repository.git('log', '--all', '--patch'))) problems.push('a commit');
  return problems;
}
