import { existsSync } from 'node:fs';
import type { Rule } from './rules.ts';

/**
 * bubblewrap's arguments up to the program: namespaces of its own for users, processes, IPC and control groups, no capability,
 * no gain of rights by any program, and the end of everything when the one that started it is gone. It is in no session of a
 * terminal: `runProgram` starts a new one.
 */
const APART = [
  '--die-with-parent --unshare-user-try --unshare-pid --unshare-ipc --unshare-cgroup-try --cap-drop ALL',
  '--ro-bind / / --dev /dev --proc /proc',
].flatMap((words) => words.split(' '));

/** What of /proc is about the machine: a program that runs as root could change it, or read more than it should. */
const READ_ONLY = ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/fs'];
const MASKED_FOLDERS = ['/proc/acpi', '/proc/asound', '/proc/scsi', '/sys/firmware'];
const MASKED_FILES = ['/proc/kcore', '/proc/keys', '/proc/key-users', '/proc/timer_list', '/proc/sched_debug'];

export interface BubblewrapOptions {
  rules: readonly Rule[];
  cwd: string;
  /** That of the machine, or one with a loopback of its own and nothing else. */
  network: 'own' | 'host';
  /** The number of an open file with a filter for system calls; null: there is none. */
  filterFd: number | null;
}

export function bubblewrapArguments({ rules, cwd, network, filterFd }: BubblewrapOptions): string[] {
  // A hidden place is closed when all that is shown in it is there.
  const closed: string[] = [];
  // What was there when the rules were made may be gone: a socket, or an empty folder that another run removed.
  const mounts = rules.flatMap(({ path, access, source, isFolder }) => {
    if (access === 'write') return ['--bind-try', source, path];
    if (access === 'read') return ['--ro-bind-try', source, path];
    if (!existsSync(path)) return [];
    // Mounted without devices, it can't be opened.
    if (!isFolder) return ['--ro-bind', '/dev/null', path];
    if (access === 'hidden') closed.push('--remount-ro', path);
    return ['--tmpfs', path];
  });
  return [
    ...APART,
    ...(network === 'own' ? ['--unshare-net'] : []),
    ...READ_ONLY.filter(existsSync).flatMap((path) => ['--ro-bind', path, path]),
    ...MASKED_FOLDERS.filter(existsSync).flatMap((path) => ['--tmpfs', path]),
    ...MASKED_FILES.filter(existsSync).flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...mounts,
    ...closed,
    ...(filterFd === null ? [] : ['--seccomp', String(filterFd)]),
    '--chdir',
    cwd,
    '--',
  ];
}
