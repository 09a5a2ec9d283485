import { resolve } from 'node:path';
import { usageError } from '../../core/errors.ts';
import { DATABASE_VARIABLE } from '../../core/keys.ts';
import { createTerminal } from '../../output/terminal.ts';
import { withCachedIssues } from '../../run/project.ts';
import { isLoopback, startUi } from '../../ui/server/server.ts';
import { openInBrowser } from '../browser.ts';
import { decideAtHub, followAtHub } from '../hub-look.ts';
import { exitCodeFor, watchInterrupts } from '../interrupt.ts';
import { type DatabaseFlags, type PlaceFlags, projectOf } from '../place.ts';
import { version } from '../version.ts';

interface UiFlags extends PlaceFlags, DatabaseFlags {
  port?: number;
  host?: string;
  token?: string;
  open?: boolean;
  readOnly?: boolean;
}

const SHORTEST_TOKEN = 16;

/** The dashboard, until it is interrupted. */
export async function uiCommand(flags: UiFlags): Promise<number> {
  const { host = '127.0.0.1', token = null, port = null, readOnly = false } = flags;
  if (!isLoopback(host) && token === null) {
    throw usageError(
      `On ${host} others on the network can reach the dashboard, so that it needs a token of your own.`,
      `agentos ui --host ${host} --token "$(openssl rand -hex 32)"`,
    );
  }
  if (token !== null && !new RegExp(`^[\\w-]{${SHORTEST_TOKEN},}$`).test(token)) {
    throw usageError(
      `A token has at least ${SHORTEST_TOKEN} letters, digits, - or _.`,
      'Leave --token out on this machine: a random one is made.',
    );
  }
  // For the programs that are started from it, too.
  if (flags.database !== undefined) process.env[DATABASE_VARIABLE] = flags.database;
  const project = withCachedIssues(await projectOf(flags));
  const place = placeOf(flags);
  const interrupt = watchInterrupts();
  const leaveHub = await followAtHub(project, flags);
  const server = await startUi({
    project,
    version,
    readOnly,
    host,
    port,
    token,
    place,
    decideWith: (id, decide) => decideAtHub(project, flags, id, decide),
  });
  const terminal = createTerminal(process.stdout, process.env, project.mask);
  terminal.line(`Dashboard: ${server.url}`);
  terminal.line('Ctrl+C ends it. Runs that were started from it continue.');
  if (flags.open) await openInBrowser(server.oneTimeUrl());
  if (!interrupt.polite.aborted)
    await new Promise((end) => interrupt.polite.addEventListener('abort', end, { once: true }));
  await server.close();
  await leaveHub();
  const signal = interrupt.by();
  interrupt.dispose();
  return exitCodeFor(signal);
}

/** For programs that are started elsewhere: as words, and absolute. */
function placeOf({ repo, baseDir, config, source }: PlaceFlags): string[] {
  return [
    '--repo',
    resolve(repo ?? '.'),
    ...(baseDir === undefined ? [] : ['--base-dir', resolve(baseDir)]),
    ...(config === undefined ? [] : ['--config', resolve(config)]),
    ...(source === undefined ? [] : ['--source', source]),
  ];
}
