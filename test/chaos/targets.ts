import { readdirSync, readFileSync } from 'node:fs';
import { systemCode } from '../../src/core/errors.ts';
import { isAlive } from '../support/processes.ts';

export type Target = 'worker' | 'parent' | 'tests' | 'model';

/** Processes of that kind below the program, by what they were started as. */
export function findTargets(program: number, whom: Target): number[] {
  if (whom === 'parent') return isAlive(program) ? [program] : [];
  return descendantsOf(program).filter((pid) => {
    const command = read(`/proc/${pid}/cmdline`).split('\0');
    switch (whom) {
      case 'worker':
        return command.some((word) => word.endsWith('dist/worker.js'));
      case 'tests':
        return command.includes('--test');
      case 'model':
        return command.some((word) => word.endsWith('chaos/model.mjs')) && !command.includes('-c');
    }
  });
}

function descendantsOf(program: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = read(`/proc/${pid}/stat`);
    const [state = 'Z', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state !== 'Z') children.set(Number(parent), [...(children.get(Number(parent)) ?? []), pid]);
  }
  const found: number[] = [];
  const look = [program];
  for (let pid = look.pop(); pid !== undefined; pid = look.pop()) {
    const below = children.get(pid) ?? [];
    found.push(...below);
    look.push(...below);
  }
  return found;
}

const TICK_MS = 10;
/** Far more than Node needs until it runs our code, and the program until it listens to signals. */
const START_UP_MS = 300;

/** Whether the program has worked long enough to listen to signals; before that it ends by them as any other does. */
export function isListening(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS > START_UP_MS;
}

/** To a process that may have ended in this moment. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
