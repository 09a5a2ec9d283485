import { MOST_DESIGNS } from '../core/forecast.ts';
import { type Item, itemOfKey } from '../core/item.ts';
import { commitFiles } from '../git/repository.ts';
import type { Sql } from './database.ts';
import {
  designPath,
  filesInTree,
  idOfDesign,
  isNeededBy,
  isOfOneItem,
  REPORTS,
  readBlobs,
  type TreeFiles,
} from './document-trees.ts';
import type { RepositoryCache } from './repository-cache.ts';
import { bytesOf, type StoredFile, type StoredFiles } from './results.ts';

/** The documents of a run: those that were submitted, overlaid with those that its items wrote since. */
interface RunDocuments {
  /** The documents that an item needs, by path. */
  filesFor(item: Item): Promise<Map<string, Buffer>>;
}

/** Both are in the cache. */
interface RunCommits {
  base: string;
  /** The submitted documents. */
  documents: string;
}

function openRunDocuments(
  sql: Sql,
  run: string,
  { base, documents }: RunCommits,
  cache: RepositoryCache,
): RunDocuments {
  let submitted: Promise<TreeFiles> | null = null;
  const read = new Set<number>();
  /** What ended items wrote and all others may need, by path. */
  const shared = new Map<string, StoredFile>();

  /** Reads the results that are new, and those of the item's own earlier stages. */
  const ownFiles = async ({ id }: Item): Promise<StoredFiles> => {
    const rows = await sql.rows<{ id: number; isOwn: boolean; files: StoredFiles }>(
      `SELECT i.id, substr(i.key, strpos(i.key, '-') + 1) = $3 AS "isOwn", i.result->'repository' AS files
        FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item
        WHERE o.run = $1 AND i.state = 'ended' AND i.result IS NOT NULL
          AND (i.id <> ALL($2) OR substr(i.key, strpos(i.key, '-') + 1) = $3) ORDER BY i.id`,
      [run, [...read], id],
    );
    const own: StoredFiles = {};
    for (const { id: row, isOwn, files } of rows) {
      if (isOwn) Object.assign(own, files);
      if (!read.has(row))
        for (const [path, file] of Object.entries(files)) if (!isOfOneItem(path)) shared.set(path, file);
      read.add(row);
    }
    return own;
  };

  return {
    async filesFor(item) {
      submitted ??= filesInTree(cache.git, documents);
      submitted.catch(() => {
        submitted = null;
      });
      const tree = await submitted;
      const written = new Map([...Object.entries(await ownFiles(item)), ...shared]);
      const paths = [...new Set([...tree.keys(), ...written.keys()])].filter((path) => isNeededBy(item, path));
      const wanted = new Set(item.workflow === 'lld' ? await comparedDesigns(paths, item, base, cache) : paths);
      const files = await readBlobs(
        cache.git,
        new Map([...tree].filter(([path]) => wanted.has(path) && !written.has(path))),
      );
      for (const [path, file] of written) if (wanted.has(path)) files.set(path, bytesOf(file));
      return files;
    },
  };
}

/** Without the designs that a new one is not compared with (`workflow/designs.ts`): each item would get all designs of a long backlog. */
async function comparedDesigns(
  paths: readonly string[],
  { id }: Item,
  base: string,
  { git }: RepositoryCache,
): Promise<string[]> {
  const designs = paths.filter((path) => idOfDesign(path) !== null && path !== designPath(id));
  if (designs.length <= MOST_DESIGNS) return [...paths];
  const built = new Set(await commitFiles(git, base).names(REPORTS));
  const unbuilt = designs
    .filter((path) => !built.has(`${idOfDesign(path)}.md`))
    .toSorted(new Intl.Collator('en', { numeric: true }).compare);
  const dropped = new Set(designs);
  for (const path of unbuilt.slice(-MOST_DESIGNS)) dropped.delete(path);
  return paths.filter((path) => !dropped.has(path));
}

/** Documents of this many runs are kept in memory. */
const MOST_RUNS = 8;

/** Opens the documents of each run once; the least recently used are closed. */
export function createDocumentsCache(
  sql: Sql,
): (run: string, commits: RunCommits, cache: RepositoryCache) => RunDocuments {
  const known = new Map<string, RunDocuments>();
  return (run, commits, cache) => {
    const documents = known.get(run) ?? openRunDocuments(sql, run, commits, cache);
    known.delete(run);
    known.set(run, documents);
    const [oldest] = known.keys();
    if (known.size > MOST_RUNS && oldest !== undefined) known.delete(oldest);
    return documents;
  };
}

/** The text of the design that an item has just written, or null. */
export function designIn(key: string, files: StoredFiles): string | null {
  const file = files[designPath(itemOfKey(key)?.id ?? '')];
  return file === undefined ? null : bytesOf(file).toString('utf8');
}
