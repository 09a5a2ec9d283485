import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** Linux: O_CLOEXEC, a bit of `flags` in /proc/self/fdinfo. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes the files that a shell left open for this process, except the standard streams. A program in a sandbox would inherit
 * them, and through an open folder it would reach what the sandbox hides. Linux only: elsewhere, Node passes on no other files.
 */
export function closeInheritedFiles(): void {
  for (const name of openFiles()) {
    const fd = Number(name);
    // The system closes what Node itself opened when another program is started.
    if (fd > 2 && (flagsOf(name) & CLOSE_ON_EXEC) === 0) closeSync(fd);
  }
}

function openFiles(): string[] {
  try {
    return readdirSync('/proc/self/fd');
  } catch {
    return [];
  }
}

/** A file that is closed by now counts as not inherited. */
function flagsOf(name: string): number {
  try {
    return Number.parseInt(
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1] ?? '',
      8,
    );
  } catch {
    return CLOSE_ON_EXEC;
  }
}
