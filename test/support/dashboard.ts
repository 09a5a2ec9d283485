import { request } from 'node:http';
import { type Started, startAgentos } from './program.ts';
import type { TestRepository } from './repository.ts';

/** `agentos ui` on a repository. */
export interface Dashboard {
  /** With the token in its fragment. */
  url: string;
  port: number;
  program: Started;
  /** A request of any kind, as a program would send it; with `cookie` it is signed in. */
  ask(path: string, options?: Asked): Promise<{ status: number; headers: Record<string, unknown>; text: string }>;
  /** Signs in, and returns the cookie. */
  signIn(): Promise<string>;
  /** Ends it as Ctrl+C does. */
  close(): Promise<void>;
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export async function startDashboard(
  repository: TestRepository,
  { flags = [], env = {} }: { flags?: string[]; env?: Record<string, string> } = {},
): Promise<Dashboard> {
  const program = startAgentos(['ui', '--port', '0', ...flags], {
    cwd: repository.root,
    env: { HOME: repository.home, ...env },
  });
  await program.printed('Ctrl+C ends it');
  const url = /http:\S+/.exec(program.stdout())?.[0] ?? '';
  const { port, hash } = new URL(url);
  const ask: Dashboard['ask'] = (path, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return {
    url,
    port: Number(port),
    program,
    ask,
    async signIn() {
      const headers = { origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ token: hash.replace('#token=', '') });
      const { headers: answered } = await ask('/api/session', { method: 'POST', headers, body });
      return String(answered['set-cookie']).split(';')[0] ?? '';
    },
    async close() {
      program.child.kill('SIGINT');
      await program.ended;
    },
  };
}
