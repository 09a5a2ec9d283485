import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';
import { inWords } from '../core/lines.ts';
import { type GitHubApp, type HostName, TOKEN_VARIABLES } from '../core/remote.ts';
import { Secret } from '../core/secret.ts';
import { findProgram, runProgram, usersPath } from '../process/program.ts';
import { connectionDetail, hostFailure } from './failure.ts';
import { createWholeFetch } from './fetch.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const GH_TIMEOUT_MS = 10_000;

/** From the environment, else from `gh`. */
export async function findToken(
  host: HostName,
  webHost: string,
  { env, childEnv, cwd }: { env: Environment; childEnv: Record<string, string>; cwd: string },
): Promise<Secret> {
  for (const name of TOKEN_VARIABLES[host]) if (env[name]?.trim()) return new Secret(env[name].trim());
  const gh = host === 'github' ? await findProgram('gh', usersPath(env['PATH'])) : null;
  if (gh !== null) {
    const { signal } = new AbortController();
    const command = [gh, 'auth', 'token', '--hostname', webHost];
    const { exitCode, stdout } = await runProgram({ command, cwd, env: childEnv, signal, timeoutMs: GH_TIMEOUT_MS });
    if (exitCode === 0 && stdout.trim() !== '') return new Secret(stdout.trim());
  }
  throw new AgentosError({ code: 'host-token-missing', host });
}

/** Allows for a clock that differs from GitHub's; a token is renewed early so that it doesn't expire during a request. */
const SKEW_S = 60;
const JWT_S = 540;
const EARLY_MS = 300_000;

const issued = z.looseObject({ token: z.string().min(1), expires_at: z.string() });

/** Installation tokens of a GitHub App; each is valid for an hour. */
export function createAppToken(app: GitHubApp, apiUrl: string): () => Promise<Secret> {
  const fetch = createWholeFetch(apiUrl);
  let current: Promise<{ token: Secret; endsMs: number }> | null = null;

  async function renew(): Promise<{ token: Secret; endsMs: number }> {
    const refusal = { host: 'github', what: 'work as the app of github.app' } as const;
    const authorization = `Bearer ${await jwtOf(app)}`;
    const headers = { authorization, accept: 'application/vnd.github+json', 'user-agent': 'agentos' };
    const url = `${apiUrl}/app/installations/${app.installation}/access_tokens`;
    const response = await fetch(url, { method: 'POST', headers }).catch((error: unknown) => {
      throw hostFailure({ ...refusal, detail: connectionDetail(error), cause: error });
    });
    const { success, data } = issued.safeParse(await response.json().catch(() => null));
    if (response.ok && success) return { token: new Secret(data.token), endsMs: Date.parse(data.expires_at) };
    const detail = 'it does not accept the app, its installation or its key';
    const { status, headers: said } = response;
    throw hostFailure({ ...refusal, status, headers: Object.fromEntries(said), detail });
  }

  return async () => {
    const known = await current?.catch(() => null);
    if (!known || known.endsMs - Date.now() < EARLY_MS) current = renew();
    return (await (current ?? renew())).token;
  };
}

async function jwtOf({ id, keyFile }: GitHubApp): Promise<string> {
  const unusable = (reason: string, cause: unknown): AgentosError =>
    new AgentosError({ code: 'host-token-unusable', host: 'github', reason }, { cause });
  const key = await readFile(keyFile, 'utf8').catch((error: unknown) => {
    throw unusable(`${keyFile} can't be read: ${inWords(systemCode(error) ?? String(error))}.`, error);
  });
  const now = Math.floor(Date.now() / 1_000);
  const parts = [
    { alg: 'RS256', typ: 'JWT' },
    { iat: now - SKEW_S, exp: now + JWT_S, iss: id },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  try {
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key, 'base64url')}`;
  } catch (error) {
    throw unusable(`${keyFile} does not contain a private key.`, error);
  }
}
