import type { Git } from './git.ts';

/** Local and remote branches whose name begins so, e.g. `agentos/`. */
export async function branchesBelow(git: Git, prefix: string): Promise<{ ref: string; name: string }[]> {
  const listing = await git.text(['for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/remotes']);
  return listing.split('\n').flatMap((ref) => {
    const name = ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '');
    return name.startsWith(prefix) ? [{ ref, name }] : [];
  });
}

/** The text of files at commits, in one call; null for one that is not there. */
export async function readAt(git: Git, wanted: readonly { ref: string; path: string }[]): Promise<(string | null)[]> {
  if (wanted.length === 0) return [];
  const input = `${wanted.map(({ ref, path }) => `${ref}:${path}`).join('\n')}\n`;
  const output = await git.run(['cat-file', '--batch'], { input });
  const texts: (string | null)[] = [];
  let at = 0;
  for (const _ of wanted) {
    const end = output.indexOf(0x0a, at);
    const header = output.toString('utf8', at, end);
    const size = Number(/ blob (\d+)$/.exec(header)?.[1] ?? Number.NaN);
    if (Number.isNaN(size)) {
      const skipped = Number(/ (?:tree|commit|tag) (\d+)$/.exec(header)?.[1] ?? Number.NaN);
      texts.push(null);
      at = end + 1 + (Number.isNaN(skipped) ? 0 : skipped + 1);
      continue;
    }
    texts.push(output.toString('utf8', end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return texts;
}
