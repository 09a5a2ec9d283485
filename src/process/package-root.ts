import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of our own package: the code is in dist/ or src/, at some depth. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/**
 * Where V8's compiled form of our own code is kept: in the package beside that code, and nowhere else. V8 runs what it
 * finds there, so a copy in a repository or a state folder could be a forged one. null: the package can't be written to,
 * or others can write to that folder; then everything is compiled again.
 */
export function compiledCodeFolder(): string | null {
  const folder = join(packageRoot(), 'dist', 'compiled');
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // Mostly it is there; any other reason shows in what is there.
  }
  try {
    const found = lstatSync(folder);
    const isOurs = found.uid === process.geteuid?.() && (found.mode & 0o022) === 0;
    return found.isDirectory() && isOurs ? folder : null;
  } catch {
    return null;
  }
}
