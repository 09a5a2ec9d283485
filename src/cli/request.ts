import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import type { ConfigFlags } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { DATABASE_VARIABLE, type VendorKey, withoutSecrets } from '../core/keys.ts';
import { flagWords } from '../core/lines.ts';
import { isInside } from '../core/paths.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import { hideVariables, ownEnvironment } from '../process/own-environment.ts';
import type { Until } from '../run/batches.ts';
import type { EvalRequest } from '../run/eval-batch.ts';
import type { LandRequest } from '../run/land-batch.ts';
import { openProject, type Project } from '../run/project.ts';
import { BOUND_FLAGS, ROLE_FLAGS, SELECT_FLAGS } from './flags.ts';

const BARE_PARALLEL = 3;

/** As the parser of the command line leaves them: its options check and convert what they are given. */
interface BatchFlags extends PlaceFlags, DatabaseFlags {
  ids?: string[];
  all?: boolean;
  parallel?: string | true;
  dryRun?: boolean;
  halt?: string | true;
  json?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  offline?: boolean;
  until?: Until;
  trust?: boolean;
  again?: boolean;
  detach?: boolean;
  /** False: `--no-notify`. */
  notify?: string | false;
  comment?: boolean;
  pr?: boolean;
  create?: boolean;
  [setting: string]: unknown;
}

export interface BatchRequest {
  ids: ItemId[] | 'all';
  parallel: Parallel;
  dryRun: boolean;
  haltAfter: number | null;
  json: boolean;
  /** The repository's configuration is trusted for this run. */
  trust: boolean;
  level: 'quiet' | 'normal' | 'verbose';
  place: PlaceFlags;
  config: ConfigFlags;
  /** What a retry has to say again to mean the same. */
  retryFlags: string[];
  /** How far a pipeline goes. */
  until?: Until;
  /** Items that are done are done over. */
  again: boolean;
  /** The command to run when a person should know; false: nothing is to be heard of it. */
  notify?: string | false;
  /** Of `eval`. */
  evaluation?: EvalRequest;
  /** Of `land`. */
  landing?: LandRequest;
  /** The hub's database; null: this machine alone. */
  database: string | null;
  /** On a hub: submit and leave. */
  detach: boolean;
}

export function parseBatchFlags(command: string, positional: readonly string[], rawFlags: unknown): BatchRequest {
  const flags = rawFlags as BatchFlags;
  const usage = (reason: string, hint: string): AgentosError => new AgentosError({ code: 'usage', reason, hint });
  const ids = [...positional, ...(flags.ids ?? [])].map((text) => readItemId(text, flags.repo));
  const example = command === 'issue' ? 'dark-mode' : '42 57';
  const both = `agentos ${command} ${example}, or agentos ${command} --all`;
  if (flags.all && ids.length > 0) throw usage('Ids and --all exclude each other.', `Either ${both}`);
  if (!flags.all && ids.length === 0) throw usage('Which items?', `Either ${both}`);
  if (flags.all && flags.again)
    throw usage('--again does over the items that you name, not all.', `Write: agentos ${command} --again 42`);
  const selects = SELECT_FLAGS.filter(({ setting }) => flags[setting] !== undefined).map(({ name }) => name);
  if (selects.length > 0 && !flags.all)
    throw usage(`${selects.join(' and ')} choose among all issues.`, `Write: agentos ${command} --all ${selects[0]} …`);
  if (flags.quiet && flags.verbose) throw usage('--quiet and --verbose exclude each other.', 'Remove one of them.');
  const config = configOf(flags);
  const database = isLocal(command) ? null : databaseOf(flags);
  if (flags.detach && command === 'watch')
    throw usage('A watch waits for changes, so it has nothing to leave.', 'Remove --detach.');
  if (flags.detach && database === null)
    throw usage(
      '--detach leaves items running on a hub, and none is named.',
      'Name its database with --database, or in AGENTOS_DATABASE_URL.',
    );
  if (flags.offline && (config.drafter ?? config.reviewer ?? config.implementer) !== undefined) {
    throw usage(
      "--offline plays the recorded tour and can't be combined with --drafter, --reviewer or --implementer.",
      'Remove --offline to work with models.',
    );
  }
  const request: Omit<BatchRequest, 'retryFlags'> = {
    ids: flags.all ? 'all' : ids,
    parallel: parallelOf(flags.parallel),
    dryRun: flags.dryRun ?? false,
    haltAfter: flags.halt === undefined ? null : flags.halt === true ? 1 : wholeNumberOf('--halt', flags.halt),
    json: flags.json ?? false,
    trust: flags.trust ?? false,
    level: flags.quiet ? 'quiet' : flags.verbose ? 'verbose' : 'normal',
    place: definedOnly({ repo: flags.repo, baseDir: flags.baseDir, config: flags.config, source: flags.source }),
    config: {
      ...config,
      offline: flags.offline,
      ...definedOnly({ source: flags.source, comment: flags.comment, pr: flags.pr, create: flags.create }),
    },
    again: flags.again ?? false,
    database,
    detach: flags.detach ?? false,
    ...(flags.until === undefined ? {} : { until: flags.until }),
    ...(flags.notify === undefined ? {} : { notify: flags.notify }),
  };
  return { ...request, retryFlags: retryFlagsOf(request) };
}

/** `--max-cost` is `maxCost` to the parser. */
function configOf(flags: BatchFlags): ConfigFlags {
  const nameOf = (flag: string): string => flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    [...ROLE_FLAGS, ...BOUND_FLAGS, ...SELECT_FLAGS].map(({ name, setting }) => [setting, flags[nameOf(name)]]),
  );
}

/** How many at once, and how many were asked for when that was more. */
interface Parallel {
  workers: number;
  asked: number;
  /** On a hub; null: as many as its machines take. */
  limit: number | null;
}

function parallelOf(flag: string | true | undefined): Parallel {
  const few = Math.min(BARE_PARALLEL, availableParallelism());
  const asked = flag === undefined ? 1 : flag === true ? few : wholeNumberOf('--parallel', flag);
  const workers = Math.min(asked, MAX_PARALLEL);
  return { workers, asked, limit: flag === undefined ? null : workers };
}

function wholeNumberOf(name: string, text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1) return value;
  throw new AgentosError({
    code: 'usage',
    reason: `${name} takes a whole number above 0, not "${text}".`,
    hint: `Write e.g. ${name} 3, or ${name} alone.`,
  });
}

/** What a retry has to say again to mean the same: who, within which bounds, where, and how far. */
export function retryFlagsOf({
  config,
  parallel,
  haltAfter,
  place,
  until,
  trust,
  again,
  notify,
  database = null,
}: Pick<BatchRequest, 'config' | 'parallel' | 'haltAfter' | 'place' | 'until' | 'trust' | 'again' | 'notify'> &
  Partial<Pick<BatchRequest, 'database'>>): string[] {
  const written = (flags: typeof BOUND_FLAGS): Record<string, string | number | undefined> =>
    Object.fromEntries(
      flags.map(({ name, setting, write }) => {
        const value = config[setting];
        if (typeof value === 'number' && write !== undefined) return [name, write(value)];
        return [name, typeof value === 'boolean' ? undefined : value];
      }),
    );
  const values: Record<string, string | number | null | undefined> = {
    ...written(ROLE_FLAGS),
    '--parallel': parallel.workers === 1 ? undefined : parallel.workers,
    '--halt': haltAfter,
    ...written(BOUND_FLAGS),
    ...placeValues({ ...place, ...definedOnly({ source: config.source }) }),
    // Nothing to repeat where the environment names it.
    '--database': database === null || database === databaseOf({}) ? undefined : withoutPassword(database),
    // The whole way is what is meant without it.
    '--until': until === 'implement' ? undefined : until,
    '--notify': notify || undefined,
  };
  const switches = {
    '--offline': config.offline,
    '--again': again,
    '--trust': trust,
    '--comment': config.comment,
    '--pr': config.pr,
    '--create': config.create,
    '--no-notify': notify === false,
  };
  const given = Object.entries(switches).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  return [...flagWords(values), ...given];
}

/** Flags that say where: every command that looks at a repository has them. */
export interface PlaceFlags {
  repo?: string;
  baseDir?: string;
  config?: string;
  source?: string;
}

/** Comparisons, landings and reactions are made here: they work on what is in this repository and its pull requests. */
export function isLocal(command: string): boolean {
  return command === 'eval' || command === 'land' || command === 'react';
}

export interface DatabaseFlags {
  database?: string;
}

/** The database of the hub; null: this machine works alone. */
export function databaseOf({ database }: DatabaseFlags): string | null {
  // The arguments of a process are for all users of the machine to read.
  if (database !== undefined && URL.parse(database)?.password) process.title = 'agentos';
  return database ?? (ownEnvironment()[DATABASE_VARIABLE]?.trim() || null);
}

/** For lines that are shown. */
function withoutPassword(url: string): string {
  const shown = URL.parse(url);
  if (shown === null) return '…';
  shown.password = '';
  return shown.href;
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
  return project;
}

/** From here on, keys and whatever else looks secret are in our memory alone. False: other programs can still see them. */
export function hideSecrets(keys: readonly VendorKey[]): boolean {
  const env = ownEnvironment();
  const kept = withoutSecrets(env, keys, []);
  return hideVariables(new Set(Object.keys(env).filter((name) => !(name in kept))));
}

function placeValues(place: PlaceFlags): Record<string, string | undefined> {
  return { '--repo': place.repo, '--base-dir': place.baseDir, '--config': place.config, '--source': place.source };
}

/** They have to be in every line to copy, to mean the same repository. */
export function placeFlagsOf(place: PlaceFlags): string[] {
  return flagWords(placeValues(place));
}

/** An id as people type it: `21`, `#21`, or the file that they completed with a tab, `issues/21.md`. */
export function readItemId(text: string, repo: string | undefined): ItemId {
  const id = text.replace(/^#/, '');
  return isItemId(id) ? id : (idOfFile(text, resolve(repo ?? '.')) ?? parseItemId(text));
}

/** Only a file of the repository that we are in: one of another is not what the id would mean. */
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
