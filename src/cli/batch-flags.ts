import { availableParallelism } from 'node:os';
import type { ConfigFlags } from '../core/config.ts';
import { durationFlag } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import { flagWords } from '../core/shell-word.ts';
import type { Until } from '../run/pipelines.ts';
import { readItemId } from './item-id.ts';
import { placeValues } from './place-flags.ts';

const BARE_PARALLEL = 3;

/** As the parser of the command line leaves them: its options check and convert what they are given. */
interface BatchFlags {
  ids?: string[];
  all?: boolean;
  parallel?: string | true;
  dryRun?: boolean;
  halt?: string | true;
  json?: boolean;
  timeout?: number;
  globalTimeout?: number;
  idleTimeout?: number;
  maxRetries?: number;
  maxRounds?: number;
  maxCost?: number;
  maxCostPerItem?: number;
  quiet?: boolean;
  verbose?: boolean;
  drafter?: string;
  reviewer?: string;
  implementer?: string;
  offline?: boolean;
  repo?: string;
  baseDir?: string;
  config?: string;
  until?: Until;
}

export interface BatchRequest {
  ids: ItemId[] | 'all';
  parallel: Parallel;
  dryRun: boolean;
  haltAfter: number | null;
  json: boolean;
  level: 'quiet' | 'normal' | 'verbose';
  place: { repo?: string; baseDir?: string; config?: string };
  config: ConfigFlags;
  /** What a retry has to say again to mean the same. */
  retryFlags: string[];
  /** How far a pipeline goes. */
  until?: Until;
}

export function parseBatchFlags(command: string, positional: readonly string[], rawFlags: unknown): BatchRequest {
  const flags = rawFlags as BatchFlags;
  const usage = (reason: string, hint: string): AgentosError => new AgentosError({ code: 'usage', reason, hint });
  const ids = [...positional, ...(flags.ids ?? [])].map((text) => readItemId(text, flags.repo));
  const example = command === 'issue' ? 'dark-mode' : '42 57';
  const both = `agentos ${command} ${example}, or agentos ${command} --all`;
  if (flags.all && ids.length > 0) throw usage('Ids and --all exclude each other.', `Either ${both}`);
  if (!flags.all && ids.length === 0) throw usage('Which items?', `Either ${both}`);
  if (flags.quiet && flags.verbose) throw usage('--quiet and --verbose exclude each other.', 'Leave one of them away.');
  if (flags.offline && (flags.drafter ?? flags.reviewer ?? flags.implementer) !== undefined) {
    throw usage(
      '--offline plays the recorded tour, so --drafter, --reviewer and --implementer have no place beside it.',
      'Remove --offline to work with models.',
    );
  }
  const request: Omit<BatchRequest, 'retryFlags'> = {
    ids: flags.all ? 'all' : ids,
    parallel: parallelOf(flags.parallel),
    dryRun: flags.dryRun ?? false,
    haltAfter: flags.halt === undefined ? null : flags.halt === true ? 1 : wholeNumberOf('--halt', flags.halt),
    json: flags.json ?? false,
    level: flags.quiet ? 'quiet' : flags.verbose ? 'verbose' : 'normal',
    place: definedOnly({ repo: flags.repo, baseDir: flags.baseDir, config: flags.config }),
    config: {
      drafter: flags.drafter,
      reviewer: flags.reviewer,
      implementer: flags.implementer,
      offline: flags.offline,
      maxRounds: flags.maxRounds,
      maxRetries: flags.maxRetries,
      timeoutMs: flags.timeout,
      globalTimeoutMs: flags.globalTimeout,
      idleTimeoutMs: flags.idleTimeout,
      maxCostUsd: flags.maxCost,
      maxCostPerItemUsd: flags.maxCostPerItem,
    },
    ...(flags.until === undefined ? {} : { until: flags.until }),
  };
  return { ...request, retryFlags: retryFlagsOf(request) };
}

/** How many at once, and how many were asked for when that was more. */
export interface Parallel {
  workers: number;
  asked: number;
}

function parallelOf(flag: string | true | undefined): Parallel {
  const few = Math.min(BARE_PARALLEL, availableParallelism());
  const asked = flag === undefined ? 1 : flag === true ? few : wholeNumberOf('--parallel', flag);
  return { workers: Math.min(asked, MAX_PARALLEL), asked };
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
}: Pick<BatchRequest, 'config' | 'parallel' | 'haltAfter' | 'place' | 'until'>): string[] {
  const duration = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : durationFlag(ms));
  const values: Record<string, string | number | null | undefined> = {
    '--drafter': config.drafter,
    '--reviewer': config.reviewer,
    '--implementer': config.implementer,
    '--parallel': parallel.workers === 1 ? undefined : parallel.workers,
    '--halt': haltAfter,
    '--timeout': duration(config.timeoutMs),
    '--global-timeout': duration(config.globalTimeoutMs),
    '--idle-timeout': duration(config.idleTimeoutMs),
    '--max-retries': config.maxRetries,
    '--max-rounds': config.maxRounds,
    '--max-cost': config.maxCostUsd,
    '--max-cost-per-item': config.maxCostPerItemUsd,
    ...placeValues(place),
    // The whole way is what is meant without it.
    '--until': until === 'implement' ? undefined : until,
  };
  return [...flagWords(values), ...(config.offline ? ['--offline'] : [])];
}

function definedOnly<T extends Record<string, string | undefined>>(values: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: string;
  };
}
