import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ConfigFlags, DESIGN_SIZES, SANDBOX_MODES } from '../core/config.ts';
import { durationFlag, parseDuration } from '../core/duration.ts';

/** A flag that overrides a setting of agentos.yaml for one run; a retry has to repeat it. */
interface ConfigFlag {
  name: string;
  argument: string;
  help: string;
  setting: keyof ConfigFlags;
  parse?: (text: string) => string | number;
  /** As it is written on a command line. */
  write?: (value: number) => string;
}

/** The same bounds as in agentos.yaml. */
const MOST_ROUNDS_OR_RETRIES = 20;

const WHO = 'provider:model, command:…, acp:…, claude-code, codex, gemini-cli or opencode';

export const ROLE_FLAGS: readonly ConfigFlag[] = [
  {
    name: '--drafter',
    argument: '<model>',
    help: `who writes: ${WHO}`,
    setting: 'drafter',
  },
  { name: '--reviewer', argument: '<model>', help: `who reviews: ${WHO}`, setting: 'reviewer' },
  {
    name: '--implementer',
    argument: '<model>',
    help: `who writes tests and code: ${WHO}`,
    setting: 'implementer',
  },
];

const time = { argument: '<duration>', parse: duration, write: durationFlag };

export const BOUND_FLAGS: readonly ConfigFlag[] = [
  { ...time, name: '--timeout', help: 'per item, e.g. 30m (default 1h)', setting: 'timeoutMs' },
  {
    ...time,
    name: '--global-timeout',
    help: 'for the whole run, e.g. 2h (default: none)',
    setting: 'globalTimeoutMs',
  },
  { ...time, name: '--idle-timeout', help: 'without a sign of life, e.g. 90s (default 5m)', setting: 'idleTimeoutMs' },
  {
    name: '--max-retries',
    argument: '<n>',
    help: 'more attempts after a temporary failure (default 3)',
    setting: 'maxRetries',
    parse: wholeNumber(0),
  },
  {
    name: '--max-rounds',
    argument: '<n>',
    help: 'review rounds before a person is asked (default 3)',
    setting: 'maxRounds',
    parse: wholeNumber(1),
  },
  {
    name: '--max-cost',
    argument: '<usd>',
    help: 'stop before the run costs more (default: no limit)',
    setting: 'maxCostUsd',
    parse: money,
  },
  {
    name: '--max-cost-per-item',
    argument: '<usd>',
    help: 'stop an item before it costs more (default 20)',
    setting: 'maxCostPerItemUsd',
    parse: money,
  },
  {
    name: '--size',
    argument: '<size>',
    help: 'how much of the template a design fills: small, normal or large (default: the drafter chooses)',
    setting: 'size',
    parse: designSize,
  },
  {
    name: '--sandbox',
    argument: '<mode>',
    help: 'agents, commands, set-up and tests in a sandbox: auto (where the platform has one), on or off (default auto)',
    setting: 'sandbox',
    parse: sandboxMode,
  },
];

/** Which issues `--all` takes from a service; a retry names its items instead. */
export const SELECT_FLAGS: readonly ConfigFlag[] = [
  { name: '--label', argument: '<label>', help: 'only issues with this label (default agentos)', setting: 'label' },
  { name: '--milestone', argument: '<title>', help: 'only issues of this milestone', setting: 'milestone' },
  { name: '--assignee', argument: '<name>', help: 'only issues of this person', setting: 'assignee' },
  { name: '--query', argument: '<search>', help: 'only what the service finds with these words', setting: 'query' },
  {
    name: '--limit',
    argument: '<n>',
    help: 'at most so many issues',
    setting: 'limit',
    parse: wholeNumber(1, 1_000_000),
  },
];

/** What is written back to a service: nothing without them. */
const WRITE_FLAGS = {
  '--comment': 'one comment on each issue, edited in place, and labels that say where it stands',
  '--pr': 'push each finished branch and open a pull request for it',
};

/** The flags that every batch command shares. */
export function addBatchFlags(command: Command): Command {
  command
    .option('--ids <id...>', 'exactly these items (the same as naming them as arguments)')
    .option('--all', 'every pending item');
  addConfigFlags(command, SELECT_FLAGS, new Set());
  return addResumeFlags(command);
}

/** Settings of which `eval` takes several: each is a candidate. */
const COMPARED: ReadonlySet<keyof ConfigFlags> = new Set(['drafter', 'reviewer', 'maxRounds'] as const);

/** Those of a batch, with candidates in place of one model for each role. */
export function addEvalFlags(command: Command): Command {
  command
    .option('--ids <id...>', 'exactly these items (the same as naming them as arguments)')
    .option('--all', 'every past item (the default)')
    .option('--prompts <dir>', `prompts in place of the repository's own${REPEATED}`, severalOf(String));
  return addRunFlags(command, COMPARED);
}

/** Settings that a landing has a use for: who settles conflicts, and what that may take. */
const OF_LANDING: ReadonlySet<keyof ConfigFlags> = new Set([
  'implementer',
  'timeoutMs',
  'idleTimeoutMs',
  'maxRetries',
  'maxRounds',
  'maxCostUsd',
  'maxCostPerItemUsd',
  'sandbox',
] as const);

export function addLandFlags(command: Command): Command {
  command
    .option('--ids <id...>', 'exactly these items (the same as naming them as arguments)')
    .option('--all', 'every finished branch that is not merged')
    .option(
      '--resolve',
      'the implementer settles conflicts, within the gates of both items; without it they are reported',
    )
    .option('--fetch', 'fetch the default branch of origin first, and begin there if it is newer')
    .option('--pr', 'push the branch and open a pull request that closes the issues of all that is on it')
    .option('--dry-run', 'show the order and the base; merge nothing, write nothing')
    .option('--trust', 'trust the repository’s configuration for this run (agentos trust remembers it)')
    .option('--json', 'stdout is JSON only: a line per event, the summary last; lines for people go to stderr');
  const flags = [...BOUND_FLAGS, ...ROLE_FLAGS].filter(({ setting }) => OF_LANDING.has(setting));
  addConfigFlags(command, flags, new Set());
  command.option('--quiet', 'results only').option('--verbose', 'every step and file');
  return addPlaceFlags(command);
}

/** Those of a batch, but for which issues: a reaction is about pull requests. */
export function addReactFlags(command: Command): Command {
  command
    .option('--ids <id...>', 'exactly these items (the same as naming them as arguments)')
    .option('--all', 'every open pull request that this program opened')
    .option('--comment', WRITE_FLAGS['--comment']);
  return addRunFlags(command, new Set());
}

/** Those of a batch over all that is pending, and when to look again. */
export function addWatchFlags(command: Command): Command {
  command
    .option('--once', 'look once, run what is pending, and end; for cron')
    .addOption(
      new Option('--interval <duration>', 'how often to look for changes').argParser(duration).default(60_000, '60s'),
    )
    .option('--max-cost-per-day <usd>', 'start nothing that all runs of a day could not pay within this', money);
  addConfigFlags(command, SELECT_FLAGS, new Set());
  return addResumeFlags(command);
}

const REPEATED = '; repeat it to compare';

function severalOf<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

/** All of them but which items: a resumed run knows its own. */
export function addResumeFlags(command: Command): Command {
  for (const [name, help] of Object.entries(WRITE_FLAGS)) command.option(name, help);
  addRunFlags(command, new Set());
  return addDatabaseFlag(command).option('--detach', 'with --database: leave it running; agentos status shows it');
}

/** For commands that work on a hub's backlog as well as on this machine alone. */
export function addDatabaseFlag(command: Command): Command {
  return addHubDatabaseFlag(command, ', instead of this machine alone');
}

/** For commands that are about the hub alone. */
export function addHubDatabaseFlag(command: Command, more = ''): Command {
  return command.option('--database <url>', `the database of the hub (AGENTOS_DATABASE_URL)${more}`);
}

function addRunFlags(command: Command, compared: ReadonlySet<keyof ConfigFlags>): Command {
  command
    .option('--parallel [n]', 'n items at once (bare: 3, or the number of cores if that is less; at most 10)')
    .option('--dry-run', 'show the plan; start nothing, write nothing, call no model')
    .option('--trust', 'trust the repository’s configuration for this run (agentos trust remembers it)')
    .option('--halt [n]', 'start nothing new after n failures (bare: 1; default: after 3 in a row with the same cause)')
    .option('--json', 'stdout is JSON only: a line per event, the summary last; lines for people go to stderr');
  addConfigFlags(command, BOUND_FLAGS, compared);
  command.option('--quiet', 'results only').option('--verbose', 'every step and file');
  command
    .option(
      '--notify <command>',
      'run it when the run ends, pauses or needs a person, with the summary as JSON on stdin',
    )
    .option('--no-notify', 'no notification on the desktop either (default: where there is one, on a terminal)');
  const roles = compared.size === 0 ? ROLE_FLAGS : ROLE_FLAGS.filter(({ setting }) => compared.has(setting));
  addConfigFlags(command, roles, compared);
  command.option(
    '--offline',
    'the recorded tour of agentos demo, no model; any other issue becomes a filled template in DISCUSS',
  );
  return addPlaceFlags(command);
}

function addConfigFlags(
  command: Command,
  flags: readonly ConfigFlag[],
  compared: ReadonlySet<keyof ConfigFlags>,
): void {
  for (const { name, argument, help, setting, parse = String } of flags) {
    const flag = `${name} ${argument}`;
    if (compared.has(setting)) command.option(flag, help + REPEATED, severalOf(parse));
    else command.option(flag, help, parse);
  }
}

/** Flags that say where: every command that looks at a repository has them. */
export function addPlaceFlags(command: Command): Command {
  return command
    .option('--repo <dir>', 'target repository (default: the one around the current directory)')
    .option('--base-dir <dir>', 'state folder (default: .agentos in the repository, or AGENTOS_HOME)')
    .option('--config <file>', 'configuration (default: agentos.yaml in the repository)')
    .option('--source <place>', 'issues: directory, github:owner/name or gitlab:group/name (default: directory)');
}

export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('Write a duration such as 90s, 30m or 2h (at most 24 days).');
  return ms;
}

function wholeNumber(least: number, most = MOST_ROUNDS_OR_RETRIES): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

export function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError('Write a port from 0 to 65535.');
  return value;
}

function designSize(text: string): string {
  if (DESIGN_SIZES.every((size) => size !== text)) throw new InvalidArgumentError('Write small, normal or large.');
  return text;
}

function sandboxMode(text: string): string {
  if (SANDBOX_MODES.every((mode) => mode !== text)) throw new InvalidArgumentError('Write auto, on or off.');
  return text;
}

function money(text: string): number {
  const value = Number(text.replace(/^\$/, ''));
  if (!/^\$?\d*\.?\d+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('Write an amount in USD above zero, such as 2.50.');
  return value;
}
