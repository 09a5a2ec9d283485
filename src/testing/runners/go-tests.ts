import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which file of a package holds a test; null where there is none or more than one. */
export type FindGoTest = (folder: string, test: string) => string | null;

export function createFindGoTest(worktree: string): FindGoTest {
  const known = new Map<string, Map<string, string | null>>();
  return (folder, test) => {
    const tests = known.get(folder) ?? testsIn(worktree, folder);
    known.set(folder, tests);
    return tests.get(test) ?? null;
  };
}

function testsIn(worktree: string, folder: string): Map<string, string | null> {
  const found = new Map<string, string | null>();
  const files = readdirSync(join(worktree, folder)).filter((name) => name.endsWith('_test.go'));
  for (const name of files) {
    const text = readFileSync(join(worktree, folder, name), 'utf8');
    for (const [, test = ''] of text.matchAll(/^func ((?:Test|Example|Fuzz|Benchmark)\w*)\s*\(/gm))
      found.set(test, found.has(test) ? null : folder === '.' ? name : `${folder}/${name}`);
  }
  return found;
}
