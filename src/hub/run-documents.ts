import { type Item, itemOfKey } from '../core/item.ts';
import type { Sql } from './database.ts';
import { filesInTree, isNeededBy, readBlobs, type TreeFiles } from './document-trees.ts';
import type { RepositoryCache } from './repository-cache.ts';
import { bytesOf, type StoredFiles } from './results.ts';

/** The documents of a run: those that were submitted, overlaid with those that its items wrote since. */
export interface RunDocuments {
  /** The documents that an item needs, by path. */
  filesFor(item: Item): Promise<Map<string, Buffer>>;
}

/** `commit` holds the submitted documents and is in the cache. Everything is read once. */
function openRunDocuments(sql: Sql, run: string, commit: string, cache: RepositoryCache): RunDocuments {
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

/** Documents of this many runs are kept in memory. */
const MOST_RUNS = 8;

/** Opens the documents of each run once; the least recently used are closed. */
export function createDocumentsCache(sql: Sql): (run: string, commit: string, cache: RepositoryCache) => RunDocuments {
  const known = new Map<string, RunDocuments>();
  return (run, commit, cache) => {
    const documents = known.get(run) ?? openRunDocuments(sql, run, commit, cache);
    known.delete(run);
    known.set(run, documents);
    const [oldest] = known.keys();
    if (known.size > MOST_RUNS && oldest !== undefined) known.delete(oldest);
    return documents;
  };
}

/** The text of the design that an item has just written, or null. */
export function designIn(key: string, files: StoredFiles): string | null {
  const file = files[`docs/lld/LLD-${itemOfKey(key)?.id ?? ''}.md`];
  return file === undefined ? null : bytesOf(file).toString('utf8');
}
