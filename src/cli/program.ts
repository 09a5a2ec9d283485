import { Argument, Command, Option } from 'commander';
import { EXIT } from '../core/exit-code.ts';
import type { PipelineName } from '../core/paths.ts';
import examples from './examples.md';
import {
  BATCH_FLAGS,
  countOf,
  duration,
  FLAGS,
  type Flag,
  type FlagName,
  money,
  PLACE,
  RESUME,
  WATCH,
  wholeNumber,
} from './flags.ts';
import { version } from './version.ts';

/** Loads a command, which returns its exit code; nothing: success. */
type Loader = () => Promise<(...words: never[]) => Promise<number | void>>;

function batch(name: PipelineName): Loader {
  return async () => {
    const { batchCommand } = await import('./commands/batch.ts');
    return (ids: string[], flags: object) => batchCommand(name, ids, flags);
  };
}
const hub = () => import('./commands/hub.ts');

/** Commands load their code when they run, so that `--version` and `--help` are fast. */
const LOADERS: Readonly<Record<string, Loader>> = {
  lld: batch('lld'),
  issue: batch('issue'),
  implement: batch('implement'),
  run: batch('run'),
  watch: async () => (await import('./commands/watch.ts')).watchCommand,
  react: batch('react'),
  land: batch('land'),
  resume: async () => (await import('./commands/resume.ts')).resumeCommand,
  decide: async () => (await import('./commands/decide.ts')).decideCommand,
  check: async () => (await import('./commands/check.ts')).checkCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  ui: async () => (await import('./commands/ui.ts')).uiCommand,
  report: async () => (await import('./commands/ui.ts')).reportCommand,
  explain: async () => (await import('./commands/explain.ts')).explainCommand,
  logs: async () => (await import('./commands/logs.ts')).logsCommand,
  context: async () => (await import('./commands/explain.ts')).contextCommand,
  eval: batch('eval'),
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  clean: async () => (await import('./commands/clean.ts')).cleanCommand,
  trust: async () => (await import('./commands/trust.ts')).trustCommand,
  hub: async () => (await hub()).hubCommand,
  'hub machines': async () => (await hub()).machinesCommand,
  'hub revoke': async () => (await hub()).revokeCommand,
  worker: async () => (await import('./commands/worker.ts')).workerCommand,
  'database migrate': async () => (await hub()).migrateCommand,
  'database check': async () => (await hub()).checkDatabaseCommand,
  init: async () => (await import('./commands/init.ts')).initCommand,
  demo: async () => (await import('./commands/demo.ts')).demoCommand,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
  help: async () => helpCommand,
};

/** What the argument of a command is, by the command, else by the argument. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  '[ids...]': 'exactly these items',
  '[briefs...]': 'exactly these briefs',
  '<id>': 'the item',
  '[run]': 'the run (default: the last)',
  eval: 'only these past items (default: all)',
  status: 'one run, or the id of one item',
  check: 'LLDs or reviews; with --audit: runs, or files of runs',
  'hub revoke': 'its name or id',
  help: 'the command',
};

const JSON_OUTPUT: Flag = ['--json', 'print JSON'];
const JSON_PLACE = [JSON_OUTPUT, ...PLACE];
const AT_HUB = [...PLACE, 'database'] as const;
const OPEN: Flag = ['--open', 'open it in the browser'];
const HUB = 'the database of the hub (AGENTOS_DATABASE_URL)';
const HUB_DATABASE: Flag = ['--database <url>', HUB];
const HUB_STATE = 'state folder (default: .agentos in the current directory, or AGENTOS_HOME)';
const PORT = wholeNumber(0, 65_535);

export function createProgram(): Command {
  const program = new Command('agentos')
    .description(
      'Turn a backlog of issues into reviewed low-level designs and tested branches: one model drafts, another reviews, nothing is paid for twice.',
    )
    .version(version)
    .showSuggestionAfterError(false)
    // printProblem prints usage errors, like every other error.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nTry it without a key:\n  agentos demo\n\nExamples for a command:\n  agentos help lld\n\nExit codes: 0 success, 1 failed, 2 usage, 3 waits for a person, 75 paused for quota, 130/143 interrupted.',
    );
  const add = addTo(program);
  add('lld [ids...]', 'turn issues into reviewed low-level designs (LLDs)', BATCH_FLAGS.lld);
  add('issue [briefs...]', 'turn idea briefs into reviewed issues', BATCH_FLAGS.issue);
  add('implement [ids...]', 'turn approved LLDs into tested branches, test first', BATCH_FLAGS.implement);
  add('run [ids...]', 'design and implement: an issue becomes an LLD, then a tested branch', BATCH_FLAGS.run);
  add('watch', 'keep running: run pending issues, react to pull requests, and wait for changes', [
    'until',
    ['--once', 'look once, run what is pending, and exit; for cron'],
    ['--interval <duration>', 'how often to look for changes', { parse: duration, absent: [60_000, '60s'] }],
    ['--max-cost-per-day <usd>', 'start nothing more once all runs of a day have cost this much', money],
    ...WATCH,
  ]);
  add('react [ids...]', 'revise pull requests once, after failed checks, remarks or a moved base', BATCH_FLAGS.react);
  const landing = 'combine finished branches into one, test them together, and say which are in and which are out';
  add('land [ids...]', landing, BATCH_FLAGS.land);
  add('resume [run]', 'resume an interrupted or paused run, with its flags and models unless overridden', RESUME);
  add('decide <id>', 'record a decision on an item in DISCUSS; the next run resumes from it', [
    ['--approve', 'approve it as it is'],
    ['--revise <what>', 'what to change; the review rounds start again'],
    ['--drop', 'don’t do it'],
    ['--reason <why>', 'why; recorded in the lineage and the review log'],
    JSON_OUTPUT,
    ...AT_HUB,
  ]);
  add('check [files...]', 'check LLDs, or read reviews and print verdict and findings; offline', [
    ['--json', 'print an array with one entry per file'],
    ['--audit', 'verify the hash chains in the events and audit files of runs (default: the last run)'],
    ['--base-dir <dir>', 'with --audit: the state folder'],
    ['--repo <dir>', 'repository that the paths of an LLD are checked against (default: the one around the file)'],
  ]);
  add('status [run]', 'show where each item of the backlog stands, what it waits for, and the runs', [
    ['--watch', 'follow runs live, from any terminal'],
    JSON_OUTPUT,
    ...AT_HUB,
  ]);
  add('ui', 'serve the dashboard: what needs you, what is running, what happened and why', [
    ['--port <n>', 'port (default: 7117, or any that is free)', PORT],
    ['--host <address>', 'address to listen on (default: 127.0.0.1; any other needs --token)'],
    ['--token <token>', 'the token in the URL (default: a new one at each start)'],
    OPEN,
    ['--read-only', 'allow no decisions, starts or stops'],
    ...AT_HUB,
  ]);
  add('report [run]', 'write a run as one HTML file, for CI, mails and pull requests', [
    ['--format <format>', 'html or md', { choices: ['html', 'md'], absent: ['html'] }],
    ['--output <file>', 'the file; - is stdout (default: report.html in the run’s folder; md: stdout)'],
    OPEN,
    ...PLACE,
  ]);
  add('explain <id>', 'say why an item is or is not taken, what it waits for, and what comes next', JSON_PLACE);
  add('logs <id>', 'print the log of one item', [
    ['--follow', 'keep printing until the item ends'],
    ['--agent', 'what agents read, wrote and ran, with the results', { conflicts: ['follow'] }],
    ...AT_HUB,
  ]);
  add('context <id>', 'show what the models see of the repository for an item, and why', JSON_PLACE);
  add('eval [ids...]', 'replay past items with other models, prompts or bounds, and compare', BATCH_FLAGS.eval);
  add('doctor', 'check git, Node, configuration, keys and folders, and say what to do', [
    ['--keys', 'try every key with one cheap call'],
    ['--trust', 'trust the repository’s configuration for this call'],
    JSON_OUTPUT,
    ...AT_HUB,
  ]);
  add('keys', 'list the keys: ids, state and learned limits; never a secret', [JSON_OUTPUT, ...AT_HUB]);
  add('clean', 'remove worktrees, checkpoints and old runs that are safe to remove; say what is kept and why', [
    ['--dry-run', 'say what would be removed, and remove nothing'],
    ['--caches', 'remove the caches of package managers and compilers too', { conflicts: ['discard'] }],
    ['--discard <id...>', 'only delete the implementations of these items, with all their files'],
    ['--yes', 'with --discard: delete finished implementations without asking'],
    ...JSON_PLACE,
  ]);
  const claims =
    'show what the repository’s configuration would run, redirect or hand over, and remember that you trust it';
  add('trust', claims, [['--revoke', 'no longer trust it'], ...PLACE]);
  const addToHub = addTo(
    add('hub', 'serve several machines: one backlog, the keys and the repository', [
      ['--database <url>', `${HUB}; without it the hub starts one`],
      ['--host <address>', 'listen on this address only', { absent: ['0.0.0.0'] }],
      ['--port <n>', 'listen on this port', { parse: PORT, absent: [7477] }],
      ['--address <url...>', 'URLs at which machines reach it (default: the addresses of this machine)'],
      ['--tls-cert <file>', 'its certificate (default: generated at the first start)'],
      ['--tls-key <file>', 'the key of that certificate'],
      ['--repo <dir>', 'serve a dashboard with the runs of this repository from all checkouts'],
      [
        '--lease <duration>',
        'how long a machine without a connection keeps its items',
        { parse: duration, absent: [45_000, '45s'] },
      ],
      ['--base-dir <dir>', HUB_STATE],
      ['--config <file>', 'keys, limits and endpoints (default: from the environment alone)'],
    ]),
  );
  addToHub('machines', 'list the machines that have joined', [JSON_OUTPUT, HUB_DATABASE]);
  addToHub('revoke <machine>', 'refuse a machine, and give its items to others', [HUB_DATABASE]);
  add('worker', 'work on the hub’s backlog from this machine; needs no key and no checkout', [
    HUB_DATABASE,
    ['--parallel [n]', 'n items at once (default: the number of cores; at most 10)', countOf('--parallel')],
    ['--tag <tag...>', 'what this machine has; items may need it'],
    ['--name <name>', 'its name in agentos hub machines (default: its host name)'],
    ['--base-dir <dir>', HUB_STATE],
  ]);
  const addToDatabase = addTo(add('database', 'migrate or check the database schema of a hub'));
  addToDatabase('migrate', 'migrate to the version that this program needs', [HUB_DATABASE]);
  addToDatabase('check', 'say whether this program can work with it', [JSON_OUTPUT, HUB_DATABASE]);
  add('init', 'write a commented agentos.yaml', [['--print', 'print it instead of writing it'], 'repo']);
  add('demo', 'take the tour on a sample repository, with recorded replies: no key, no network', [
    ['--dir <dir>', 'the folder for the sample repository (default: agentos-demo, or the next number that is free)'],
  ]);
  add('completion', 'print a shell completion script')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .argument('[words...]', 'for the script itself: the command line so far');
  add('help [command]', 'show help for a command');
  return program;
}

/** Adds a command with its examples, its argument, its flags, and its loader. */
function addTo(parent: Command) {
  return (words: string, does: string, flags: readonly (FlagName | Flag)[] = []): Command => {
    const [name = '', argument] = words.split(' ');
    const path = parent.parent === null ? name : `${parent.name()} ${name}`;
    const command = parent.command(name).description(does);
    const own = examples.split('\n').filter((line) => new RegExp(`agentos ${path}\\b`).test(line));
    if (own.length > 0) command.addHelpText('after', ['\nExamples:', ...own].join('\n  '));
    if (argument !== undefined) command.argument(argument, ARGUMENTS[path] ?? ARGUMENTS[argument]);
    for (const flag of flags) command.addOption(optionOf(flag));
    const load = LOADERS[path];
    if (load !== undefined)
      command.action(async (...given: unknown[]) => {
        // The parser takes the flag of `hub machines --database …` for one of the hub's own.
        const words = [...given.slice(0, -2), command.optsWithGlobals(), parent] as never[];
        process.exitCode = (await (await load())(...words)) ?? EXIT.ok;
      });
    return command;
  };
}

function optionOf(flag: FlagName | Flag): Option {
  const [words, help, given = {}]: Flag = typeof flag === 'string' ? FLAGS[flag] : flag;
  const reading = typeof given === 'function' ? { parse: given } : given;
  const option = new Option(words, help).conflicts(reading.conflicts ?? []);
  if (reading.choices !== undefined) option.choices(reading.choices);
  if (reading.parse !== undefined) option.argParser(reading.parse);
  if (reading.absent !== undefined) option.default(...reading.absent);
  if (typeof flag === 'string' && !option.negate) option.attributeName = () => flag;
  return option;
}

/** `help lld` is `lld --help`; a name that is not a command is refused like everywhere else. */
async function helpCommand(name: string | undefined, _flags: object, program: Command): Promise<void> {
  if (name === undefined) program.help();
  const isKnown = program.commands.some((command) => command.name() === name);
  await program.parseAsync(isKnown ? [name, '--help'] : [name], { from: 'user' });
}
