import { existsSync } from 'node:fs';
import type { Rule } from './rules.ts';

/**
 * bubblewrap's arguments up to the program: namespaces of its own for users, processes and IPC, no capability, no gain of rights
 * by any program, and the end of everything when the one that started it is gone. It is in no session of a terminal:
 * `runProgram` starts a new one. No namespace for control groups: Java could not find its own below /sys, and would crash.
 */
const APART =
  '--die-with-parent --unshare-user-try --unshare-pid --unshare-ipc --cap-drop ALL --ro-bind / / --dev /dev --proc /proc'.split(
    ' ',
  );

/** What of /proc is about the machine: root needs no capability to change it, or to read more than it should. */
const READ_ONLY = ['/proc/sys', '/proc/fs'];
const MASKED = ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/sched_debug'];

interface BubblewrapOptions {
  rules: readonly Rule[];
  /** A folder in which nothing is; stands in the place of hidden ones. */
  empty: string;
  cwd: string;
  /** With a loopback of its own and nothing else; otherwise the machine's. */
  hasOwnNetwork: boolean;
  /** The number of an open file with a filter for system calls; null: no filter. */
  filterFd: number | null;
}

export function bubblewrapArguments({ rules, empty, cwd, hasOwnNetwork, filterFd }: BubblewrapOptions): string[] {
  const isRoot = process.getuid?.() === 0;
  return [
    ...APART,
    ...(hasOwnNetwork ? ['--unshare-net'] : []),
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

/*
 * A filter for system calls that no namespace holds back: the kernel's keyrings belong to the user, not to a container; sockets of
 * the kind VSOCK lead out of a virtual machine; io_uring makes sockets past the filter. Anything else is allowed.
 */

interface Numbers {
  /** The kernel's name for the processor, as it tells the filter. */
  architecture: number;
  socket: number;
  /** add_key, request_key, keyctl */
  keys: readonly number[];
}

const NUMBERS: Partial<Record<NodeJS.Architecture, Numbers>> = {
  x64: { architecture: 0xc000003e, socket: 41, keys: [248, 249, 250] },
  arm64: { architecture: 0xc00000b7, socket: 198, keys: [217, 218, 219] },
};
const IO_URING = [425, 426, 427];
/** Calls with this bit are the same ones under another number. */
const X32 = 0x40000000;
const AF_VSOCK = 40;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in what the filter is shown of a call. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const FIRST_ARGUMENT_AT = 16;

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const refuse = (errno: number): number => 0x00050000 | errno;

/** code, jump if true, jump if false, value */
type Instruction = readonly [number, number, number, number];

/** The filter as the kernel takes it; null: the numbers of this processor's calls are not known here. */
export function systemCallFilter(processor: NodeJS.Architecture): Buffer | null {
  const numbers = NUMBERS[processor];
  if (numbers === undefined) return null;
  const { architecture, socket, keys } = numbers;
  const refusedIf = (number: number, errno: number): Instruction[] => [
    [JUMP_IF_EQUAL, 0, 1, number],
    [RETURN, 0, 0, refuse(errno)],
  ];
  const instructions: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    // Programs for an older processor of the same family make calls by other numbers.
    [JUMP_IF_EQUAL, 1, 0, architecture],
    [RETURN, 0, 0, refuse(ENOSYS)],
    [LOAD, 0, 0, NUMBER_AT],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, refuse(ENOSYS)],
    ...keys.flatMap((number) => refusedIf(number, EPERM)),
    ...IO_URING.flatMap((number) => refusedIf(number, ENOSYS)),
    [JUMP_IF_EQUAL, 0, 3, socket],
    [LOAD, 0, 0, FIRST_ARGUMENT_AT],
    ...refusedIf(AF_VSOCK, EAFNOSUPPORT),
    [RETURN, 0, 0, ALLOW],
  ];
  const filter = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    filter.writeUInt16LE(code, index * 8);
    filter.writeUInt8(ifTrue, index * 8 + 2);
    filter.writeUInt8(ifFalse, index * 8 + 3);
    filter.writeUInt32LE(value, index * 8 + 4);
  }
  return filter;
}
