import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { median } from './row.ts';

/** The kernel tells in steps of this, but counts exactly: of several runs together it tells enough. */
const TICK_MS = 10;
const GROUPS = 5;
const RUNS = 4;

interface Program {
  file: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Processor time of a program with all that it starts, in ms, as the median of some groups of runs. Unlike the time on the
 * wall it is nearly the same on a machine that has other things to do.
 */
export function processorMs(
  { file, args, cwd, env }: Program,
  { runs = GROUPS * RUNS, startOver = () => {} }: { runs?: number; startOver?: () => void } = {},
): number {
  const groups: number[] = [];
  for (let run = 0, began = 0; run < runs; run++) {
    startOver();
    if (run % RUNS === 0) began = childrenMs();
    const { status, stderr } = spawnSync(file, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    if (status === null || status === 2) throw new Error(`${file} ${args.join(' ')}: ${String(stderr)}`);
    if (run % RUNS === RUNS - 1) groups.push((childrenMs() - began) / RUNS);
  }
  return median(groups);
}

/** User and system time of all children that have ended, with those of theirs. */
export function childrenMs(): number {
  return timesOf('self').ended;
}

/** User and system time of a running process and of everything below it, in ms. */
export function treeMs(pid: number | string): number {
  const { own, ended } = timesOf(pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + unlessGone(child), own + ended);
}

/** What ends just now is counted by its parent from the next look on. */
function unlessGone(pid: string): number {
  try {
    return treeMs(pid);
  } catch {
    return 0;
  }
}

function timesOf(pid: number | string): { own: number; ended: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system, endedUser, endedSystem] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  const inTicks = (...ticks: (number | undefined)[]): number => ticks.reduce<number>((sum, n) => sum + (n ?? 0), 0);
  return { own: TICK_MS * inTicks(user, system), ended: TICK_MS * inTicks(endedUser, endedSystem) };
}
