import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { isInside } from '../core/paths.ts';

/** An id as people type it: `21`, `#21`, or the file that they completed with a tab, `issues/21.md`. */
export function readItemId(text: string, repo: string | undefined): ItemId {
  const id = text.replace(/^#/, '');
  return isItemId(id) ? id : (idOfFile(text, resolve(repo ?? '.')) ?? parseItemId(text));
}

/** Only a file of the repository that we are in: one of another is not what the id would mean. */
function idOfFile(text: string, inside: string): ItemId | null {
  const id = basename(text, '.md');
  if (!text.endsWith('.md') || !isItemId(id)) return null;
  for (const path of [resolve(text), resolve(inside, text)]) {
    const folder = dirname(path);
    const isOurs = basename(folder) === 'issues' && isInside(dirname(folder), inside);
    if (isOurs && existsSync(path)) return id;
  }
  return null;
}
