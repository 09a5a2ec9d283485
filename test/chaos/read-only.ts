import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a folder read-only for everybody, root included, by a mount of itself over it: what was opened before can still
 * be written to. Returns how to undo it.
 */
export function makeReadOnly(folder: string): () => void {
  // A mount that is made read-only in its place may be written to before it is: so it is made elsewhere first.
  const elsewhere = mkdtempSync(join(tmpdir(), 'agentos-mount-'));
  mount('mount', '--bind', folder, elsewhere);
  try {
    mount('mount', '-o', 'remount,bind,ro', elsewhere);
    mount('mount', '--bind', elsewhere, folder);
  } finally {
    mount('umount', elsewhere);
    rmdirSync(elsewhere);
  }
  return () => mount('umount', '--lazy', folder);
}

function mount(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: 'pipe' });
}
