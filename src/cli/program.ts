import { Argument, Command, Option } from 'commander';
import { usageError } from '../core/errors.ts';
import type { PipelineName } from '../core/paths.ts';
import {
  addBatchFlags,
  addDatabaseFlag,
  addEvalFlags,
  addLandFlags,
  addPlaceFlags,
  addReactFlags,
  addResumeFlags,
  addWatchFlags,
  port,
  runs,
} from './flags.ts';
import { addHubCommands } from './hub-program.ts';
import { suggestion } from './problem.ts';
import { version } from './version.ts';

/** The command tree. Actions load their code when they run, so that `--version` and `--help` are fast. */
export function createProgram(): Command {
  const program = new Command('agentos')
    .description(
      'Turn a backlog of issues into reviewed low-level designs and tested branches: one model drafts, another reviews, nothing is paid for twice.',
    )
    .version(version)
    .showSuggestionAfterError(false)
    .configureHelp({ sortSubcommands: false })
    // printProblem prints usage errors, like every other error.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nTry it without a key:\n  agentos demo\n\nExamples for a command:\n  agentos help lld\n\nExit codes: 0 success, 1 failed, 2 usage, 3 waits for a person, 75 paused for quota, 130/143 interrupted.',
    );

  const command = (name: string, description: string, examples: string[]): Command =>
    program
      .command(name)
      .description(description)
      .exitOverride()
      .showSuggestionAfterError(false)
      .addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);

  const until = () =>
    new Option('--until <stage>', 'the last stage').choices(['lld', 'implement']).default('implement');
  const batch = (name: PipelineName) =>
    runs(async () => {
      const { batchCommand } = await import('./commands/batch.ts');
      return (ids: string[], flags: unknown) => batchCommand(name, ids, flags);
    });

  const lld = command('lld', 'turn issues into reviewed low-level designs (LLDs)', [
    'agentos lld 42                     one issue: issues/42.md becomes docs/lld/LLD-42.md',
    'agentos lld --all --dry-run        what it would do, and what that could cost at most',
    'agentos lld --all --parallel 4     four issues at a time',
    'agentos lld --ids 42 57 --max-rounds 5 --reviewer google:gemini-3.1-pro-preview',
  ]).argument('[ids...]', 'exactly these issues');
  addBatchFlags(lld).action(batch('lld'));

  const issue = command('issue', 'turn idea briefs into reviewed issues', [
    'agentos issue dark-mode            briefs/dark-mode.md becomes the next free issues/<number>.md',
    'agentos issue --all --parallel 3',
    'agentos issue dark-mode --create   the reviewed issue is created on GitHub instead',
  ])
    .argument('[briefs...]', 'exactly these briefs')
    .option('--create', 'create the reviewed issue where issues come from, unless there is one like it');
  addBatchFlags(issue).action(batch('issue'));

  const implement = command('implement', 'turn approved LLDs into tested branches, test first', [
    'agentos implement 42               docs/lld/LLD-42.md becomes the branch agentos/42-…',
    'agentos implement --all --parallel 3 --implementer claude-code',
    'agentos implement --all --dry-run  the order, and which items change the same files',
    'agentos implement --again 42       implement an item again, from today’s base',
  ])
    .argument('[ids...]', 'exactly these items')
    .option('--again', 'implement these items again if they are done, on a new branch from today’s base');
  addBatchFlags(implement).action(batch('implement'));

  const run = command('run', 'design and implement: an issue becomes an LLD, then a tested branch', [
    'agentos run 42                     issues/42.md becomes a tested branch',
    'agentos run --all --parallel 3     an item in the second stage does not wait for others in the first',
    'agentos run --all --until lld      only the designs',
  ])
    .argument('[ids...]', 'exactly these issues')
    .addOption(until());
  addBatchFlags(run).action(batch('run'));

  const watch = command('watch', 'keep running: run pending issues, react to pull requests, and wait for changes', [
    'agentos watch --parallel 3 --max-cost-per-day 20',
    'agentos watch --until lld --interval 5m',
    'agentos watch --source github:owner/name --pr --comment   also react to its pull requests',
    'agentos watch --once               look once, for cron; exits like a batch command',
  ]).addOption(until());
  addWatchFlags(watch).action(runs(async () => (await import('./commands/watch.ts')).watchCommand));

  const react = command('react', 'revise pull requests once, after failed checks, remarks or a moved base', [
    'agentos react 42                   revises the pull request of 42, pushes it, and answers',
    'agentos react --all --dry-run      which of all open pull requests need a reaction',
    'agentos react 42 --max-cost 2',
  ]).argument('[ids...]', 'exactly these items');
  addReactFlags(react).action(batch('react'));

  const land = command(
    'land',
    'combine finished branches into one, test them together, and say which are in and which are out',
    [
      'agentos land --all                 every finished branch that is not merged, as agentos/land-<date>',
      'agentos land --all --dry-run       the order, and what they are merged onto',
      'agentos land 42 57 --resolve       the implementer resolves conflicts',
      'agentos land --all --pr            push it, and open a pull request that closes them all',
    ],
  ).argument('[ids...]', 'exactly these items');
  addLandFlags(land).action(batch('land'));

  const resume = command('resume', 'resume an interrupted or paused run, with its flags and models unless overridden', [
    'agentos resume                     the last run',
    'agentos resume 20260102T030405678Z-0a1b2c3d --max-rounds 5',
  ]).argument('[run]', 'the run (default: the last)');
  addResumeFlags(resume).action(runs(async () => (await import('./commands/resume.ts')).resumeCommand));

  const decide = command('decide', 'record a decision on an item in DISCUSS; the next run resumes from it', [
    'agentos decide 42 --approve --reason "the risk is known and small"',
    'agentos decide 42 --revise "use the clock that is passed in, not the system’s"',
    'agentos decide 42 --drop --reason "done by 57"',
  ]);
  addPlaceFlags(
    decide
      .argument('<id>', 'the item')
      .option('--approve', 'approve it as it is')
      .option('--revise <what>', 'what to change; the review rounds start again')
      .option('--drop', 'don’t do it')
      .option('--reason <why>', 'why; recorded in the lineage and the review log')
      .option('--json', 'print JSON'),
  );
  addDatabaseFlag(decide).action(runs(async () => (await import('./commands/decide.ts')).decideCommand));

  const check = command('check', 'check LLDs, or read reviews and print verdict and findings; offline', [
    'agentos check docs/lld/LLD-42.md',
    'agentos check docs/lld/*.md',
    'agentos check review.md --json',
    'agentos check --audit              whether the files of the last run were changed since',
  ]).argument('[files...]', 'LLDs or reviews; with --audit: runs, or files of runs');
  check
    .option('--json', 'print an array with one entry per file')
    .option('--audit', 'verify the hash chains in the events and audit files of runs (default: the last run)')
    .option('--base-dir <dir>', 'with --audit: the state folder')
    .option(
      '--repo <dir>',
      'repository whose files the paths of an LLD are checked against (default: the one around the file)',
    )
    .action(runs(async () => (await import('./commands/check.ts')).checkCommand));

  const status = command('status', 'show where each item of the backlog stands, what it waits for, and the runs', [
    'agentos status                     every issue, and the latest runs',
    'agentos status 42                  one item: its files, branch, worktree and last run',
    'agentos status 20260102T030405678Z-0a1b2c3d',
    'agentos status --watch             follow the current run, and then the next one',
    'agentos status --json',
  ]);
  addPlaceFlags(
    status
      .argument('[run]', 'one run, or the id of one item')
      .option('--watch', 'follow runs live, from any terminal')
      .option('--json', 'print JSON'),
  );
  addDatabaseFlag(status).action(runs(async () => (await import('./commands/status.ts')).statusCommand));

  const ui = command('ui', 'serve the dashboard: what needs you, what is running, what happened and why', [
    'agentos ui                         prints a URL with a token; open it in a browser',
    'agentos ui --open --read-only',
    'agentos ui --host 0.0.0.0 --token "$(openssl rand -hex 32)"',
  ])
    .option('--port <n>', 'port (default: 7117, or any that is free)', port)
    .option('--host <address>', 'address to listen on (default: 127.0.0.1; any other needs --token)')
    .option('--token <token>', 'the token in the URL (default: a new one at each start)')
    .option('--open', 'open it in the browser')
    .option('--read-only', 'allow no decisions, starts or stops');
  addDatabaseFlag(addPlaceFlags(ui)).action(runs(async () => (await import('./commands/ui.ts')).uiCommand));

  const report = command('report', 'write a run as one HTML file, for CI, mails and pull requests', [
    'agentos report                     the last run; prints the path of the file',
    'agentos report --open',
    'agentos report --format md         for a comment, on stdout',
    'agentos report 20260102T030405678Z-0a1b2c3d --output report.html',
  ])
    .argument('[run]', 'the run (default: the last)')
    .addOption(new Option('--format <format>', 'html or md').choices(['html', 'md']).default('html'))
    .option('--output <file>', 'the file; - is stdout (default: report.html in the run’s folder; md: stdout)')
    .option('--open', 'open it in the browser');
  addPlaceFlags(report).action(runs(async () => (await import('./commands/report.ts')).reportCommand));

  const explain = command('explain', 'say why an item is or is not taken, what it waits for, and what comes next', [
    'agentos explain 42',
    'agentos explain 42 --json',
  ]);
  addPlaceFlags(explain.argument('<id>', 'the item').option('--json', 'print JSON')).action(
    runs(async () => (await import('./commands/explain.ts')).explainCommand),
  );

  const logs = command('logs', 'print the log of one item', [
    'agentos logs 42',
    'agentos logs 42 --follow',
    'agentos logs 42 --agent',
  ])
    .argument('<id>', 'the item')
    .option('--follow', 'keep printing until the item ends')
    .addOption(new Option('--agent', 'what agents read, wrote and ran, with the results').conflicts('follow'));
  addDatabaseFlag(addPlaceFlags(logs)).action(runs(async () => (await import('./commands/logs.ts')).logsCommand));

  const context = command('context', 'show what the models see of the repository for an item, and why', [
    'agentos context 42',
    'agentos context 42 --json          which lines of which files, and what is left out',
  ]);
  addPlaceFlags(context.argument('<id>', 'the issue or brief').option('--json', 'print JSON')).action(
    runs(async () => (await import('./commands/context.ts')).contextCommand),
  );

  const evaluate = command('eval', 'replay past items with other models, prompts or bounds, and compare', [
    'agentos eval --reviewer google:gemini-3.1-pro-preview --reviewer anthropic:claude-opus-5 --dry-run',
    'agentos eval 42 57 --drafter openai:gpt-6.1-sol --max-rounds 2 --max-rounds 4 --max-cost 5',
    'agentos eval --reviewer codex --prompts my-prompts --parallel 3',
  ]).argument('[ids...]', 'only these past items (default: all)');
  addEvalFlags(evaluate).action(batch('eval'));

  const doctor = command('doctor', 'check git, Node, configuration, keys and folders, and say what to do', [
    'agentos doctor',
    'agentos doctor --keys              one cheap call per key, to see which of them work',
  ]);
  addPlaceFlags(
    doctor
      .option('--keys', 'try every key with one cheap call')
      .option('--trust', 'trust the repository’s configuration for this call')
      .option('--json', 'print JSON'),
  );
  addDatabaseFlag(doctor).action(runs(async () => (await import('./commands/doctor.ts')).doctorCommand));

  const keys = command('keys', 'list the keys: ids, state and learned limits; never a secret', [
    'agentos keys',
    'agentos keys --json',
  ]);
  addDatabaseFlag(addPlaceFlags(keys.option('--json', 'print JSON'))).action(
    runs(async () => (await import('./commands/keys.ts')).keysCommand),
  );

  const clean = command(
    'clean',
    'remove worktrees, checkpoints and old runs that are safe to remove; say what is kept and why',
    [
      'agentos clean --dry-run',
      'agentos clean',
      'agentos clean --discard 42         delete the implementation of 42, to start over; asks if it is finished',
    ],
  );
  addPlaceFlags(
    clean
      .option('--dry-run', 'say what would be removed, and remove nothing')
      .option('--caches', 'remove the caches of package managers and compilers too')
      .option('--discard <id...>', 'only delete the implementations of these items, with all their files')
      .option('--yes', 'with --discard: delete finished implementations without asking')
      .option('--json', 'print JSON'),
  ).action(runs(async () => (await import('./commands/clean.ts')).cleanCommand));

  const trust = command(
    'trust',
    'show what the repository’s configuration would run, redirect or hand over, and remember that you trust it',
    ['agentos trust', 'agentos trust --revoke'],
  );
  addPlaceFlags(trust.option('--revoke', 'no longer trust it')).action(
    runs(async () => (await import('./commands/trust.ts')).trustCommand),
  );

  addHubCommands(command);

  const init = command('init', 'write a commented agentos.yaml', ['agentos init', 'agentos init --print']);
  init
    .option('--print', 'print it instead of writing it')
    .option('--repo <dir>', 'target repository (default: the one around the current directory)')
    .action(runs(async () => (await import('./commands/init.ts')).initCommand));

  command('demo', 'take the tour on a sample repository, with recorded replies: no key, no network', [
    'agentos demo',
    'agentos demo --dir /tmp/tour',
  ])
    .option('--dir <dir>', 'the folder for the sample repository', 'agentos-demo')
    .action(runs(async () => (await import('./commands/demo.ts')).demoCommand));

  command('completion', 'print a shell completion script', [
    'source <(agentos completion bash)',
    'agentos completion zsh > "${fpath[1]}/_agentos"',
    'agentos completion fish | source',
  ])
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionScript } = await import('./commands/completion.ts');
      process.stdout.write(completionScript(shell, program));
    });

  command('help', 'show help for a command', ['agentos help', 'agentos help lld'])
    .argument('[command]', 'the command')
    .action((name: string | undefined) => {
      const wanted = name === undefined ? program : program.commands.find((candidate) => candidate.name() === name);
      if (wanted) wanted.help();
      const names = program.commands.map((candidate) => candidate.name());
      const told = suggestion(name ?? '', names);
      throw usageError(
        `Unknown command '${name}'.`,
        told === null ? 'See: agentos --help' : `${told} See: agentos --help`,
      );
    });

  return program;
}
