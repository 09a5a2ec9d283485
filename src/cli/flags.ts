import { InvalidArgumentError } from 'commander';
import { type ConfigFlags, DESIGN_SIZES, SANDBOX_MODES } from '../core/config.ts';
import { parseDuration } from '../core/duration.ts';
import { usageError } from '../core/errors.ts';
import type { PipelineName } from '../core/paths.ts';

/** How a flag is written, what help says of it, and how its value is read. */
export type Flag = readonly [words: string, help: string, reading?: Parse | FlagReading];

/** Converts a value, and throws if it is not valid. `before`: the last value, if the flag is given again. */
type Parse = (text: string, before?: unknown) => unknown;

interface FlagReading {
  parse?: Parse;
  choices?: readonly string[];
  /** The value if the flag is not given, and how help shows it. */
  absent?: readonly [value: unknown, shown?: string];
  /** The names of the flags that can't be given with it. */
  conflicts?: string[];
}

const WHO = 'provider:model, command:…, acp:…, claude-code, codex, gemini-cli or opencode';

/** The flags that a retry repeats, in this order. The names are those of their values: of settings, as in `ConfigFlags`. */
export const REPEATED = {
  drafter: ['--drafter <model>', `who writes: ${WHO}`],
  reviewer: ['--reviewer <model>', `who reviews: ${WHO}`],
  implementer: ['--implementer <model>', `who writes tests and code: ${WHO}`],
  parallel: [
    '--parallel [n]',
    'n items at once, at most 10 (bare: 3, or the number of cores if that is less)',
    countOf('--parallel'),
  ],
  halt: [
    '--halt [n]',
    'start nothing new after n failures (bare: 1; default: 3 in a row with the same cause)',
    countOf('--halt'),
  ],
  timeoutMs: ['--timeout <duration>', 'limit for each item, e.g. 30m (default 1h)', duration],
  globalTimeoutMs: ['--global-timeout <duration>', 'limit for the run, e.g. 2h (default: none)', duration],
  idleTimeoutMs: ['--idle-timeout <duration>', 'limit without a sign of life, e.g. 90s (default 5m)', duration],
  maxRetries: ['--max-retries <n>', 'more attempts after a temporary failure (default 3)', wholeNumber(0, 20)],
  maxRounds: ['--max-rounds <n>', 'review rounds before a person is asked (default 3)', wholeNumber(1, 20)],
  maxCostUsd: ['--max-cost <usd>', 'stop before the run costs more (default: no limit)', money],
  maxCostPerItemUsd: ['--max-cost-per-item <usd>', 'stop an item before it costs more (default 20)', money],
  size: [
    '--size <size>',
    'how much of the template a design fills: small, normal or large (default: the drafter chooses)',
    oneOf(DESIGN_SIZES),
  ],
  sandbox: [
    '--sandbox <mode>',
    'run agents, commands, set-up and tests in a sandbox: auto (if the platform has one), on or off (default auto)',
    oneOf(SANDBOX_MODES),
  ],
  repo: ['--repo <dir>', 'target repository (default: the one around the current directory)'],
  baseDir: ['--base-dir <dir>', 'state folder (default: .agentos in the repository, or AGENTOS_HOME)'],
  config: ['--config <file>', 'configuration (default: agentos.yaml in the repository)'],
  source: ['--source <place>', 'issues: directory, github:owner/name or gitlab:group/name (default: directory)'],
  database: ['--database <url>', 'the database of the hub (AGENTOS_DATABASE_URL), instead of this machine alone'],
  until: ['--until <stage>', 'the last stage', { choices: ['lld', 'implement'], absent: ['implement'] }],
  notify: ['--notify <command>', 'run when the run ends, pauses or needs a person; gets the summary as JSON on stdin'],
  noNotify: ['--no-notify', 'no desktop notification either (default: on a terminal, if the desktop has them)'],
  offline: [
    '--offline',
    'no model: the recorded tour of agentos demo; any other issue becomes a filled template in DISCUSS',
  ],
  again: ['--again', 'implement these items again if they are done, on a new branch from today’s base'],
  trust: ['--trust', 'trust the repository’s configuration for this run (agentos trust remembers it)'],
  comment: ['--comment', 'keep one comment on each issue up to date, and labels that show where it stands'],
  pr: ['--pr', 'push each finished branch and open a pull request for it'],
  create: ['--create', 'create the reviewed issue where issues come from, unless there is one like it'],
} as const satisfies Record<string, Flag>;

/** All flags that several commands share. A flag of one command alone stands with that command in `program.ts`. */
export const FLAGS = {
  ...REPEATED,
  ids: ['--ids <id...>', 'exactly these items (the same as naming them as arguments)'],
  label: ['--label <label>', 'only issues with this label (default agentos)'],
  milestone: ['--milestone <title>', 'only issues of this milestone'],
  assignee: ['--assignee <name>', 'only issues assigned to this person'],
  query: ['--query <search>', 'only issues that the service’s search finds'],
  limit: ['--limit <n>', 'at most this many issues', wholeNumber(1, 1_000_000)],
  dryRun: ['--dry-run', 'show the plan; start nothing, write nothing, call no model'],
  json: ['--json', 'stdout is JSON only: a line per event, the summary last; other output goes to stderr'],
  quiet: ['--quiet', 'results only', { conflicts: ['verbose'] }],
  verbose: ['--verbose', 'every step and file'],
  detach: ['--detach', 'with --database: submit and return; agentos status shows the run'],
} as const satisfies Record<string, Flag>;

export type FlagName = keyof typeof FLAGS;
type Flags = readonly (FlagName | Flag)[];

export const PLACE = ['repo', 'baseDir', 'config', 'source'] as const;
/** Which issues `--all` takes from a service. A retry names its items instead. */
export const SELECT = ['label', 'milestone', 'assignee', 'query', 'limit'] as const;
const ROLES = ['drafter', 'reviewer', 'implementer'] as const;
const BOUNDS = [
  'timeoutMs',
  'globalTimeoutMs',
  'idleTimeoutMs',
  'maxRetries',
  'maxRounds',
  'maxCostUsd',
  'maxCostPerItemUsd',
  'size',
  'sandbox',
] as const;
/** The flags that override settings of agentos.yaml for one run. */
export const SETTINGS = [
  ...ROLES,
  ...BOUNDS,
  ...SELECT,
  'offline',
  'source',
  'comment',
  'pr',
  'create',
] as const satisfies (FlagName & keyof ConfigFlags)[];

const OUTPUT = ['trust', 'json', 'quiet', 'verbose'] as const;
const RUN = [
  'parallel',
  'halt',
  'dryRun',
  ...OUTPUT,
  ...BOUNDS,
  'notify',
  'noNotify',
  ...ROLES,
  'offline',
  ...PLACE,
] as const;
/** A resumed run knows its items. */
export const RESUME = ['comment', 'pr', ...RUN, 'database', 'detach'] as const;
const BATCH = ['ids', all('every pending item'), ...SELECT, ...RESUME] as const;
/** All pending items, again and again. */
export const WATCH = [...SELECT, 'comment', 'pr', ...RUN, 'database'] as const;

/** The flags of the commands that run items. */
export const BATCH_FLAGS: Readonly<Record<PipelineName, Flags>> = {
  lld: BATCH,
  issue: ['create', ...BATCH],
  implement: ['again', ...BATCH],
  run: ['until', ...BATCH],
  react: ['ids', all('every open pull request that this program opened'), 'comment', ...RUN],
  eval: [
    'ids',
    all('every past item (the default)'),
    compared(['--prompts <dir>', 'use these prompts instead of the repository’s own']),
    ...RUN.flatMap((name): Flags => {
      if (name === 'implementer') return [];
      return name === 'drafter' || name === 'reviewer' || name === 'maxRounds' ? [compared(FLAGS[name])] : [name];
    }),
  ],
  land: [
    'ids',
    all('every finished branch that is not merged'),
    ['--resolve', 'let the implementer resolve conflicts, within the gates of both items (default: report them)'],
    ['--fetch', 'fetch the default branch of origin first, and start from it if it is newer'],
    ['--pr', 'push the branch and open a pull request that closes the issues of all its items'],
    ['--dry-run', 'show the order and the base; merge nothing, write nothing'],
    ...OUTPUT,
    ...BOUNDS.filter((name) => name !== 'globalTimeoutMs' && name !== 'size'),
    'implementer',
    ...PLACE,
  ],
};

/** The flag itself, e.g. `--max-cost`. */
export function wordOf(name: FlagName): string {
  return FLAGS[name][0].replace(/ .*/, '');
}

function all(help: string): Flag {
  return ['--all', help];
}

/** May be given several times: each value is a candidate. */
function compared([words, help, parse]: readonly [words: string, help: string, parse?: Parse]): Flag {
  const several = (text: string, before: unknown = []): unknown[] => [...(before as unknown[]), parse?.(text) ?? text];
  return [words, `${help}; repeat it to compare`, several];
}

export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('Write a duration such as 90s, 30m or 2h (at most 24 days).');
  return ms;
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
  };
}

/** For a flag that may stand alone: the number may be an item that was meant to stand before it. */
export function countOf(name: string): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= 1) return Number(text);
    throw usageError(`${name} takes a whole number above 0, not "${text}".`, `Write e.g. ${name} 3, or ${name} alone.`);
  };
}

export function money(text: string): number {
  const value = Number(text.replace(/^\$/, ''));
  if (/^\$?\d*\.?\d+$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('Write an amount in USD above zero, such as 2.50.');
}

function oneOf(choices: readonly string[]): (text: string) => string {
  return (text) => {
    if (choices.includes(text)) return text;
    throw new InvalidArgumentError(`Write ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}.`);
  };
}
