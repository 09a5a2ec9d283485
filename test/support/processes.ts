import { readdirSync, readFileSync } from 'node:fs';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Worker processes that a program has started, by its process id. */
export function workersOf(parent: number | undefined): number[] {
  return read(`/proc/${parent}/task/${parent}/children`)
    .split(' ')
    .map(Number)
    .filter((pid) => pid > 0 && read(`/proc/${pid}/cmdline`).includes('dist/worker.js'));
}

/** Whether there is such a process, a zombie not counted. */
export function isAlive(pid: number): boolean {
  return /\) [^Z]/.test(read(`/proc/${pid}/stat`));
}

/** Every process whose environment or command line holds the text, whoever its parent is. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .filter((pid) => {
      const state = /\) (\S)/.exec(read(`/proc/${pid}/stat`))?.[1];
      return state !== 'Z' && (read(`/proc/${pid}/environ`) + read(`/proc/${pid}/cmdline`)).includes(text);
    });
}

/** Looks again and again until it holds; rejects when it does not within the bound. */
export async function eventually(what: string, holds: () => boolean, withinMs = 10_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
