import { existsSync } from 'node:fs';
import type { Rule } from './rules.ts';

/**
 * bubblewrap's arguments up to the program: namespaces of its own for users, processes and IPC, no capability, no gain of rights
 * by any program, and the end of everything when the one that started it is gone. It is in no session of a terminal:
 * `runProgram` starts a new one. No namespace for control groups: Java could not find its own below /sys, and would crash.
 */
const APART = [
  '--die-with-parent --unshare-user-try --unshare-pid --unshare-ipc --cap-drop ALL',
  '--ro-bind / / --dev /dev --proc /proc',
].flatMap((words) => words.split(' '));

/** What of /proc is about the machine: root needs no capability to change it, or to read more than it should. */
const READ_ONLY = ['/proc/sys', '/proc/fs'];
const MASKED = ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/sched_debug'];

export interface BubblewrapOptions {
  rules: readonly Rule[];
  /** A folder in which nothing is; stands in the place of hidden ones. */
  empty: string;
  cwd: string;
  /** That of the machine, or one with a loopback of its own and nothing else. */
  network: 'own' | 'host';
  /** The number of an open file with a filter for system calls; null: no filter. */
  filterFd: number | null;
}

export function bubblewrapArguments({ rules, empty, cwd, network, filterFd }: BubblewrapOptions): string[] {
  const isRoot = process.getuid?.() === 0;
  return [
    ...APART,
    ...(network === 'own' ? ['--unshare-net'] : []),
    ...(isRoot ? READ_ONLY.filter(existsSync).flatMap((path) => ['--ro-bind', path, path]) : []),
    ...(isRoot ? MASKED.filter(existsSync).flatMap(masked) : []),
    ...mountsFor(rules, empty),
    ...(filterFd === null ? [] : ['--seccomp', String(filterFd)]),
    '--chdir',
    cwd,
    '--',
  ];
}

/** Each of them takes time, so that a place is hidden by one where that is enough. */
function mountsFor(rules: readonly Rule[], empty: string): string[] {
  const closed: string[] = [];
  // What was there when the rules were made may be gone: a socket, or an empty folder that another run removed.
  const mounts = rules.flatMap(({ path, access, source, isFolder }) => {
    if (access === 'write') return ['--bind-try', source, path];
    if (access === 'read') return ['--ro-bind-try', source, path];
    if (access === 'link') return ['--symlink', source, path];
    if (!existsSync(path)) return [];
    if (!isFolder) return masked(path);
    if (access === 'private') return ['--tmpfs', path];
    if (!rules.some((other) => other.path.startsWith(`${path}/`))) return ['--ro-bind', empty, path];
    // Closed when all that is shown in it is there.
    closed.push('--remount-ro', path);
    return ['--tmpfs', path];
  });
  return [...mounts, ...closed];
}

/** Mounted without devices, it can't be opened. */
function masked(path: string): string[] {
  return ['--ro-bind', '/dev/null', path];
}
