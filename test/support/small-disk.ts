import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCode } from '../../src/core/errors.ts';

/** A file system of its own, in memory. Mounting takes rights that not every machine grants. */
export interface SmallDisk {
  folder: string;
  /** Takes all the space that is left, but for so many bytes, and gives it back. */
  fill(leaving?: number): () => void;
  makeReadOnly(): void;
  unmount(): void;
}

export function mountSmallDisk(bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'agentos-disk-'));
  try {
    run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  return {
    folder,
    fill: (leaving = 0) => fillWith(join(folder, 'filler'), leaving),
    makeReadOnly: () => run('mount', ['-o', 'remount,ro', folder]),
    unmount: () => {
      run('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

export function canMount(): boolean {
  try {
    mountSmallDisk(65_536).unmount();
    return true;
  } catch {
    return false;
  }
}

function run(command: string, args: string[]): void {
  execFileSync(command, args, { stdio: 'pipe' });
}

/** Makes a folder read-only for whoever opens something in it from now on; files that are open stay as they are. */
export function makeFolderReadOnly(folder: string): () => void {
  run('mount', ['--bind', folder, folder]);
  run('mount', ['-o', 'remount,bind,ro', folder]);
  return () => run('umount', ['--lazy', folder]);
}

function fillWith(file: string, leaving: number): () => void {
  const handle = openSync(file, 'w');
  const block = Buffer.alloc(4096, 1);
  let size = 0;
  try {
    for (;;) size += writeSync(handle, block);
  } catch (error) {
    if (systemCode(error) !== 'ENOSPC') throw error;
    ftruncateSync(handle, Math.max(0, size - leaving));
  } finally {
    closeSync(handle);
  }
  return () => rmSync(file);
}
