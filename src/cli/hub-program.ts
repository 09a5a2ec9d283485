import { type Command, Option } from 'commander';
import { runs } from './action.ts';
import { addHubDatabaseFlag, duration, port } from './flags.ts';

/** The commands for several machines. */
export function addHubCommands(command: (name: string, description: string, examples: string[]) => Command): void {
  const hub = command('hub', 'several machines, one backlog: the database, the keys and the repository for them', [
    'agentos hub                        with a PostgreSQL of its own; says how a machine joins',
    'agentos hub --database postgres://agentos@db.example/agentos',
    'agentos hub machines               who has joined, and what each does',
    'agentos hub revoke laptop-2        refuse a machine',
  ]);
  // Its subcommands have a flag of the same name.
  hub.enablePositionalOptions();
  addHubDatabaseFlag(hub, '; without it one of its own')
    .option('--host <address>', 'listen on this address only', '0.0.0.0')
    .option('--port <n>', 'listen on this port', port, 7477)
    .option('--address <url...>', 'how machines reach it (default: by the addresses of this machine)')
    .option('--tls-cert <file>', 'its certificate (default: made at the first start)')
    .option('--tls-key <file>', 'the key of that certificate')
    .option(
      '--repo <dir>',
      'show the runs of this repository on the pages of agentos ui, from wherever they were submitted',
    )
    .addOption(
      new Option('--lease <duration>', 'how long a machine that is cut off keeps its items')
        .argParser(duration)
        .default(45_000, '45s'),
    )
    .option('--base-dir <dir>', 'state folder (default: .agentos in the current directory, or AGENTOS_HOME)')
    .option('--config <file>', 'keys, limits and endpoints (default: from the environment alone)')
    .action(runs(async () => (await import('./commands/hub.ts')).hubCommand));
  addHubDatabaseFlag(
    hub.command('machines').description('the machines that have joined').option('--json', 'print JSON'),
  ).action(runs(async () => (await import('./commands/hub.ts')).machinesCommand));
  addHubDatabaseFlag(
    hub
      .command('revoke')
      .description('refuse a machine, and give its items to others')
      .argument('<machine>', 'its name or id'),
  ).action(runs(async () => (await import('./commands/hub.ts')).revokeCommand));

  const worker = command('worker', 'joins the hub’s backlog from this machine; needs no key and no checkout', [
    'agentos worker --database postgres://agentos@db.example/agentos --parallel 4',
    'agentos worker --tag gpu           also takes items that need a gpu',
  ]);
  addHubDatabaseFlag(worker)
    .option('--parallel [n]', 'n items at once (default: the number of cores; at most 10)')
    .option('--tag <tag...>', 'what this machine has; items may need it')
    .option('--name <name>', 'how it is called in agentos hub machines (default: its host name)')
    .option('--base-dir <dir>', 'state folder (default: .agentos in the current directory, or AGENTOS_HOME)')
    .action(runs(async () => (await import('./commands/worker.ts')).workerCommand));

  const database = command('database', 'the schema that the machines of a hub share', [
    'agentos database migrate --database postgres://agentos@db.example/agentos',
    'agentos database check',
  ]);
  addHubDatabaseFlag(
    database.command('migrate').description('brings it to the version that this program needs'),
  ).action(runs(async () => (await import('./commands/database.ts')).migrateCommand));
  addHubDatabaseFlag(
    database.command('check').description('says whether this program can work with it').option('--json', 'print JSON'),
  ).action(runs(async () => (await import('./commands/database.ts')).checkDatabaseCommand));
}
