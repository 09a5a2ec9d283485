import { join } from 'node:path';
import type { ItemId } from '../core/ids.ts';

export interface BatchPaths {
  compileCache: string;
  results: string;
  result(id: ItemId): string;
  checkpoint(id: ItemId): string;
  lock(id: ItemId): string;
}

/** Where a batch keeps what it knows, apart from that of every other batch. */
export function batchPaths(baseDir: string, name: ItemId): BatchPaths {
  const own = join(baseDir, 'batches', name);
  return {
    compileCache: join(baseDir, 'compile-cache'),
    results: join(own, 'results'),
    result: (id) => join(own, 'results', `${id}.json`),
    checkpoint: (id) => join(own, 'checkpoints', `${id}.db`),
    lock: (id) => join(own, 'locks', `${id}.lock`),
  };
}
