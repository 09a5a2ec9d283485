import { open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { ItemId } from '../../core/ids.ts';
import { isInside, type Paths, shownPath } from '../../core/paths.ts';
import { parseVersionName, type VersionKind } from '../../workflow/lineage.ts';

/** A stored version of an item's document. */
export interface Version {
  number: number;
  kind: VersionKind;
  /** Relative to the repository. */
  path: string;
  text: string;
  /** ISO. */
  at: string;
}

const MOST_BYTES = 1 << 20;
const MOST_VERSIONS = 200;

/** The versions in one folder of the lineage, oldest first; none if there is no such folder, or it is a link to another place. */
export async function versionsIn(paths: Paths, folder: string): Promise<Version[]> {
  const names = await readdir(folder).catch(() => []);
  const known = names.flatMap((name) => {
    const version = parseVersionName(name);
    return version === null ? [] : [{ name, ...version }];
  });
  const versions: Version[] = [];
  for (const { name, number, kind } of known.sort((a, b) => a.number - b.number).slice(-MOST_VERSIONS)) {
    const file = await readBelow(paths.lineages, join(folder, name));
    if (file !== null) versions.push({ number, kind, path: shownPath(paths.repository, join(folder, name)), ...file });
  }
  return versions;
}

/** The code reviews of an unfinished implementation or reaction, by round. */
export async function codeReviews(
  paths: Paths,
  workflow: 'implement' | 'react',
  id: ItemId,
): Promise<{ round: number; text: string; at: string }[]> {
  const folder = join(paths.home(workflow, id), 'reviews');
  const names = await readdir(folder).catch(() => []);
  const rounds = names.flatMap((name) => Number(/^review-(\d{1,4})\.md$/.exec(name)?.[1]) || []);
  const reviews: { round: number; text: string; at: string }[] = [];
  for (const round of rounds.sort((a, b) => a - b)) {
    const file = await readBelow(folder, join(folder, `review-${round}.md`));
    if (file !== null) reviews.push({ round, ...file });
  }
  return reviews;
}

/** A text below a folder, up to a maximum length. Null: it is missing, or a link leads out of the folder. */
export async function readBelow(folder: string, path: string): Promise<{ text: string; at: string } | null> {
  try {
    if (!isInside(await realpath(folder), await realpath(path))) return null;
    const file = await open(path, 'r');
    try {
      const { size, mtime } = await file.stat();
      const length = Math.min(size, MOST_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
      return { text: buffer.toString('utf8', 0, bytesRead), at: mtime.toISOString() };
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}
