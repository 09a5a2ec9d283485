import { oneLine } from '../../core/lines.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { withCachedIssues } from '../../run/project.ts';
import { type Explanation, explain } from '../../run/standing/explain.ts';
import { contextOf } from '../../run/standing/item-standing.ts';
import { printJson } from '../print.ts';
import { type PlaceFlags, projectOf, readItemId } from '../request.ts';

/** Why an item is or is not taken, what it waits for, and what comes next. */
export async function explainCommand(which: string, flags: PlaceFlags): Promise<void> {
  const id = readItemId(which, flags.repo);
  const project = await projectOf(flags);
  project.hosts.onNotice = (text) => void process.stderr.write(`${printable(text)}\n`);
  const explanation = await explain(project, id);
  if (flags.json) return printJson(explanation, project.mask);
  const terminal = createTerminal(project.mask);
  terminal.line(`${paint(terminal, 'bold', id)}  ${printable(oneLine(explanation.title ?? ''))}`.trimEnd());
  for (const [name, value] of rowsOf(explanation)) {
    if (value !== null && value !== '') terminal.line(`  ${name.padEnd(13)}  ${printable(oneLine(value))}`);
  }
}

function rowsOf(item: Explanation): [name: string, value: string | null][] {
  const { comments, pullRequests } = item;
  const counts = [
    `${comments.used} comment(s) are part of its text`,
    ...(comments.leftOut > 0 ? [`${comments.leftOut} of people who are not members are not`] : []),
    ...(comments.ignoredCommands > 0 ? [`${comments.ignoredCommands} answer(s) of others are ignored`] : []),
  ];
  return [
    ['source', item.url ?? item.source],
    ['last read', item.offline === null ? null : `this is as it was last read. ${item.offline}`],
    ['taken', item.taken ? 'yes' : 'no'],
    ['why', item.why],
    ['waits for', item.waitsFor],
    ['next', item.next],
    ['read', item.question?.read ?? null],
    ['blocked by', item.blockedBy.join(', ')],
    ['pull request', pullRequests.map(({ url, state }) => `${url} (${state})`).join(', ')],
    ['text', item.url === null ? null : counts.join('; ')],
    ['LLD', item.lld],
    ['branch', item.branch],
  ];
}

/** What drafter and reviewer are shown of the repository for an item, as they are shown it. Reads, and writes nothing. */
export async function contextCommand(which: string, flags: PlaceFlags): Promise<void> {
  const id = readItemId(which, flags.repo);
  const project = withCachedIssues(await projectOf(flags, {}, { mayBeBare: true }));
  const { text, base, budgetTokens, tokens, files, leftOut } = await contextOf(project, id);
  if (flags.json) return printJson({ id, base, budgetTokens, tokens, files, leftOut }, project.mask);
  const terminal = createTerminal(project.mask);
  for (const line of text.split('\n')) terminal.line(printable(line));
  const outlines = files.filter(({ part }) => part === 'outline').length;
  terminal.line('');
  terminal.line(
    `${tokens} of ${budgetTokens} tokens for ${id} at ${base.slice(0, 12)}: code of ${files.length - outlines} file(s), outlines of ${outlines}.`,
  );
}
