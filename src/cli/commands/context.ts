import { EXIT } from '../../core/exit-code.ts';
import { createTerminal, printable } from '../../output/terminal.ts';
import { contextOf } from '../../run/item-context.ts';
import { lookingBack, openProject } from '../../run/project.ts';
import { type PlaceFlags, readItemId } from '../request.ts';

/** What drafter and reviewer are shown of the repository for an item, as they are shown it. Reads, and writes nothing. */
export async function contextCommand(which: string, flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const { repo, baseDir, config: configFile, source } = flags;
  const id = readItemId(which, repo);
  const place = { cwd: process.cwd(), env: process.env, repo, baseDir, config: configFile, flags: { source } };
  const project = lookingBack(await openProject({ ...place, mayBeBare: true }));
  const { mask } = project;
  const context = await contextOf(project, id);
  const { base, budgetTokens, tokens, files, leftOut } = context;
  if (flags.json) {
    const shown = { id, base, budgetTokens, tokens, files, leftOut };
    process.stdout.write(`${mask(JSON.stringify(shown, null, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, mask);
  for (const line of context.text.split('\n')) terminal.line(printable(line));
  const outlines = files.filter(({ part }) => part === 'outline').length;
  terminal.line('');
  terminal.line(
    `${tokens} of ${budgetTokens} tokens for ${id} at ${base.slice(0, 12)}: code of ${files.length - outlines} file(s), outlines of ${outlines}.`,
  );
  return EXIT.ok;
}
