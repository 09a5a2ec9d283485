import { type Item, itemOfKey } from '../core/item.ts';
import type { Sql } from './database.ts';
import { filesInTree, isNeededBy, readBlobs, type TreeFiles } from './document-trees.ts';
import type { RepositoryCache } from './repository-cache.ts';
import { bytesOf, type StoredFiles } from './results.ts';

/** The documents of a run: what was submitted, and on top of it what its items wrote since. */
export interface RunDocuments {
  /** Those that an item works with, by path. */
  filesFor(item: Item): Promise<Map<string, Buffer>>;
}

/** `commit`: what was submitted, which is in the cache. What has been read once is not read again. */
export function openRunDocuments(sql: Sql, run: string, commit: string, cache: RepositoryCache): RunDocuments {
  let submitted: Promise<TreeFiles> | null = null;
  const written = new Map<number, StoredFiles>();

  const readResults = async (): Promise<void> => {
    const rows = await sql.rows<{ id: number; files: StoredFiles }>(
      `SELECT i.id, i.result->'repository' AS files FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item
        WHERE o.run = $1 AND i.state = 'ended' AND i.result IS NOT NULL AND i.id <> ALL($2) ORDER BY i.id`,
      [run, [...written.keys()]],
    );
    for (const { id, files } of rows) written.set(id, files);
  };

  return {
    async filesFor(item) {
      submitted ??= filesInTree(cache.git, commit);
      submitted.catch(() => {
        submitted = null;
      });
      const wanted = new Map([...(await submitted)].filter(([path]) => isNeededBy(item, path)));
      const files = await readBlobs(cache.git, wanted);
      await readResults();
      for (const result of written.values())
        for (const [path, file] of Object.entries(result)) if (isNeededBy(item, path)) files.set(path, bytesOf(file));
      return files;
    },
  };
}

/** The text of a design that an item has just made; null: it made none. */
export function designIn(key: string, files: StoredFiles): string | null {
  const file = files[`docs/lld/LLD-${itemOfKey(key)?.id ?? ''}.md`];
  return file === undefined ? null : bytesOf(file).toString('utf8');
}
