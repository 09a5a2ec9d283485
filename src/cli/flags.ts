import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ConfigFlags, DESIGN_SIZES, SANDBOX_MODES } from '../core/config.ts';
import { durationFlag, parseDuration } from '../core/duration.ts';

/** A flag that overrides a setting of agentos.yaml for one run. The retry command repeats it. */
export interface ConfigFlag extends FlagValue {
  name: string;
  setting: keyof ConfigFlags;
  help: string;
}

interface FlagValue {
  argument: string;
  parse?: (text: string) => string | number;
  /** Formats a value for the command line. */
  write?: (value: number) => string;
}

function flag(name: string, setting: keyof ConfigFlags, value: FlagValue, help: string): ConfigFlag {
  return { name, setting, help, ...value };
}

/** As in agentos.yaml. */
const MOST_ROUNDS_OR_RETRIES = 20;

const MODEL = { argument: '<model>' };
const DURATION = { argument: '<duration>', parse: duration, write: durationFlag };
const MONEY = { argument: '<usd>', parse: money };
const count = (least: number, most?: number): FlagValue => ({ argument: '<n>', parse: wholeNumber(least, most) });
const oneOf = (argument: string, choices: readonly string[]): FlagValue => ({
  argument,
  parse(text) {
    if (choices.includes(text)) return text;
    throw new InvalidArgumentError(`Write ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}.`);
  },
});

const WHO = 'provider:model, command:…, acp:…, claude-code, codex, gemini-cli or opencode';

export const ROLE_FLAGS: readonly ConfigFlag[] = [
  flag('--drafter', 'drafter', MODEL, `who writes: ${WHO}`),
  flag('--reviewer', 'reviewer', MODEL, `who reviews: ${WHO}`),
  flag('--implementer', 'implementer', MODEL, `who writes tests and code: ${WHO}`),
];

const SIZES = 'how much of the template a design fills: small, normal or large (default: the drafter chooses)';
const SANDBOX =
  'run agents, commands, set-up and tests in a sandbox: auto (if the platform has one), on or off (default auto)';

export const BOUND_FLAGS: readonly ConfigFlag[] = [
  flag('--timeout', 'timeoutMs', DURATION, 'per item, e.g. 30m (default 1h)'),
  flag('--global-timeout', 'globalTimeoutMs', DURATION, 'for the whole run, e.g. 2h (default: none)'),
  flag('--idle-timeout', 'idleTimeoutMs', DURATION, 'without any event or output, e.g. 90s (default 5m)'),
  flag('--max-retries', 'maxRetries', count(0), 'more attempts after a temporary failure (default 3)'),
  flag('--max-rounds', 'maxRounds', count(1), 'review rounds before a person is asked (default 3)'),
  flag('--max-cost', 'maxCostUsd', MONEY, 'stop before the run costs more (default: no limit)'),
  flag('--max-cost-per-item', 'maxCostPerItemUsd', MONEY, 'stop an item before it costs more (default 20)'),
  flag('--size', 'size', oneOf('<size>', DESIGN_SIZES), SIZES),
  flag('--sandbox', 'sandbox', oneOf('<mode>', SANDBOX_MODES), SANDBOX),
];

/** Which issues `--all` takes from a service. A retry names its items instead. */
export const SELECT_FLAGS: readonly ConfigFlag[] = [
  flag('--label', 'label', { argument: '<label>' }, 'only issues with this label (default agentos)'),
  flag('--milestone', 'milestone', { argument: '<title>' }, 'only issues of this milestone'),
  flag('--assignee', 'assignee', { argument: '<name>' }, 'only issues assigned to this person'),
  flag('--query', 'query', { argument: '<search>' }, 'only issues that the service’s search finds'),
  flag('--limit', 'limit', count(1, 1_000_000), 'at most this many issues'),
];

const COMMENT = 'keep one comment on each issue up to date, and labels that show where it stands';
const NONE: ReadonlySet<keyof ConfigFlags> = new Set();

/** For `lld`, `issue`, `implement` and `run`. */
export function addBatchFlags(command: Command): Command {
  addItemFlags(command, 'every pending item');
  addConfigFlags(command, SELECT_FLAGS);
  return addResumeFlags(command);
}

/** The flags of a batch without those that choose items: a resumed run knows its items. */
export function addResumeFlags(command: Command): Command {
  addServiceFlags(command);
  addRunFlags(command);
  return addDatabaseFlag(command).option(
    '--detach',
    'with --database: submit and return; agentos status shows the run',
  );
}

/** The flags of a batch over all pending items, and when to look again. */
export function addWatchFlags(command: Command): Command {
  command
    .option('--once', 'look once, run what is pending, and exit; for cron')
    .addOption(
      new Option('--interval <duration>', 'how often to look for changes').argParser(duration).default(60_000, '60s'),
    )
    .option('--max-cost-per-day <usd>', 'start nothing more once all runs of a day have cost this much', money);
  addConfigFlags(command, SELECT_FLAGS);
  addServiceFlags(command);
  addRunFlags(command);
  return addDatabaseFlag(command);
}

/** The flags of a batch without those that choose issues: a reaction is about pull requests. */
export function addReactFlags(command: Command): Command {
  addItemFlags(command, 'every open pull request that this program opened');
  command.option('--comment', COMMENT);
  return addRunFlags(command);
}

/** Each value of these is a candidate of `eval`. */
const COMPARED: ReadonlySet<keyof ConfigFlags> = new Set(['drafter', 'reviewer', 'maxRounds'] as const);

export function addEvalFlags(command: Command): Command {
  addItemFlags(command, 'every past item (the default)');
  command.option('--prompts <dir>', `use these prompts instead of the repository’s own${REPEATED}`, severalOf(String));
  return addRunFlags(command, COMPARED);
}

/** A landing uses these settings: the implementer resolves conflicts. */
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
  addItemFlags(command, 'every finished branch that is not merged');
  command
    .option('--resolve', 'let the implementer resolve conflicts, within the gates of both items (default: report them)')
    .option('--fetch', 'fetch the default branch of origin first, and start from it if it is newer')
    .option('--pr', 'push the branch and open a pull request that closes the issues of all its items');
  addOutputFlags(command, 'show the order and the base; merge nothing, write nothing');
  addConfigFlags(
    command,
    [...BOUND_FLAGS, ...ROLE_FLAGS].filter(({ setting }) => OF_LANDING.has(setting)),
  );
  return addPlaceFlags(command);
}

function addItemFlags(command: Command, all: string): void {
  command.option('--ids <id...>', 'exactly these items (the same as naming them as arguments)').option('--all', all);
}

/** Without these nothing is written to a service. */
function addServiceFlags(command: Command): void {
  command.option('--comment', COMMENT).option('--pr', 'push each finished branch and open a pull request for it');
}

/** For commands that work on a hub's backlog as well as on this machine alone. */
export function addDatabaseFlag(command: Command): Command {
  return addHubDatabaseFlag(command, ', instead of this machine alone');
}

/** For commands that are about the hub alone. */
export function addHubDatabaseFlag(command: Command, more = ''): Command {
  return command.option('--database <url>', `the database of the hub (AGENTOS_DATABASE_URL)${more}`);
}

function addRunFlags(command: Command, compared = NONE): Command {
  command
    .option('--parallel [n]', 'n items at once (bare: 3, or the number of cores if that is less; at most 10)')
    .option('--halt [n]', 'start nothing new after n failures (bare: 1; default: 3 in a row with the same cause)');
  addOutputFlags(command, 'show the plan; start nothing, write nothing, call no model');
  addConfigFlags(command, BOUND_FLAGS, compared);
  command
    .option('--notify <command>', 'run when the run ends, pauses or needs a person; gets the summary as JSON on stdin')
    .option('--no-notify', 'no desktop notification either (default: on a terminal, if the desktop has them)');
  const roles = compared.size === 0 ? ROLE_FLAGS : ROLE_FLAGS.filter(({ setting }) => compared.has(setting));
  addConfigFlags(command, roles, compared);
  command.option(
    '--offline',
    'no model: the recorded tour of agentos demo; any other issue becomes a filled template in DISCUSS',
  );
  return addPlaceFlags(command);
}

function addOutputFlags(command: Command, dryRun: string): void {
  command
    .option('--dry-run', dryRun)
    .option('--trust', 'trust the repository’s configuration for this run (agentos trust remembers it)')
    .option('--json', 'stdout is JSON only: a line per event, the summary last; other output goes to stderr')
    .option('--quiet', 'results only')
    .option('--verbose', 'every step and file');
}

const REPEATED = '; repeat it to compare';

function severalOf<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

function addConfigFlags(command: Command, flags: readonly ConfigFlag[], compared = NONE): void {
  for (const { name, argument, help, setting, parse = String } of flags) {
    const flag = `${name} ${argument}`;
    if (compared.has(setting)) command.option(flag, help + REPEATED, severalOf(parse));
    else command.option(flag, help, parse);
  }
}

/** For every command that works on a repository. */
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

function money(text: string): number {
  const value = Number(text.replace(/^\$/, ''));
  if (!/^\$?\d*\.?\d+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('Write an amount in USD above zero, such as 2.50.');
  return value;
}

/** The action of a command: loads its code when it runs, and sets the exit code that it returns. */
export function runs<Words extends unknown[]>(
  load: () => Promise<(...words: Words) => Promise<number>>,
): (...words: Words) => Promise<void> {
  return async (...words) => {
    process.exitCode = await (await load())(...words);
  };
}
