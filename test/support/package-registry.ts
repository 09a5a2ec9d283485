import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

export interface PackageRegistry {
  url: string;
  /** The paths that were asked for. */
  readonly asked: string[];
  /** Serves these bytes in place of the archive; the checksum stays that of the archive. */
  corrupt(archive: Buffer): void;
  close(): Promise<void>;
}

/** A registry of npm on loopback, with one version of one package. */
export async function startPackageRegistry(name: string, version: string, archive: Buffer): Promise<PackageRegistry> {
  const asked: string[] = [];
  let served = archive;
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/');
    asked.push(path);
    if (path === '/archive.tgz') return void response.end(served);
    if (path !== `/${name}`) return void response.writeHead(404).end('{}');
    const dist = { tarball: `${url}/archive.tgz`, integrity };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { name, version, dist } } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return {
    url,
    asked,
    corrupt: (other) => {
      served = other;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
