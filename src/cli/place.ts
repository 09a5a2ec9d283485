import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { ConfigFlags } from '../core/config.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { DATABASE_VARIABLE, type VendorKey, withoutSecrets } from '../core/keys.ts';
import { isInside } from '../core/paths.ts';
import { hideVariables, ownEnvironment } from '../process/own-environment.ts';
import { openProject, type Project } from '../run/project.ts';

/** The flags of every command that works on a repository. */
export interface PlaceFlags {
  repo?: string;
  baseDir?: string;
  config?: string;
  source?: string;
}

export async function projectOf(
  place: PlaceFlags,
  flags: ConfigFlags = {},
  options: { mayBeBare?: boolean } = {},
): Promise<Project> {
  const { repo, baseDir, config, source } = place;
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

export interface DatabaseFlags {
  database?: string;
}

/** The database of the hub; null: this machine works alone. */
export function databaseOf({ database }: DatabaseFlags): string | null {
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
