import { createServer } from 'node:net';

/*
 * The first program in a sandbox that has a network of its own and needs something outside of it. It listens on a few ports, hands
 * the listening sockets to the process outside, and ends; then the program itself is started. A socket stays in the network that
 * it was made in: connections from inside are accepted by the process outside.
 */

const ports = (process.argv[2] ?? '').split(',').map(Number);
const give = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    // There is no address but loopback; to name it would load what looks up names.
    server.listen(port, () => {
      process.send?.({ port }, server, {}, (error: Error | null) => (error === null ? resolve() : reject(error)));
    });
  });

// A connection that comes before the process outside is ready waits for it.
Promise.all(ports.map(give)).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`the sandbox can't listen: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
