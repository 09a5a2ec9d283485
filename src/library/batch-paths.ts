import { join } from 'node:path';
import type { ItemId } from '../core/ids.ts';

export interface BatchPaths {
  results: string;
  result(id: ItemId): string;
  checkpoint(id: ItemId): string;
  lock(id: ItemId): string;
}

/** Where a batch keeps what it knows, apart from that of every other batch. */
export function batchPaths(baseDir: string, name: ItemId): BatchPaths {
  const own = join(baseDir, 'batches', name);
  return {
    results: join(own, 'results'),
    result: (id) => join(own, 'results', `${id}.json`),
    checkpoint: (id) => join(own, 'checkpoints', `${id}.db`),
    lock: (id) => join(own, 'locks', `${id}.lock`),
  };
}
