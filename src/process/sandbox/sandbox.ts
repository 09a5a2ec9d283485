import type { ChildProcess } from 'node:child_process';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { firstLine } from '../../core/lines.ts';
import { packageRoot } from '../own-process.ts';
import { findProgram, runProgram, usersPath } from '../program.ts';
import { bubblewrapArguments, systemCallFilter } from './bubblewrap.ts';
import type { Rule } from './rules.ts';
import { seatbeltProfile } from './seatbelt.ts';

/** Starts programs so that they see, reach and change less than this process could. */
export interface Sandbox {
  /** All that a program starts ends with it, whatever it does. */
  readonly endsAll: boolean;
  enter(program: SandboxedProgram): SandboxedStart;
}

interface SandboxedProgram {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** How the program is started instead. */
interface SandboxedStart extends SandboxedProgram {
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

/** Who answers on a port of the sandbox's own loopback. */
export type Ports = ReadonlyMap<number, (socket: Socket) => void>;

export interface SandboxOptions {
  tool: SandboxTool;
  /** With `ENTRY` and our own Node shown where there are ports. */
  rules: readonly Rule[];
  /** A folder in which nothing is. */
  empty: string;
  /** A loopback of its own, on which we answer for these ports, and nothing else; host: the network of the machine. */
  network: Ports | 'host';
  /** Over the program's own. */
  env: Readonly<Record<string, string>>;
}

/** Exits with 126 or 127 where the program can't be run, as a shell does. */
const START = ['sh', '-c', 'exec "$@"', 'sh'];

/** `entry.ts`, as it is built. */
export const ENTRY = join(packageRoot(), 'dist', 'sandbox-entry.cjs');

/** By these `entry.ts` finds the open file over which it talks to us. */
const CHANNEL_VARIABLES = 'NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE';

/**
 * Starts `entry.ts`, and the program when that has done its part. The program gets neither the channel nor a variable of it;
 * what would make Node load something before the entry is not for the entry.
 */
const ENTER = `NODE_OPTIONS= "$1" "$2" "$3" </dev/null || exit 125; fd=$NODE_CHANNEL_FD; unset ${CHANNEL_VARIABLES}; shift 3; eval "exec $fd<&-"; exec "$@"`;

const FILTER_FD = 3;

export function createSandbox({ tool, rules, empty, network, env: added }: SandboxOptions): Sandbox {
  if (tool.kind === 'seatbelt') {
    const start = [tool.program, '-p', seatbeltProfile(rules, network === 'host'), ...START];
    return {
      endsAll: false,
      enter: ({ command, cwd, env }) => ({
        command: [...start, ...command],
        cwd,
        env: { ...env, ...added },
        stdio: [],
        started: () => undefined,
      }),
    };
  }
  const ports: Ports = network === 'host' ? new Map() : network;
  const filter = systemCallFilter(process.arch);
  const start =
    ports.size === 0 ? START : ['sh', '-c', ENTER, 'sh', process.execPath, ENTRY, [...ports.keys()].join(',')];
  return {
    endsAll: true,
    enter({ command, cwd, env }) {
      const filterFd = filter === null ? null : FILTER_FD;
      const into = bubblewrapArguments({ rules, empty, cwd, hasOwnNetwork: network !== 'host', filterFd });
      return {
        command: [tool.program, ...into, ...start, ...command],
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

/** Answers on these ports for a program that is started with `ENTER`, until that has ended. */
function answerOn(child: ChildProcess, ports: Ports): void {
  const servers = new Set<Server>();
  const close = (): void => {
    for (const server of servers) server.close();
  };
  child.once('exit', close);
  child.once('error', close);
  child.on('message', (message, handle) => {
    const { port } = message as { port: number };
    const answer = ports.get(port);
    const server = handle as Server | undefined;
    if (answer === undefined || server === undefined || servers.size === ports.size) return;
    servers.add(server);
    server.unref();
    server.on('connection', answer);
    if (servers.size < ports.size) return;
    // From here on nothing is left between the sandbox and this process but the sockets.
    if (child.connected) child.disconnect();
  });
}

/** What this machine has, or why it has none and what to do about that. */
export type FoundSandbox = { tool: SandboxTool; name: string } | { tool: null; reason: string; todo: string };

const TRIAL_MS = 10_000;

/** Tries it out: that it is installed does not mean that the kernel lets it work. */
export async function findSandbox(env: Readonly<Record<string, string | undefined>>): Promise<FoundSandbox> {
  const path = usersPath(env['PATH']);
  if (process.platform === 'darwin') {
    const program = await findProgram('sandbox-exec', '/usr/bin');
    if (program !== null) return { tool: { kind: 'seatbelt', program }, name: 'sandbox-exec' };
  }
  if (process.platform !== 'linux')
    return { tool: null, reason: `${process.platform} is not supported`, todo: 'Use Linux or macOS.' };
  const program = await findProgram('bwrap', path);
  if (program === null) {
    const todo = 'Install it: apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap.';
    return { tool: null, reason: 'bubblewrap (bwrap) is not installed', todo };
  }
  const tool: SandboxTool = { kind: 'bubblewrap', program };
  const sandbox = createSandbox({ tool, rules: [], empty: '/', network: new Map(), env: {} });
  const { signal } = new AbortController();
  const trial = { cwd: '/', env: { PATH: path }, signal, timeoutMs: TRIAL_MS, sandbox };
  const ended = await runProgram({ command: ['true'], ...trial });
  if (ended.exitCode === 0) return { tool, name: `bubblewrap (${program})` };
  return {
    tool: null,
    reason: `${program} does not work here: ${firstLine(ended.tail) || 'it said nothing'}`,
    todo: 'Allow user namespaces (in a container: --security-opt seccomp=unconfined --security-opt systempaths=unconfined; on Ubuntu: an AppArmor profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0).',
  };
}

/** What is said once where a run has to do without. */
export function withoutSandbox({ reason, todo }: { reason: string; todo: string }): string {
  return `No sandbox: ${reason}. Agents, commands, set-up and tests can read and change your files, use the network and leave processes behind. ${todo}`;
}
