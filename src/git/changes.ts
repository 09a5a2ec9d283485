import type { Git } from './git.ts';

/** Plain, without programs that the repository names, and with renames. */
const DIFF = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--find-renames', '--unified=3'];
const MOST_BYTES = 2 << 20;

/** A patch between two commits or trees; empty if one of them is missing. */
export async function patchBetween(git: Git, from: string, to: string): Promise<string> {
  const patch = await git.run([...DIFF, from, to, '--'], { atMostBytes: MOST_BYTES }).catch(() => null);
  return patch === null ? '' : patch.subarray(0, MOST_BYTES).toString('utf8');
}

/** The last pinned tree of an item; null: none. `pins`: the prefix of its refs. */
export async function lastTree(git: Git, pins: string): Promise<string | null> {
  const format = '--format=%(objecttype) %(objectname)';
  const listed = await git.text(['for-each-ref', '--sort=version:refname', format, pins]).catch(() => '');
  const trees = listed.split('\n').filter((line) => line.startsWith('tree '));
  return trees.at(-1)?.slice('tree '.length) ?? null;
}
