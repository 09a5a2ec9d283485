import { createInterface } from 'node:readline/promises';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { shownJson } from '../../core/json.ts';
import { createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { requireOwnFolder, tidyWorkFolder } from '../../process/state-folder.ts';
import { type CleanEntry, clean } from '../../run/clean/clean.ts';
import { discard, implementedBranches } from '../../run/clean/discard.ts';
import { type PlaceFlags, placeFlagsOf, projectOf, readItemId } from '../request.ts';

interface CleanFlags extends PlaceFlags {
  dryRun?: boolean;
  json?: boolean;
  caches?: boolean;
  discard?: string[];
  yes?: boolean;
}

export async function cleanCommand(flags: CleanFlags): Promise<number> {
  const { dryRun = false, json = false, caches = false } = flags;
  if (flags.discard !== undefined && caches) {
    throw new AgentosError({
      code: 'usage',
      reason: '--discard and --caches exclude each other.',
      hint: 'Write two commands.',
    });
  }
  const ids = flags.discard?.map((text) => readItemId(text, flags.repo));
  const project = await projectOf(flags);
  const { paths, mask } = project;
  await requireOwnFolder(paths);
  if (ids !== undefined && !dryRun && flags.yes !== true && !(await isSure(await implementedBranches(project, ids)))) {
    process.stderr.write('Nothing was removed.\n');
    return EXIT.ok;
  }
  const { removed, kept } =
    ids === undefined
      ? await clean(project, { dryRun, caches, place: placeFlagsOf(flags) })
      : await discard(project, ids, dryRun);
  if (!dryRun) await tidyWorkFolder(paths);
  if (json) {
    process.stdout.write(`${mask(shownJson({ dryRun, removed, kept }, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, mask);
  for (const entry of removed) print(terminal, entry, dryRun ? 'would remove' : 'removed', 'green');
  for (const entry of kept) print(terminal, entry, 'kept', 'yellow');
  if (removed.length === 0) terminal.line('Nothing to remove.');
  return EXIT.ok;
}

/** Finished work is thrown away only by a yes: on a terminal it is asked for, elsewhere `--yes` says it. */
async function isSure(branches: readonly { id: string; branch: string }[]): Promise<boolean> {
  if (branches.length === 0) return true;
  const which = branches.map(({ id, branch }) => `${id} is implemented on ${branch}`).join(', ');
  if (!process.stdin.isTTY)
    throw new AgentosError({ code: 'usage', reason: `${which}.`, hint: 'Add --yes to throw that away too.' });
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await asking.question(`${which}. Throw it away? [y/N] `)).trim());
  } finally {
    asking.close();
  }
}

function print(terminal: Terminal, entry: CleanEntry, verb: string, style: 'green' | 'yellow'): void {
  const { kind, name, why, discard } = entry;
  terminal.line(`${paint(terminal, style, verb)}  ${kind} ${printable(name)}: ${printable(why)}`);
  if (discard !== null) terminal.line(`      to throw it away: ${printable(discard)}`);
}
