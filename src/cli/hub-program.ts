import { type Command, Option } from 'commander';
import { addHubDatabaseFlag, duration, port, runs } from './flags.ts';

/** The commands for several machines. */
export function addHubCommands(command: (name: string, description: string, examples: string[]) => Command): void {
  const hub = command('hub', 'serve several machines: one backlog, the keys and the repository', [
    'agentos hub                        with a PostgreSQL of its own; prints how a machine joins',
    'agentos hub --database postgres://agentos@db.example/agentos',
    'agentos hub machines               which machines have joined, and what each does',
    'agentos hub revoke laptop-2        refuse a machine',
  ]);
  addHubDatabaseFlag(hub, '; without it the hub starts one')
    .option('--host <address>', 'listen on this address only', '0.0.0.0')
    .option('--port <n>', 'listen on this port', port, 7477)
    .option('--address <url...>', 'URLs at which machines reach it (default: the addresses of this machine)')
    .option('--tls-cert <file>', 'its certificate (default: generated at the first start)')
    .option('--tls-key <file>', 'the key of that certificate')
    .option('--repo <dir>', 'serve a dashboard with the runs of this repository from all checkouts')
    .addOption(
      new Option('--lease <duration>', 'how long a machine without a connection keeps its items')
        .argParser(duration)
        .default(45_000, '45s'),
    )
    .option('--base-dir <dir>', 'state folder (default: .agentos in the current directory, or AGENTOS_HOME)')
    .option('--config <file>', 'keys, limits and endpoints (default: from the environment alone)')
    .action(runs(async () => (await import('./commands/hub.ts')).hubCommand));
  // In `hub machines --database …` the parser takes the flag for the hub's own.
  const machines = runs(async () => (await import('./commands/hub.ts')).machinesCommand);
  addHubDatabaseFlag(
    hub.command('machines').description('list the machines that have joined').option('--json', 'print JSON'),
  ).action((_, self: Command) => machines(self.optsWithGlobals()));
  const revoke = runs(async () => (await import('./commands/hub.ts')).revokeCommand);
  addHubDatabaseFlag(
    hub
      .command('revoke')
      .description('refuse a machine, and give its items to others')
      .argument('<machine>', 'its name or id'),
  ).action((machine: string, _, self: Command) => revoke(machine, self.optsWithGlobals()));

  const worker = command('worker', 'work on the hub’s backlog from this machine; needs no key and no checkout', [
    'agentos worker --database postgres://agentos@db.example/agentos --parallel 4',
    'agentos worker --tag gpu           also take items that need a gpu',
  ]);
  addHubDatabaseFlag(worker)
    .option('--parallel [n]', 'n items at once (default: the number of cores; at most 10)')
    .option('--tag <tag...>', 'what this machine has; items may need it')
    .option('--name <name>', 'its name in agentos hub machines (default: its host name)')
    .option('--base-dir <dir>', 'state folder (default: .agentos in the current directory, or AGENTOS_HOME)')
    .action(runs(async () => (await import('./commands/worker.ts')).workerCommand));

  const database = command('database', 'migrate or check the database schema of a hub', [
    'agentos database migrate --database postgres://agentos@db.example/agentos',
    'agentos database check',
  ]);
  addHubDatabaseFlag(database.command('migrate').description('migrate to the version that this program needs')).action(
    runs(async () => (await import('./commands/database.ts')).migrateCommand),
  );
  addHubDatabaseFlag(
    database.command('check').description('say whether this program can work with it').option('--json', 'print JSON'),
  ).action(runs(async () => (await import('./commands/database.ts')).checkDatabaseCommand));
}
