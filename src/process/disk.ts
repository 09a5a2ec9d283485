import { accessSync, constants, statfsSync } from 'node:fs';
import { systemCode } from '../core/errors.ts';

/** A file of ours rarely needs more; with less than this, what was refused was refused for want of space. */
const FULL_WITHIN_BYTES = 64 * 1024;

/** Why nothing can be written to the disk that a folder is on, as the operating system's code; null: it can. */
export function diskFault(folder: string): 'ENOSPC' | 'EROFS' | null {
  if (freeBytes(folder) < FULL_WITHIN_BYTES) return 'ENOSPC';
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return systemCode(error) === 'EROFS' ? 'EROFS' : null;
  }
}

/** Infinite where it is not known. */
export function freeBytes(folder: string): number {
  try {
    const disk = statfsSync(folder);
    return disk.files > 0 && disk.ffree === 0 ? 0 : disk.bavail * disk.bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
