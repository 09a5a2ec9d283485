import { EXIT } from '../../core/exit-code.ts';
import { shownJson } from '../../core/json.ts';
import { createTerminal, printable } from '../../output/terminal.ts';
import { withCachedIssues } from '../../run/project.ts';
import { contextOf } from '../../run/standing/item-context.ts';
import { type PlaceFlags, projectOf, readItemId } from '../place.ts';

/** What drafter and reviewer are shown of the repository for an item, as they are shown it. Reads, and writes nothing. */
export async function contextCommand(which: string, flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const id = readItemId(which, flags.repo);
  const project = withCachedIssues(await projectOf(flags, {}, { mayBeBare: true }));
  const { mask } = project;
  const context = await contextOf(project, id);
  const { base, budgetTokens, tokens, files, leftOut } = context;
  if (flags.json) {
    const shown = { id, base, budgetTokens, tokens, files, leftOut };
    process.stdout.write(`${mask(shownJson(shown, 2))}\n`);
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
