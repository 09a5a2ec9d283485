import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The commit of a branch in a bare repository, or null. Read from its files: a list of pull requests would start a git for each. */
export function branchHead(bare: string, branch: string): string | null {
  if (bare === '') return null;
  const ref = `refs/heads/${branch}`;
  const loose = textOf(join(bare, ref)).trim();
  if (loose !== '') return loose;
  const line = textOf(join(bare, 'packed-refs'))
    .split('\n')
    .find((one) => one.endsWith(` ${ref}`));
  return line?.split(' ')[0] ?? null;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
