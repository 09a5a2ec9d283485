import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * What this process was started with and from: its package, its arguments, its environment, its directory, and the files that its
 * shell left open.
 */

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

type Environment = Readonly<Record<string, string | undefined>>;

let atStart: Environment | null = null;

/** The environment as this program was started with it, whatever was hidden since. */
export function ownEnvironment(): Environment {
  atStart ??= { ...process.env };
  return atStart;
}

/**
 * Takes variables out of this process: out of what it hands on, and out of what Linux shows of it to every program of the
 * same user (`/proc/<pid>/environ`). That file is a view of the memory in which the variables were handed to us, so that they
 * are overwritten there. False: Linux would not let us, and they can still be seen.
 */
export function hideVariables(names: ReadonlySet<string>): boolean {
  ownEnvironment();
  const isDone = names.size === 0 || process.platform !== 'linux' || overwrite(names);
  for (const name of names) delete process.env[name];
  return isDone;
}

function overwrite(names: ReadonlySet<string>): boolean {
  let memory: number | null = null;
  try {
    // Of /proc/self/stat the fields 50 and 51. The command name before them may hold spaces and brackets.
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const [start = 0, end = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(47, 49)
      .map(Number);
    memory = openSync('/proc/self/mem', 'r+');
    const block = Buffer.alloc(end - start);
    readSync(memory, block, 0, block.length, start);
    for (const { at, length } of entriesOf(block, names))
      writeSync(memory, Buffer.alloc(length), 0, length, start + at);
    return entriesOf(readFileSync('/proc/self/environ'), names).length === 0;
  } catch {
    return false;
  } finally {
    if (memory !== null) closeSync(memory);
  }
}

/** Where these variables stand among `NAME=value` with a NUL behind each. */
function entriesOf(block: Buffer, names: ReadonlySet<string>): { at: number; length: number }[] {
  const found: { at: number; length: number }[] = [];
  let at = 0;
  for (const entry of block.toString('latin1').split('\0')) {
    if (names.has(entry.split('=', 1)[0] ?? '')) found.push({ at, length: entry.length });
    at += entry.length + 1;
  }
  return found;
}

/** Linux: O_CLOEXEC, a bit of `flags` in /proc/self/fdinfo. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes the files that a shell left open for this process, except the standard streams. A program in a sandbox would inherit
 * them, and through an open folder it would reach what the sandbox hides. Linux only: elsewhere, Node passes on no other files.
 */
export function closeInheritedFiles(): void {
  let names: string[];
  try {
    names = readdirSync('/proc/self/fd');
  } catch {
    return;
  }
  // The system closes what Node itself opened when another program is started.
  for (const name of names) if (Number(name) > 2 && !isClosedOnExec(name)) closeSync(Number(name));
}

/** Also of a file that is closed by now. */
function isClosedOnExec(fd: string): boolean {
  try {
    const [, flags = ''] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true;
  }
}

/** The arguments of a process are for all users of the machine to read: a token, or an address with a password in it. */
export function hideArguments(): void {
  const hasPassword = (url: URL | null): boolean =>
    Boolean(url?.password) || url?.searchParams.has('password') === true;
  const isSecret = (word: string): boolean =>
    /^--token(?:=|$)/.test(word) || hasPassword(URL.parse(word.replace(/^--[a-z-]+=/, '')));
  if (process.argv.some(isSecret)) process.title = 'agentos';
}

/** In a directory that was removed, every call that asks for the current one would fail. */
export function leaveRemovedDirectory(): void {
  try {
    process.cwd();
  } catch {
    process.chdir('/');
  }
}
