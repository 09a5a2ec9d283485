import { EXIT } from '../../core/exit-code.ts';
import { shownJson } from '../../core/json.ts';
import { oneLine } from '../../core/lines.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { type Explanation, explain } from '../../run/standing/explain.ts';
import { type PlaceFlags, projectOf, readItemId } from '../place.ts';

/** Why an item is or is not taken, what it waits for, and what comes next. */
export async function explainCommand(which: string, flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const id = readItemId(which, flags.repo);
  const project = await projectOf(flags);
  project.hosts.onNotice = (text) => void process.stderr.write(`${printable(text)}\n`);
  const explanation = await explain(project, id);
  if (flags.json) {
    process.stdout.write(`${project.mask(shownJson(explanation, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, project.mask);
  terminal.line(`${paint(terminal, 'bold', id)}  ${printable(oneLine(explanation.title ?? ''))}`.trimEnd());
  for (const [name, value] of rowsOf(explanation)) {
    if (value !== null && value !== '') terminal.line(`  ${name.padEnd(13)}  ${printable(oneLine(value))}`);
  }
  return EXIT.ok;
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
