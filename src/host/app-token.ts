import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';
import { inWords } from '../core/lines.ts';
import type { GitHubApp } from '../core/remote.ts';
import { Secret } from '../core/secret.ts';
import { connectionDetail, hostFailure } from './failure.ts';

/** GitHub's clock and ours may differ, and a token is renewed before it ends in the middle of something. */
const SKEW_S = 60;
const JWT_S = 540;
const EARLY_MS = 300_000;

const issued = z.looseObject({ token: z.string().min(1), expires_at: z.string() });

interface AppTokenOptions {
  app: GitHubApp;
  apiUrl: string;
  fetch: typeof globalThis.fetch;
}

/** Tokens of an installation of a GitHub App; each lasts an hour. */
export function createAppToken({ app, apiUrl, fetch }: AppTokenOptions): () => Promise<Secret> {
  let current: Promise<{ token: Secret; endsMs: number }> | null = null;
  const renew = async (): Promise<{ token: Secret; endsMs: number }> => {
    const answer = await ask(fetch, `${apiUrl}/app/installations/${app.installation}/access_tokens`, await jwtOf(app));
    return { token: new Secret(answer.token), endsMs: Date.parse(answer.expires_at) };
  };
  return async () => {
    const known = await current?.catch(() => null);
    if (!known || known.endsMs - Date.now() < EARLY_MS) current = renew();
    return (await (current ?? renew())).token;
  };
}

async function ask(fetch: typeof globalThis.fetch, url: string, jwt: string): Promise<z.infer<typeof issued>> {
  const headers = { authorization: `Bearer ${jwt}`, accept: 'application/vnd.github+json', 'user-agent': 'agentos' };
  const refusal = { host: 'github', what: 'work as the app of github.app', isWrite: false } as const;
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', headers });
  } catch (error) {
    throw hostFailure({ ...refusal, status: null, headers: {}, detail: connectionDetail(error), cause: error });
  }
  const answer = issued.safeParse(await response.json().catch(() => null));
  if (response.ok && answer.success) return answer.data;
  const detail = 'the app, its installation or its key is not accepted';
  throw hostFailure({
    ...refusal,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    detail,
    cause: null,
  });
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
    throw unusable(`${keyFile} holds no private key.`, error);
  }
}
