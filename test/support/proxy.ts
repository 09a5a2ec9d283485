import http from 'node:http';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';

export interface TestProxy {
  /** With a name and a password in it. */
  url: string;
  password: string;
  /** `GET http://host:port/path` or `CONNECT host:port`, in the order of arrival; without a password: `refused`. */
  seen: string[];
}

/** A proxy that reaches one port of this machine under whatever host it is asked for. */
export async function startProxy(port: number): Promise<TestProxy> {
  const password = 'hunter2-of-the-proxy';
  const expected = `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
  const seen: string[] = [];
  const sockets = new Set<Duplex>();
  const proxy = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.headers['proxy-authorization'] !== expected) return void response.writeHead(407).end();
    const { pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _, 'proxy-connection': __, ...headers } = request.headers;
    const passed = http.request(
      { host: '127.0.0.1', port, path: pathname + search, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  proxy.on('connect', (request, socket: Duplex) => {
    seen.push(`CONNECT ${request.url}`);
    sockets.add(socket);
    if (request.headers['proxy-authorization'] !== expected) return void socket.end('HTTP/1.1 407 No\r\n\r\n');
    const target = net.connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    for (const end of [target, socket]) end.on('error', () => socket.destroy());
    sockets.add(target);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.closeAllConnections();
    proxy.close();
  });
  const address = proxy.address() as net.AddressInfo;
  return { url: `http://user:${password}@127.0.0.1:${address.port}`, password, seen };
}
