import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { resolveConfig } from '../../core/config.ts';
import type { ConfigFile } from '../../core/config-file.ts';
import { AgentosError, systemCode, usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { createMask } from '../../core/mask.ts';
import type { Database } from '../../hub/database.ts';
import { type HubPages, runHub } from '../../hub/hub.ts';
import { readHub } from '../../hub/hub-link.ts';
import { listMachines, revokeMachine } from '../../hub/machines.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from '../../hub/migrations.ts';
import { keptSecret } from '../../hub/secret-file.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { ownEnvironment } from '../../process/own-process.ts';
import { prepareStateFolder } from '../../process/state-folder.ts';
import { withDatabase } from '../at-hub.ts';
import { printJson, printJsonLine, printProblem } from '../print.ts';
import { databaseOf, hideSecrets, projectOf } from '../request.ts';
import { exitCodeFor, watchInterrupts } from '../signals.ts';
import { version } from '../version.ts';

interface DatabaseFlags {
  database?: string;
  json?: boolean;
}

interface HubFlags extends DatabaseFlags {
  host: string;
  port: number;
  address?: string[];
  tlsCert?: string;
  tlsKey?: string;
  lease: number;
  baseDir?: string;
  config?: string;
  repo?: string;
}

/** Runs until a signal ends it. */
export async function hubCommand(flags: HubFlags): Promise<number> {
  const { host, port, address = [], tlsCert, tlsKey, lease, repo } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw usageError(
      'A certificate needs its key, and a key its certificate.',
      'Write both: --tls-cert and --tls-key.',
    );
  const base = stateFolder(flags.baseDir);
  const env = ownEnvironment();
  const config = resolveConfig({}, await settingsIn(flags.config), env);
  hideSecrets(config.keys);
  await prepareStateFolder(base);
  const terminal = createTerminal(createMask(config.keys.map((key) => key.secret)));
  using interrupt = watchInterrupts();
  await runHub({
    databaseUrl: databaseOf(flags),
    base,
    host,
    port,
    addresses: address,
    tls: tlsCert !== undefined && tlsKey !== undefined ? { certificate: tlsCert, key: tlsKey } : null,
    leaseMs: lease,
    config,
    env,
    childEnv: withoutSecrets(env, config.keys, []),
    version,
    openPages: repo === undefined ? null : (at) => openHubPages({ ...at, base, repo }),
    stop: interrupt.polite,
    onLine: (line) => terminal.line(`[HUB] ${printable(line)}`),
  });
  return exitCodeFor(interrupt.by());
}

/** A hub needs no repository: its state is in the folder that it is started in. */
export function stateFolder(given: string | undefined): string {
  return resolve(given ?? (process.env['AGENTOS_HOME'] || '.agentos'));
}

/** Only of a file that is named: whatever lies in the folder is not this machine's to believe. */
async function settingsIn(file: string | undefined): Promise<ConfigFile> {
  if (file === undefined) return {};
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const reason = systemCode(error) ?? String(error);
    throw new AgentosError({ code: 'config-unreadable', file, reason }, { cause: error });
  });
  const { parseConfigFile } = await import('../../core/config-reader.ts');
  return parseConfigFile(text, file);
}

/**
 * The dashboard of a repository as the hub knows it: runs from all checkouts, in a state folder of its own. Nothing can be done there:
 * decisions and files belong to those who submitted. Its code is loaded only if it is asked for.
 */
async function openHubPages(place: {
  repo: string;
  base: string;
  databaseUrl: string;
  port: number;
}): Promise<HubPages> {
  const { followHubRuns } = await import('../../run/hub/hub-sync.ts');
  const { withCachedIssues } = await import('../../run/project.ts');
  const { createDashboard } = await import('../../ui/server/server.ts');
  const { createSession, newToken } = await import('../../ui/server/session.ts');
  const { repo, base, databaseUrl, port } = place;
  const project = withCachedIssues(await projectOf({ repo, baseDir: join(base, 'hub', 'pages') }));
  await prepareStateFolder(project.paths.base);
  const tokenFile = join(base, 'hub', 'pages-token');
  const session = createSession({ token: await keptSecret(tokenFile, newToken), port, hosts: null });
  const dashboard = await createDashboard({ project, version, readOnly: true, place: [] }, session);
  const stop = new AbortController();
  const following = followHubRuns({ project, databaseUrl, version }, stop.signal, { ofAll: true });
  return {
    handle: (request, response) => dashboard.handle(request, response),
    tokenFile,
    async close() {
      stop.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the hub' }));
      await following;
      await dashboard.close();
    },
  };
}

export async function machinesCommand(flags: DatabaseFlags): Promise<void> {
  await withDatabase(flags, async (database) => {
    const { leaseMs } = await readHub(database);
    const machines = await listMachines(database, leaseMs);
    if (flags.json) return printJson({ machines });
    const terminal = createTerminal();
    if (machines.length === 0) terminal.line('No machine has joined yet.');
    const width = machines.reduce((most, { name }) => Math.max(most, name.length), 0);
    for (const { id, name, state, running, parallel, tags, version: its, seenAt } of machines) {
      const style = state === 'working' ? 'green' : state === 'revoked' || state === 'silent' ? 'red' : 'dim';
      const load = parallel === 0 ? '' : `${running}/${parallel} item(s)`;
      const facts = [load, tags.join(','), `version ${its}`, `seen ${seenAt}`].filter((text) => text !== '');
      terminal.line(
        `${id.slice(0, 8)}  ${printable(name).padEnd(width)}  ${paint(terminal, style, state.padEnd(9))}  ${printable(facts.join('  '))}`,
      );
    }
  });
}

export async function revokeCommand(machine: string, flags: DatabaseFlags): Promise<void> {
  await withDatabase(flags, async (database) => {
    const { name, items } = await revokeMachine(database, machine);
    const terminal = createTerminal();
    terminal.line(`${printable(name)} is revoked: the hub refuses it, and its ${items} item(s) are ready for others.`);
    terminal.line(
      'It still knows the password of the database: change that too, and restart hub and machines with it.',
    );
  });
}

export async function migrateCommand(flags: DatabaseFlags): Promise<void> {
  const work = async (database: Database): Promise<void> => {
    const { from, to } = await migrate(database, version);
    const done = from === to ? `is at version ${to} already` : `was migrated from version ${from} to ${to}`;
    createTerminal().line(`The schema agentos in ${database.name} ${done}.`);
  };
  await withDatabase(flags, work, { anyVersion: true });
}

/** 0: this program can work with it; 1: it can't. */
export async function checkDatabaseCommand(flags: DatabaseFlags): Promise<number> {
  const work = async (database: Database): Promise<number> => {
    const { name } = database;
    const found = await schemaVersion(database);
    const ok = found === SCHEMA_VERSION;
    if (flags.json) printJsonLine({ database: name, found, known: SCHEMA_VERSION, ok });
    else if (ok)
      createTerminal().line(`The schema agentos in ${name} is at version ${found}, as this program needs it.`);
    else printProblem({ code: 'database-schema', database: name, found, known: SCHEMA_VERSION });
    return ok ? EXIT.ok : EXIT.failed;
  };
  return withDatabase(flags, work, { anyVersion: true });
}
