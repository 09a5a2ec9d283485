import { spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';

/** Git's own HTTP back end for one bare repository, as a CGI program; false: the request is not for git. */
export function serveGit(
  bare: string,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
): boolean {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (bare === '' || !url.pathname.startsWith(`${path}/`)) return false;
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: dirname(bare),
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: `/remote.git${url.pathname.slice(path.length)}`,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      REMOTE_USER: 'tester',
    },
  });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  // The back end may end before it has read everything.
  child.stdin.on('error', () => undefined);
  child.stdin.end(body);
  child.on('close', () => {
    const all = Buffer.concat(pieces);
    const end = all.indexOf('\r\n\r\n');
    const lines = all.toString('latin1', 0, end).split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
    response.writeHead(Number.parseInt(headers['Status'] ?? '200', 10), headers).end(all.subarray(end + 4));
  });
  return true;
}
