import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** A network between two programs that can be cut, swallow everything, or be slow. */
export interface TcpProxy {
  port: number;
  /** To where from now on. */
  target: number;
  /** Every connection breaks, and new ones are refused. */
  cut(): void;
  /** Nothing arrives any more, and no one is told. */
  swallow(): void;
  /** Each piece takes so long. */
  slow(ms: number): void;
  heal(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'swallowing' = 'open';
  let delayMs = 0;
  const server = createServer((socket) => {
    if (state === 'cut') return void socket.destroy();
    const other = connect(proxy.target, '127.0.0.1');
    for (const one of [socket, other]) {
      sockets.add(one);
      one.on('error', () => undefined).on('close', () => sockets.delete(one));
    }
    const network = (): Transform =>
      new Transform({
        transform(chunk, _, done) {
          const pass = (): void => {
            if (state === 'swallowing') setTimeout(pass, 50).unref();
            else done(null, chunk);
          };
          if (delayMs > 0) setTimeout(pass, delayMs).unref();
          else pass();
        },
      });
    const end = (): void => {
      if (state === 'swallowing') return void setTimeout(end, 50).unref();
      socket.destroy();
      other.destroy();
    };
    socket.pipe(network()).pipe(other);
    other.pipe(network()).pipe(socket);
    socket.on('close', end);
    other.on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    target,
    cut() {
      state = 'cut';
      for (const socket of sockets) socket.destroy();
    },
    swallow() {
      state = 'swallowing';
    },
    slow(ms) {
      delayMs = ms;
    },
    heal() {
      state = 'open';
      delayMs = 0;
    },
    async close() {
      state = 'open';
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return proxy;
}
