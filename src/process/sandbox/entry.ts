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
    server.listen(port, '127.0.0.1', () => {
      process.send?.({ port }, server, {}, (error: Error | null) => (error === null ? resolve() : reject(error)));
    });
  });

process.on('message', () => process.exit(0));
Promise.all(ports.map(give)).catch((error: unknown) => {
  process.stderr.write(`the sandbox can't listen: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
