import type { ChildProcess } from 'node:child_process';
import { connect, type Server, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';

/** Who answers on a port of the sandbox's own loopback. */
export type Ports = ReadonlyMap<number, (socket: Socket) => void>;

/** A port of this machine's loopback, for one of the same number in the sandbox. */
export function samePort(port: number): (socket: Socket) => void {
  return (socket) => joinStreams(socket, connect(port, '127.0.0.1'));
}

/** What one says the other hears, until either of them is gone. */
export function joinStreams(one: Duplex, other: Duplex): void {
  // One that left while the other was still being opened: a pipeline to it would throw.
  if (one.destroyed || other.destroyed) {
    one.destroy();
    other.destroy();
    return;
  }
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}

/** By these `entry.ts` finds the open file over which it talks to us. */
const CHANNEL_VARIABLES = 'NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE';

/**
 * Starts `entry.ts`, and the program when that has done its part. The program gets neither the channel nor a variable of it;
 * what would make Node load something before the entry is not for the entry.
 */
export const ENTER = `NODE_OPTIONS= "$1" "$2" "$3" </dev/null || exit 125; fd=$NODE_CHANNEL_FD; unset ${CHANNEL_VARIABLES}; shift 3; eval "exec $fd<&-"; exec "$@"`;

/** Answers on these ports for a program that is started with `ENTER`, until that has ended. */
export function answerOn(child: ChildProcess, ports: Ports): void {
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
