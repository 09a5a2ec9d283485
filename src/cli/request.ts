import { availableParallelism } from 'node:os';
import type { ConfigFlags } from '../core/config.ts';
import { usageError } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { flagWords } from '../core/lines.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import type { EvalRequest } from '../run/batches/eval-batch.ts';
import type { LandRequest } from '../run/batches/land-batch.ts';
import type { Until } from '../run/plan-batch.ts';
import { BOUND_FLAGS, type ConfigFlag, ROLE_FLAGS, SELECT_FLAGS } from './flags.ts';
import { type DatabaseFlags, databaseOf, type PlaceFlags, readItemId } from './place.ts';

const BARE_PARALLEL = 3;

/** As commander returns them; the options in `flags.ts` have checked and converted the values. */
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
  /** Trust the repository's configuration for this run. */
  trust: boolean;
  level: 'quiet' | 'normal' | 'verbose';
  place: PlaceFlags;
  config: ConfigFlags;
  /** Flags that the retry command repeats. */
  retryFlags: string[];
  until: Until | undefined;
  /** Implement items again that are done. */
  again: boolean;
  /** The command to run for a notification; false: no notification at all. */
  notify: string | false | undefined;
  evaluation?: EvalRequest | undefined;
  landing?: LandRequest | undefined;
  /** The hub's database; null: run on this machine. */
  database: string | null;
  /** Submit to the hub and don't wait. */
  detach: boolean;
}

export function parseBatchFlags(command: string, positional: readonly string[], rawFlags: unknown): BatchRequest {
  const flags = rawFlags as BatchFlags;
  const ids = [...positional, ...(flags.ids ?? [])].map((text) => readItemId(text, flags.repo));
  // Evaluations, landings and reactions work on this repository and its pull requests.
  const database = isLocal(command) ? null : databaseOf(flags);
  refuseContradictions(command, flags, ids, database);
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
      ...configOf(flags),
      offline: flags.offline,
      ...definedOnly({ source: flags.source, comment: flags.comment, pr: flags.pr, create: flags.create }),
    },
    again: flags.again ?? false,
    database,
    detach: flags.detach ?? false,
    until: flags.until,
    notify: flags.notify,
  };
  return { ...request, retryFlags: retryFlagsOf(request) };
}

function refuseContradictions(
  command: string,
  flags: BatchFlags,
  ids: readonly ItemId[],
  database: string | null,
): void {
  const refuse = (reason: string, hint: string): never => {
    throw usageError(reason, hint);
  };
  const example = command === 'issue' ? 'dark-mode' : '42 57';
  const both = `Either agentos ${command} ${example}, or agentos ${command} --all`;
  if (flags.all && ids.length > 0) refuse('Ids and --all exclude each other.', both);
  // The number may be meant as an item.
  const order =
    Number(flags.parallel) > MAX_PARALLEL
      ? `\nItems come first: agentos ${command} ${flags.parallel} --parallel 3`
      : '';
  if (!flags.all && ids.length === 0) refuse('Which items?', both + order);
  if (flags.all && flags.again)
    refuse('--again needs ids and can’t be combined with --all.', `Write: agentos ${command} --again 42`);
  const selects = SELECT_FLAGS.filter(({ setting }) => flags[setting] !== undefined).map(({ name }) => name);
  if (selects.length > 0 && !flags.all)
    refuse(`${selects.join(' and ')} can only be used with --all.`, `Write: agentos ${command} --all ${selects[0]} …`);
  if (flags.quiet && flags.verbose) refuse('--quiet and --verbose exclude each other.', 'Remove one of them.');
  if (flags.detach && database === null)
    refuse(
      '--detach leaves items running at a hub, and none is named.',
      'Name its database with --database, or in AGENTOS_DATABASE_URL.',
    );
  const { drafter, reviewer, implementer } = configOf(flags);
  if (flags.offline && (drafter ?? reviewer ?? implementer) !== undefined)
    refuse(
      "--offline plays the recorded tour and can't be combined with --drafter, --reviewer or --implementer.",
      'Remove --offline to work with models.',
    );
}

/** The settings that flags override. Commander names the value of `--max-cost` `maxCost`. */
function configOf(flags: BatchFlags): ConfigFlags {
  const nameOf = (flag: string): string => flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    [...ROLE_FLAGS, ...BOUND_FLAGS, ...SELECT_FLAGS].map(({ name, setting }) => [setting, flags[nameOf(name)]]),
  );
}

interface Parallel {
  workers: number;
  /** As the user wrote it; more than `workers` if that was too many. */
  asked: number;
  /** At a hub; null: as many as its machines take. */
  limit: number | null;
}

function parallelOf(flag: string | true | undefined): Parallel {
  const few = Math.min(BARE_PARALLEL, availableParallelism());
  const asked = flag === undefined ? 1 : flag === true ? few : wholeNumberOf('--parallel', flag);
  const workers = Math.min(asked, MAX_PARALLEL);
  return { workers, asked, limit: flag === undefined ? null : workers };
}

export function wholeNumberOf(name: string, text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1) return value;
  throw usageError(`${name} takes a whole number above 0, not "${text}".`, `Write e.g. ${name} 3, or ${name} alone.`);
}

type RetryFacts = Pick<
  BatchRequest,
  'config' | 'parallel' | 'haltAfter' | 'place' | 'until' | 'trust' | 'again' | 'notify' | 'database'
>;

/** The flags that a retry has to repeat to mean the same. */
export function retryFlagsOf(request: RetryFacts): string[] {
  const { config, parallel, haltAfter, place, until, trust, again, notify, database } = request;
  const written = (flags: readonly ConfigFlag[]): Record<string, string | number | undefined> =>
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
    '--repo': place.repo,
    '--base-dir': place.baseDir,
    '--config': place.config,
    '--source': config.source ?? place.source,
    // Not repeated if the environment names it.
    '--database': database === null || database === databaseOf({}) ? undefined : withoutPassword(database),
    // The default.
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

/** These never run at a hub. */
export function isLocal(command: string): boolean {
  return command === 'eval' || command === 'land' || command === 'react';
}

function withoutPassword(url: string): string {
  const shown = URL.parse(url);
  if (shown === null) return '…';
  shown.password = '';
  return shown.href;
}
