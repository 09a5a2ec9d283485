import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { writeFileExclusive } from '../process/exclusive-file.ts';

/** Each try is lost only to somebody who took that number in the same moment. */
const MOST_TRIES = 1_000;
/** More digits than a number can hold are a name. */
const NUMBER = /^\d{1,15}$/;

/**
 * Puts an issue under the next free number. The number is taken by the file itself, whole and at once: whoever is killed
 * before has taken none, and of any number of processes no two get the same.
 */
export async function writeNumberedIssue(paths: Paths, text: string): Promise<ItemId> {
  let number = await nextNumber(paths);
  for (let attempt = 1; attempt <= MOST_TRIES; attempt++, number++) {
    const id = parseItemId(String(number));
    if (await writeFileExclusive(paths.issue(id), text)) return id;
  }
  throw new AgentosError({
    code: 'output-unwritable',
    path: paths.issues,
    reason: `no free number after ${MOST_TRIES} tries`,
  });
}

/** Above every number in use, that of a deleted issue included: its design and its lineage must not become another's. */
async function nextNumber(paths: Paths): Promise<number> {
  const id = 'x' as ItemId;
  const places: [folder: string, name: string][] = [paths.issue(id), paths.lld(id), paths.lineage(id)].map((path) => [
    dirname(path),
    basename(path),
  ]);
  const used = await Promise.all(
    places.map(async ([folder, name]) => {
      const [before = '', after = ''] = name.split('x');
      const names = await readdir(folder).catch(() => []);
      return names
        .filter((entry) => entry.startsWith(before) && entry.endsWith(after))
        .map((entry) => entry.slice(before.length, entry.length - after.length))
        .filter((middle) => NUMBER.test(middle))
        .map(Number);
    }),
  );
  return used.flat().reduce((highest, number) => Math.max(highest, number), 0) + 1;
}
