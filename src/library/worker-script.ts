import { join } from 'node:path';
import { packageRoot } from '../process/package-root.ts';

/** The program that a `ParallelCoordinator` starts as its workers. */
export function workerScript(): string {
  return join(packageRoot(), 'dist', 'worker.js');
}
