import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { packageRoot } from '../own-process.ts';
import { bubblewrapArguments } from './bubblewrap.ts';
import { answerOn, ENTER, type Ports } from './ports.ts';
import type { Rule } from './rules.ts';
import { seatbeltProfile } from './seatbelt.ts';
import { systemCallFilter } from './seccomp.ts';

/** Starts programs so that they see, reach and change less than this process could. */
export interface Sandbox {
  /** All that a program starts ends with it, whatever it does. */
  readonly endsAll: boolean;
  enter(program: SandboxedProgram): SandboxedStart;
}

export interface SandboxedProgram {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** How the program is started instead. */
export interface SandboxedStart extends SandboxedProgram {
  /** Open files beside the standard streams. */
  stdio: ('pipe' | 'ipc')[];
  started(child: ChildProcess): void;
}

/** What a program of an item needs of its sandbox. */
export interface SandboxWish {
  /** The folder that it works in, whole. */
  worktree: string;
  may: 'read' | 'write';
  /** All that it sees of the environment: what the PATH and others name is shown. */
  env: Readonly<Record<string, string>>;
  /** As a person wrote it: what it names by a path is shown. */
  command?: string | undefined;
  /**
   * Beside its own loopback. gateway; registries; models: hosts that the configuration names for models that are commands; host: the
   * machine's own network. Absent: nothing.
   */
  network?: readonly ('gateway' | 'registries' | 'models' | 'host')[] | undefined;
  /** Places in the user's home that it may read and change. */
  own?: readonly string[] | undefined;
  /**
   * Of a set-up. True: nothing that an agent wrote is in the worktree, so that what is fetched may be used by other items; false: what is
   * fetched is for this item alone.
   */
  isUntouched?: boolean | undefined;
}

/** Undefined: the item's programs run without one. */
export type OpenSandbox = (wish: SandboxWish) => Promise<Sandbox | undefined>;

/** What the platform has, and where it is. */
export interface SandboxTool {
  kind: 'bubblewrap' | 'seatbelt';
  program: string;
}

export interface SandboxOptions {
  tool: SandboxTool;
  /** With `ENTRY` and our own Node shown where there are ports. */
  rules: readonly Rule[];
  /** A folder in which nothing is. */
  empty: string;
  /** own: a loopback of its own, on which we answer for some ports, and nothing else; host: that of the machine. */
  network: { is: 'own'; ports: Ports } | { is: 'host' };
  /** Over the program's own. */
  env: Readonly<Record<string, string>>;
}

/** Exits with 126 or 127 where the program can't be run, as a shell does. */
const START = 'exec "$@"';
const FILTER_FD = 3;

/** `entry.ts`, as it is built. */
export const ENTRY = join(packageRoot(), 'dist', 'sandbox-entry.cjs');

export function createSandbox({ tool, rules, empty, network, env: added }: SandboxOptions): Sandbox {
  if (tool.kind === 'seatbelt') {
    const profile = seatbeltProfile(rules, network.is);
    return {
      endsAll: false,
      enter: ({ command, cwd, env }) => ({
        command: [tool.program, '-p', profile, 'sh', '-c', START, 'sh', ...command],
        cwd,
        env: { ...env, ...added },
        stdio: [],
        started: () => undefined,
      }),
    };
  }
  const ports: Ports = network.is === 'own' ? network.ports : new Map();
  const filter = systemCallFilter(process.arch);
  return {
    endsAll: true,
    enter({ command, cwd, env }) {
      const filterFd = filter === null ? null : FILTER_FD;
      const start =
        ports.size === 0
          ? ['sh', '-c', START, 'sh']
          : ['sh', '-c', ENTER, 'sh', process.execPath, ENTRY, [...ports.keys()].join(',')];
      return {
        command: [
          tool.program,
          ...bubblewrapArguments({ rules, empty, cwd, network: network.is, filterFd }),
          ...start,
          ...command,
        ],
        cwd,
        env: { ...env, ...added },
        stdio: [...(filter === null ? [] : (['pipe'] as const)), ...(ports.size === 0 ? [] : (['ipc'] as const))],
        started(child) {
          if (filter !== null) giveFilter(child.stdio[FILTER_FD] as Writable, filter);
          if (ports.size > 0) answerOn(child, ports);
        },
      };
    },
  };
}

function giveFilter(pipe: Writable, filter: Buffer): void {
  // A sandbox that could not be made has not read it.
  pipe.on('error', () => undefined);
  pipe.end(filter);
}
