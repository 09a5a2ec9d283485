import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';

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
    const { start, end } = environmentBlock();
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
  for (let at = 0; at < block.length; ) {
    const stop = block.indexOf(0, at);
    const length = (stop === -1 ? block.length : stop) - at;
    const [name = ''] = block.toString('latin1', at, at + length).split('=', 1);
    if (names.has(name)) found.push({ at, length });
    at += length + 1;
  }
  return found;
}

/** Of /proc/self/stat the fields 50 and 51. The command name before them may hold spaces and brackets. */
function environmentBlock(): { start: number; end: number } {
  const text = readFileSync('/proc/self/stat', 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { start: Number(fields[47]), end: Number(fields[48]) };
}
