import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { ConfigFlags } from '../core/config.ts';
import { durationFlag } from '../core/duration.ts';
import { AgentosError, usageError } from '../core/errors.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { DATABASE_VARIABLE, type VendorKey, withoutSecrets } from '../core/keys.ts';
import { shellWord } from '../core/lines.ts';
import { isInside, type PipelineName } from '../core/paths.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import { printable } from '../output/terminal.ts';
import { hideVariables, ownEnvironment } from '../process/own-process.ts';
import type { EvalRequest } from '../run/batches/eval-batch.ts';
import type { LandRequest } from '../run/batches/land-batch.ts';
import type { Until } from '../run/plan-batch.ts';
import { openProject, type Project } from '../run/project.ts';
import { type Claim, claimsOf, claimText, isTrusted, rememberTrust } from '../run/trust.ts';
import { BATCH_FLAGS, REPEATED, SELECT, SETTINGS, wordOf } from './flags.ts';

/** The flags of commands that work on a repository: where it is, and for most of them how to print. */
export interface PlaceFlags {
  repo?: string | undefined;
  baseDir?: string | undefined;
  config?: string | undefined;
  source?: string | undefined;
  database?: string | undefined;
  json?: boolean | undefined;
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

/** The flags of the commands that run items, by their names in `flags.ts`. */
export interface BatchFlags extends PlaceFlags, ConfigFlags {
  ids?: string[] | undefined;
  all?: boolean | undefined;
  /** True: without a number. */
  parallel?: number | true | undefined;
  halt?: number | true | undefined;
  dryRun?: boolean | undefined;
  quiet?: boolean | undefined;
  verbose?: boolean | undefined;
  until?: Until | undefined;
  trust?: boolean | undefined;
  again?: boolean | undefined;
  detach?: boolean | undefined;
  /** The command to run; false: no notification at all. */
  notify?: string | false | undefined;
}

/** What to run, and how. */
export interface BatchRequest {
  ids: ItemId[] | 'all';
  /** As they are to be repeated by a retry. */
  flags: BatchFlags;
  /** The flags that override settings. */
  settings: ConfigFlags;
  /** How many items at once: as asked, and as many as are allowed. */
  asked: number;
  workers: number;
  /** The hub's database; null: run on this machine. */
  database: string | null;
  evaluation?: EvalRequest | undefined;
  landing?: LandRequest | undefined;
}

/** The items that a command is given. */
export function selected(command: string, words: readonly string[], flags: BatchFlags): ItemId[] | 'all' {
  const ids = [...words, ...(flags.ids ?? [])].map((text) => readItemId(text, flags.repo));
  const both = `Either agentos ${command} ${command === 'issue' ? 'dark-mode' : '42 57'}, or agentos ${command} --all`;
  if (flags.all && ids.length > 0) throw usageError('Ids and --all exclude each other.', both);
  if (!flags.all && ids.length === 0) {
    // The number may be meant as an item.
    const isMany = Number(flags.parallel) > MAX_PARALLEL;
    const order = isMany ? `\nItems come first: agentos ${command} ${flags.parallel} --parallel 3` : '';
    throw usageError('Which items?', both + order);
  }
  if (flags.all && flags.again)
    throw usageError('--again needs ids and can’t be combined with --all.', `Write: agentos ${command} --again 42`);
  const [first, ...more] = selectingFlags(flags);
  if (first !== undefined && !flags.all)
    throw usageError(
      `${[first, ...more].join(' and ')} can only be used with --all.`,
      `Write: agentos ${command} --all ${first} …`,
    );
  return flags.all ? 'all' : ids;
}

export function selectingFlags(settings: ConfigFlags): string[] {
  return SELECT.flatMap((name) => (settings[name] === undefined ? [] : [wordOf(name)]));
}

const BARE_PARALLEL = 3;

export function requestOf(command: string, ids: ItemId[] | 'all', flags: BatchFlags): BatchRequest {
  const { parallel = 1, drafter, reviewer, implementer } = flags;
  const database = isLocal(command) ? null : databaseOf(flags);
  if (flags.detach && database === null)
    throw usageError(
      '--detach leaves items running at a hub, and none is named.',
      'Name its database with --database, or in AGENTOS_DATABASE_URL.',
    );
  if ((drafter ?? reviewer ?? implementer) !== undefined) refuseOffline(flags);
  const asked = parallel === true ? Math.min(BARE_PARALLEL, availableParallelism()) : parallel;
  const settings: ConfigFlags = Object.fromEntries(SETTINGS.map((name) => [name, flags[name]]));
  return { ids, flags, settings, asked, workers: Math.min(asked, MAX_PARALLEL), database };
}

export function refuseOffline({ offline }: BatchFlags): void {
  if (offline)
    throw usageError(
      "--offline plays the recorded tour and can't be combined with --drafter, --reviewer or --implementer.",
      'Remove --offline to work with models.',
    );
}

/** Evaluations, landings and reactions work on this repository and its pull requests, never at a hub. */
function isLocal(command: string): boolean {
  return command === 'eval' || command === 'land' || command === 'react';
}

/** The flags that a retry with this command has to repeat to mean the same. */
export function retryFlagsOf(command: PipelineName, { flags, workers, database }: BatchRequest): string[] {
  const { halt, until, notify } = flags;
  const values: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> = {
    ...flags,
    parallel: workers === 1 ? undefined : workers,
    halt: halt === true ? 1 : halt,
    // Not repeated if the environment names it.
    database: database === null || database === databaseOf({}) ? undefined : withoutPassword(database),
    until: until === 'implement' ? undefined : until,
    notify: notify || undefined,
    noNotify: notify === false,
  };
  const names = Object.keys(REPEATED) as (keyof typeof REPEATED)[];
  return names.flatMap((name) => {
    const value = values[name];
    if (value === undefined || value === false || !BATCH_FLAGS[command].includes(name)) return [];
    if (value === true) return [wordOf(name)];
    return [wordOf(name), shellWord(name.endsWith('Ms') ? durationFlag(Number(value)) : String(value))];
  });
}

function withoutPassword(url: string): string {
  const shown = URL.parse(url);
  if (shown === null) return '…';
  shown.password = '';
  return shown.href;
}
