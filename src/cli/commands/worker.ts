import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import { AGENT_PROGRAMS, missingAgent } from '../../agent/create.ts';
import { usageError } from '../../core/errors.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { MAX_PARALLEL } from '../../core/plan.ts';
import { withLoopbackDirect } from '../../core/proxy.ts';
import { runMachine } from '../../hub/machine.ts';
import { createTerminal, printable } from '../../output/terminal.ts';
import { makeFolder } from '../../process/files.ts';
import { tryLock } from '../../process/lock.ts';
import { prepareStateFolder } from '../../process/state-folder.ts';
import { requireDatabase } from '../at-hub.ts';
import { hideSecrets } from '../request.ts';
import { exitCodeFor, watchInterrupts } from '../signals.ts';
import { version } from '../version.ts';
import { stateFolder } from './hub.ts';

interface WorkerFlags {
  database?: string;
  /** True: without a number. */
  parallel?: number | true;
  tag?: string[];
  name?: string;
  baseDir?: string;
}

/** Works on the hub's backlog until a signal stops it. */
export async function workerCommand(flags: WorkerFlags): Promise<number> {
  const databaseUrl = requireDatabase(flags);
  hideSecrets([]);
  const { parallel = true, tag: tags = [], name = hostname() } = flags;
  const odd = tags.find((tag) => !/^[\w.-]{1,40}$/.test(tag));
  if (odd !== undefined)
    throw usageError(`"${odd}" is not a tag.`, 'Tags are letters, digits, dots, hyphens and underscores.');
  const base = stateFolder(flags.baseDir);
  await prepareStateFolder(base);
  await makeFolder(join(base, 'machine'));
  const lock = tryLock(join(base, 'machine', 'lock')) ?? tryLock(join(base, 'machine', 'lock'));
  if (lock === null)
    throw usageError(`Another worker runs in ${base}.`, 'Stop it first, or start this one with another --base-dir.');
  const childEnv = withLoopbackDirect(withoutSecrets(process.env, [], []));
  const terminal = createTerminal();
  using interrupt = watchInterrupts();
  try {
    await runMachine({
      databaseUrl,
      base,
      name,
      tags: [...new Set([...tags.map((tag) => tag.toLowerCase()), ...(await agentsHere(childEnv))])],
      parallel: Math.min(MAX_PARALLEL, parallel === true ? availableParallelism() : parallel),
      version,
      childEnv,
      drain: interrupt.polite,
      now: interrupt.now,
      onLine: (line) => terminal.line(`[WORKER] ${printable(line)}`),
    });
    return exitCodeFor(interrupt.by());
  } finally {
    lock.release();
  }
}

/** Tags for the installed agents: an item whose model is an agent needs a machine that has it. */
async function agentsHere(env: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (const name of Object.keys(AGENT_PROGRAMS)) {
    if (name !== 'acp' && (await missingAgent(name, env['PATH'])) === null) found.push(name);
  }
  return found;
}
