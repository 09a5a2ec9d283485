import type { Git } from '../../git/git.ts';

/** One commit of the past, without merges. */
export interface PastCommit {
  hash: string;
  message: string;
  paths: string[];
}

/** Enough to see which files change together; the newest first. */
const MOST_COMMITS = 2_000;
const MOST_MESSAGE_CHARS = 600;
/** A commit that touches more says nothing about any of its files. */
const MOST_PATHS = 25;

/** The commits up to a base; those that `known` holds are not asked for again. */
export async function readHistory(
  git: Git,
  base: string,
  known: ReadonlyMap<string, PastCommit>,
): Promise<PastCommit[]> {
  const listed = (await git.text(['rev-list', '-n', String(MOST_COMMITS), '--no-merges', base])).split('\n');
  const missing = listed.filter((hash) => hash !== '' && !known.has(hash));
  const read = new Map<string, PastCommit>();
  if (missing.length > 0) {
    const format = ['--format=%x01%H%x02%B%x02', '--name-only', '--no-renames', '-z', '--diff-merges=off'];
    const input = `${missing.join('\n')}\n`;
    // A clone may lack what it takes to compare them; then there is no history to learn from.
    const log = await git
      .run(['log', '--no-walk=unsorted', '--stdin', ...format], { input })
      .catch(() => Buffer.alloc(0));
    for (const entry of log.toString('utf8').split('\u0001')) {
      const [hash, message, names] = entry.split('\u0002');
      if (hash === undefined || message === undefined) continue;
      const paths = (names ?? '').split(/[\0\n]/).filter((name) => name !== '');
      const few = paths.length > MOST_PATHS ? [] : paths;
      read.set(hash, { hash, message: message.trim().slice(0, MOST_MESSAGE_CHARS), paths: few });
    }
  }
  return listed.flatMap((hash) => known.get(hash) ?? read.get(hash) ?? []);
}
