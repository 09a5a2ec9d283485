import type { Git } from './git.ts';

/** As one reads it: no colours, no programs that the repository names, renames as such. */
const DIFF = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--find-renames', '--unified=3'];
const MOST_BYTES = 2 << 20;

/** A patch from one state of the files to another; empty where one of them is not there. */
export async function patchBetween(git: Git, from: string, to: string): Promise<string> {
  const patch = await git.run([...DIFF, from, to, '--'], { atMostBytes: MOST_BYTES }).catch(() => null);
  return patch === null ? '' : patch.subarray(0, MOST_BYTES).toString('utf8');
}

/** The last tree that is kept for an item; null: no tree is kept. `pins`: where its refs are. */
export async function lastTree(git: Git, pins: string): Promise<string | null> {
  const format = '--format=%(objecttype) %(objectname)';
  const listed = await git.text(['for-each-ref', '--sort=version:refname', format, pins]).catch(() => '');
  const trees = listed.split('\n').filter((line) => line.startsWith('tree '));
  return trees.at(-1)?.slice('tree '.length) ?? null;
}
