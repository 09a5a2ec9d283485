import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** Of Linux, in `flags` of /proc/self/fdinfo. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes files that a shell left open for this process, other than the standard streams: a program in a sandbox would inherit
 * them, and an open folder leads to all that the sandbox hides. Linux only: elsewhere, Node passes on no files but those named.
 */
export function closeInheritedFiles(): void {
  for (const name of openFiles()) {
    const fd = Number(name);
    // What Node itself opened is closed by the system when another program is started.
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

/** Of a file that is closed already, as if it would not be inherited. */
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
