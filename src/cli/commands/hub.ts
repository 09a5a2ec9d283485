import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { resolveConfig } from '../../core/config.ts';
import type { ConfigFile } from '../../core/config-file.ts';
import { AgentosError, systemCode, usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { shownJson } from '../../core/json.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { createMask } from '../../core/mask.ts';
import { runHub } from '../../hub/hub.ts';
import { readHub } from '../../hub/hub-link.ts';
import { listMachines, revokeMachine } from '../../hub/machines.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { ownEnvironment } from '../../process/own-environment.ts';
import { prepareStateFolder } from '../../process/state-folder.ts';
import { withDatabase } from '../hub-database.ts';
import { exitCodeFor, watchInterrupts } from '../interrupt.ts';
import { type DatabaseFlags, databaseOf, hideSecrets } from '../place.ts';
import { version } from '../version.ts';

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
  if ((flags.tlsCert === undefined) !== (flags.tlsKey === undefined)) {
    throw usageError(
      'A certificate needs its key, and a key its certificate.',
      'Write both: --tls-cert <file> --tls-key <file>',
    );
  }
  const base = stateFolder(flags.baseDir);
  const env = ownEnvironment();
  const config = resolveConfig({}, await settingsIn(flags.config), env);
  hideSecrets(config.keys);
  await prepareStateFolder(base);
  const terminal = createTerminal(process.stdout, process.env, createMask(config.keys.map((key) => key.secret)));
  const interrupt = watchInterrupts();
  const say = (line: string): void => terminal.line(`[HUB] ${printable(line)}`);
  try {
    await runHub({
      databaseUrl: databaseOf(flags),
      base,
      host: flags.host,
      port: flags.port,
      addresses: flags.address ?? [],
      tls:
        flags.tlsCert !== undefined && flags.tlsKey !== undefined
          ? { certificate: flags.tlsCert, key: flags.tlsKey }
          : null,
      leaseMs: flags.lease,
      config,
      env,
      childEnv: withoutSecrets(env, config.keys, []),
      version,
      openPages:
        flags.repo === undefined
          ? null
          : async (at) => (await import('../hub-pages.ts')).openHubPages({ ...at, base, repo: flags.repo ?? '.' }),
      stop: interrupt.polite,
      onLine: say,
    });
    return exitCodeFor(interrupt.by());
  } finally {
    interrupt.dispose();
  }
}

/** A hub needs no repository: its state is in the folder that it is started in. */
export function stateFolder(given: string | undefined): string {
  return resolve(given ?? (process.env['AGENTOS_HOME'] || '.agentos'));
}

/** Only of a file that is named: whatever lies in the folder is not this machine's to believe. */
async function settingsIn(file: string | undefined): Promise<ConfigFile> {
  if (file === undefined) return {};
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AgentosError(
      { code: 'config-unreadable', file, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  });
  const { parseConfigFile } = await import('../../core/config-reader.ts');
  return parseConfigFile(text, file);
}

export async function machinesCommand(flags: DatabaseFlags & { json?: boolean }): Promise<number> {
  return withDatabase(flags, async (database) => {
    const { leaseMs } = await readHub(database);
    const machines = await listMachines(database, leaseMs);
    if (flags.json) {
      process.stdout.write(`${shownJson({ machines }, 2)}\n`);
      return EXIT.ok;
    }
    const terminal = createTerminal(process.stdout, process.env, (text) => text);
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
    return EXIT.ok;
  });
}

export async function revokeCommand(machine: string, flags: DatabaseFlags): Promise<number> {
  return withDatabase(flags, async (database) => {
    const { name, items } = await revokeMachine(database, machine);
    const terminal = createTerminal(process.stdout, process.env, (text) => text);
    terminal.line(
      `${printable(name)} is revoked: the hub refuses it, and ${items} item(s) of it are ready for others.`,
    );
    terminal.line(
      'It still knows the password of the database: change that too, and restart hub and machines with the new one.',
    );
    return EXIT.ok;
  });
}
