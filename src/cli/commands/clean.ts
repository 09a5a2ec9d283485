import { usageError } from '../../core/errors.ts';
import { createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { requireOwnFolder, tidyWorkFolder } from '../../process/state-folder.ts';
import { clean } from '../../run/clean/clean.ts';
import { discard, implementedBranches } from '../../run/clean/discard.ts';
import type { CleanEntry } from '../../run/clean/worktrees.ts';
import { printJson } from '../print.ts';
import { type PlaceFlags, projectOf, readItemId, saysYes } from '../request.ts';

interface CleanFlags extends PlaceFlags {
  dryRun?: boolean;
  caches?: boolean;
  discard?: string[];
  yes?: boolean;
}

export async function cleanCommand(flags: CleanFlags): Promise<void> {
  const { dryRun = false, json = false, caches = false } = flags;
  const ids = flags.discard?.map((text) => readItemId(text, flags.repo));
  const project = await projectOf(flags);
  const { paths, mask } = project;
  await requireOwnFolder(paths);
  if (ids !== undefined && !dryRun && flags.yes !== true && !(await isSure(await implementedBranches(project, ids)))) {
    process.stderr.write('Nothing was removed.\n');
    return;
  }
  const { removed, kept } =
    ids === undefined ? await clean(project, { dryRun, caches }) : await discard(project, ids, dryRun);
  if (!dryRun) await tidyWorkFolder(paths);
  if (json) return printJson({ dryRun, removed, kept }, mask);
  const terminal = createTerminal(mask);
  for (const entry of removed) print(terminal, entry, dryRun ? 'would remove' : 'removed', 'green');
  for (const entry of kept) print(terminal, entry, 'kept', 'yellow');
  if (removed.length === 0) terminal.line('Nothing to remove.');
}

/** Discarding finished work needs a yes: on a terminal it asks, elsewhere `--yes` is needed. */
async function isSure(branches: readonly { id: string; branch: string }[]): Promise<boolean> {
  if (branches.length === 0) return true;
  const which = branches.map(({ id, branch }) => `${id} is implemented on ${branch}`).join(', ');
  if (!process.stdin.isTTY) throw usageError(`${which}.`, 'Add --yes to throw that away too.');
  return saysYes(`${which}. Throw it away? [y/N] `);
}

function print(terminal: Terminal, entry: CleanEntry, verb: string, style: 'green' | 'yellow'): void {
  const { kind, name, why, discard } = entry;
  terminal.line(`${paint(terminal, style, verb)}  ${kind} ${printable(name)}: ${printable(why)}`);
  if (discard !== null) terminal.line(`      to throw it away: ${printable(discard)}`);
}
