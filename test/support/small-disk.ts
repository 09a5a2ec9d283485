import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCode } from '../../src/core/errors.ts';

/** A file system of its own, in memory. Mounting takes rights that not every machine grants. */
export interface SmallDisk {
  folder: string;
  /** Takes all the space that is left, and gives it back. */
  fill(): () => void;
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
    fill: () => fillWith(join(folder, 'filler')),
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

function fillWith(file: string): () => void {
  const handle = openSync(file, 'w');
  const block = Buffer.alloc(4096, 1);
  try {
    for (;;) writeSync(handle, block);
  } catch (error) {
    if (systemCode(error) !== 'ENOSPC') throw error;
  } finally {
    closeSync(handle);
  }
  return () => rmSync(file);
}
