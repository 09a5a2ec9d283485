import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { ConfigFlags } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { DATABASE_VARIABLE, type VendorKey, withoutSecrets } from '../core/keys.ts';
import { isInside } from '../core/paths.ts';
import { printable } from '../output/terminal.ts';
import { hideVariables, ownEnvironment } from '../process/own-process.ts';
import { openProject, type Project } from '../run/project.ts';
import { type Claim, claimsOf, claimText, isTrusted, rememberTrust } from '../run/trust.ts';

/** The flags of every command that works on a repository. */
export interface PlaceFlags {
  repo?: string | undefined;
  baseDir?: string | undefined;
  config?: string | undefined;
  source?: string | undefined;
  /** Of those commands that a hub can answer, too. */
  database?: string | undefined;
}

export async function projectOf(
  { repo, baseDir, config, source }: PlaceFlags,
  flags: ConfigFlags = {},
  options: { mayBeBare?: boolean } = {},
): Promise<Project> {
  const env = ownEnvironment();
  const own = { ...definedOnly({ source }), ...flags };
  const project = await openProject({ cwd: process.cwd(), env, repo, baseDir, config, flags: own, ...options });
  hideSecrets(project.keys);
  process.env['PATH'] = project.childEnv['PATH'];
  return project;
}

/**
 * From here on, keys and other secrets, passwords in URLs among them, exist in our memory only. False: other programs can still
 * see them.
 */
export function hideSecrets(keys: readonly VendorKey[]): boolean {
  const env = ownEnvironment();
  const visible = withoutSecrets(env, keys, []);
  return hideVariables(new Set(Object.keys(env).filter((name) => visible[name] !== env[name])));
}

/** The database of the hub; null: this machine works alone. */
export function databaseOf({ database }: Pick<PlaceFlags, 'database'>): string | null {
  const env = ownEnvironment();
  const text = database ?? (env[DATABASE_VARIABLE]?.trim() || null);
  const url = URL.parse(text ?? '');
  // The driver would look for it in the environment, where it is hidden by then.
  const password = env['PGPASSWORD'] ?? '';
  if (url === null || url.hostname === '' || url.password !== '' || password === '') return text;
  url.password = password;
  return url.href;
}

/** An id as people type it: `21`, `#21`, or a file name completed by the shell, `issues/21.md`. */
export function readItemId(text: string, repo: string | undefined): ItemId {
  const id = text.replace(/^#/, '');
  return isItemId(id) ? id : (idOfFile(text, resolve(repo ?? '.')) ?? parseItemId(text));
}

/** Only files of the current repository: the id of another one's file would mean something else here. */
function idOfFile(text: string, inside: string): ItemId | null {
  const id = basename(text, '.md');
  if (!text.endsWith('.md') || !isItemId(id)) return null;
  for (const path of [resolve(text), resolve(inside, text)]) {
    const folder = dirname(path);
    const isOurs = ['issues', 'briefs'].includes(basename(folder)) && isInside(dirname(folder), inside);
    if (isOurs && existsSync(path)) return id;
  }
  return null;
}

/** Throws if the repository's settings are not trusted; on a terminal it asks for trust first. */
export async function requireTrust(project: Project, isTrustedOnce = false): Promise<void> {
  if (isTrustedOnce) {
    project.hosts.requireTrust = async () => undefined;
    return;
  }
  const claims = claimsOf(project);
  if (await isTrusted(project, claims)) return;
  if (process.stdin.isTTY && process.stderr.isTTY) {
    process.stderr.write(`${claimLines(project, claims)}\n`);
    if (await saysYes('Trust these settings of this repository from now on? [y/N] ')) {
      await rememberTrust(project, claims);
      return;
    }
  }
  const command = ['agentos trust', ...project.placeFlags].join(' ');
  throw new AgentosError({ code: 'untrusted', claims: claims.map(claimText), command });
}

export function claimLines({ paths }: Project, claims: readonly Claim[]): string {
  const lines = claims.map((claim) => `  ${claimText(claim)}`);
  return [`${printable(paths.repository)} asks for this:`, ...lines].join('\n');
}

export async function saysYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await lines.question(question));
  } finally {
    lines.close();
  }
}
