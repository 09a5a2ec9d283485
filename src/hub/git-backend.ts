import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, rename, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { AgentosError } from '../core/errors.ts';
import { createGit, type Git } from '../git/git.ts';
import { makeFolder } from '../process/files.ts';

/** A repository is named after the first commit of its history. */
const REPOSITORY = /^[0-9a-f]{40,64}$/;

/** Tells the hook below which refs a push may touch, by prefix. */
const MAY_PUSH = 'AGENTOS_MAY_PUSH';

/** Runs for each ref of a push: a token may write the refs of its own item or run. */
const UPDATE_HOOK = `#!/bin/sh
for prefix in $${MAY_PUSH}; do
  case "$1" in "$prefix"*) exit 0 ;; esac
done
echo "agentos: this token may not write $1" >&2
exit 1
`;

const SETTINGS = {
  'http.receivepack': 'true',
  'uploadpack.allowAnySHA1InWant': 'true',
  'gc.auto': '0',
  'receive.autogc': 'false',
  'core.logAllRefUpdates': 'false',
  // An interrupted push leaves nothing that others would read.
  'receive.fsckObjects': 'true',
  'fsck.zeroPaddedFilemode': 'ignore',
  'fsck.missingSpaceBeforeDate': 'ignore',
};

/** The bare repositories of a hub, and git's own HTTP back end over them. */
export interface GitBackend {
  /** Creates the repository if it is missing. */
  open(repository: string): Promise<Git>;
  /** `path` is the part of the URL below the repository. */
  serve(request: IncomingMessage, response: ServerResponse, asked: GitRequest): void;
}

interface GitRequest {
  repository: string;
  path: string;
  query: string;
  /** The name in git's own logs. */
  user: string;
  mayPush: readonly string[];
}

export function createGitBackend(folder: string, env: Record<string, string>): GitBackend {
  const opening = new Map<string, Promise<Git>>();

  const open = async (repository: string): Promise<Git> => {
    if (!REPOSITORY.test(repository))
      throw new AgentosError({ code: 'usage', reason: `${repository} is not the name of a repository.` });
    const directory = join(folder, `${repository}.git`);
    await makeFolder(directory);
    const git = createGit(directory, env);
    if (existsSync(join(directory, 'hooks', 'update'))) return git;
    const format = repository.length > 40 ? ['--object-format=sha256'] : [];
    await git.run(['init', '--bare', '--quiet', ...format, '.']);
    for (const [name, value] of Object.entries(SETTINGS)) await git.run(['config', name, value]);
    const hook = join(directory, 'hooks', 'update');
    await makeFolder(join(directory, 'hooks'));
    await writeFile(`${hook}.new`, UPDATE_HOOK);
    await chmod(`${hook}.new`, 0o755);
    // Last: a repository with this file counts as complete.
    await rename(`${hook}.new`, hook);
    return git;
  };

  return {
    open(repository) {
      const opened = opening.get(repository) ?? open(repository);
      opening.set(repository, opened);
      opened.catch(() => opening.delete(repository));
      return opened;
    },
    serve(request, response, { repository, path, query, user, mayPush }) {
      const { 'content-type': type, 'content-encoding': encoding, 'git-protocol': protocol } = request.headers;
      const child = spawn('git', ['http-backend'], {
        cwd: folder,
        env: {
          ...env,
          GIT_PROJECT_ROOT: folder,
          GIT_HTTP_EXPORT_ALL: '1',
          PATH_INFO: `/${repository}.git${path}`,
          QUERY_STRING: query,
          REQUEST_METHOD: request.method ?? 'GET',
          REMOTE_USER: user,
          REMOTE_ADDR: request.socket.remoteAddress ?? '',
          [MAY_PUSH]: mayPush.join(' '),
          ...(typeof type === 'string' ? { CONTENT_TYPE: type } : {}),
          ...(typeof protocol === 'string' ? { GIT_PROTOCOL: protocol } : {}),
        },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      child.stdin.on('error', () => undefined);
      const body = encoding === 'gzip' ? request.pipe(createGunzip()) : request;
      body.on('error', () => child.kill());
      body.pipe(child.stdin);
      response.on('close', () => {
        if (!response.writableFinished) child.kill();
      });
      child.on('error', () => response.destroy());
      passOn(child.stdout, response);
    },
  };
}

const LONGEST_HEAD = 64 * 1024;

/** Passes on the output of a CGI program: headers, an empty line, the body. */
function passOn(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) {
      if (head.length > LONGEST_HEAD) response.destroy();
      return;
    }
    output.off('data', onData);
    let status = 200;
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(/:\s*/, 2);
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10) || 500;
      else if (name !== '') response.setHeader(name, value);
    }
    response.writeHead(status);
    response.write(head.subarray(end + 4));
    output.pipe(response);
  };
  output.on('data', onData);
  output.on('end', () => {
    if (!response.headersSent) response.writeHead(500);
    response.end();
  });
}
