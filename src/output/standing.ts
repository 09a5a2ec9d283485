import { oneLine } from '../core/lines.ts';
import type { ItemDetail, Stage, Standing } from '../core/standing.ts';
import { paint, type Terminal } from './terminal.ts';

const LONGEST_TITLE = 48;
const LONGEST_WAIT = 110;
const STYLES: Record<Stage, 'bold' | 'dim' | 'green' | 'red'> = {
  issue: 'dim',
  lld: 'bold',
  branch: 'green',
  merged: 'green',
  dropped: 'dim',
  unreadable: 'red',
};

/** The backlog for people: a row per item, issue → LLD → branch → merged. */
export function printStandings(terminal: Terminal, items: readonly Standing[]): void {
  const counts = Object.keys(STYLES).flatMap((state) => {
    const count = items.filter((item) => item.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  if (items.length === 0) terminal.line('No issues yet. Write one as issues/<id>.md.');
  else terminal.line(`${paint(terminal, 'bold', 'Backlog')}  ${items.length} item(s): ${counts.join(', ')}`);
  const titles = items.map(({ title }) => cut(oneLine(title), LONGEST_TITLE));
  const idWidth = widest(items.map(({ id }) => id));
  const stateWidth = widest(items.map(({ state }) => state));
  const titleWidth = widest(titles);
  for (const [index, item] of items.entries()) {
    const cells = [
      item.id.padEnd(idWidth),
      paint(terminal, STYLES[item.state], item.state.padEnd(stateWidth)),
      (titles[index] ?? '').padEnd(titleWidth),
      item.costUsd > 0 ? `$${item.costUsd.toFixed(4)}` : '-'.padEnd(7),
      cut(waitText(item) ?? item.branch ?? '', LONGEST_WAIT),
    ];
    terminal.line(`  ${cells.join('  ')}`.trimEnd());
  }
}

export function printStanding(terminal: Terminal, item: ItemDetail): void {
  const { id, title, state, lld, lineage, branch, worktree, question, lastRun, costUsd, runs } = item;
  terminal.line(`${paint(terminal, 'bold', id)}  ${oneLine(title)}`);
  const rows: [name: string, value: string | null][] = [
    ['state', state],
    ['now', waitText(item)],
    ['read', question?.read ?? null],
    ['decide', question?.decide ?? null],
    ['LLD', lld],
    ['lineage', lineage],
    ['branch', branch],
    ['worktree', worktree],
    ['last run', lastRun && [lastRun.runId, lastRun.workflow, lastRun.status, lastRun.step ?? ''].join('  ').trimEnd()],
    ['cost', runs === 0 ? null : `$${costUsd.toFixed(4)} in ${runs} run(s)`],
  ];
  for (const [name, value] of rows) if (value !== null) terminal.line(`  ${name.padEnd(10)}  ${oneLine(value)}`);
}

/** What it waits for, or what was last heard of it; null: there is nothing to say. */
function waitText({ waitsFor, reason, isUnderWay, lastRun }: Standing): string | null {
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  switch (waitsFor) {
    case 'person':
      return `waits for a person${why}`;
    case 'run':
      return `decided, waits for the next run${why}`;
    case 'model':
      return `waits for a model${why}`;
    case 'quota':
      return `waits for quota${why}`;
    case 'item':
      return `waits for another item${why}`;
    case null:
      break;
  }
  if (isUnderWay)
    return lastRun?.status === 'running' ? `running ${lastRun.step ?? ''}`.trimEnd() : 'waits for its turn';
  const isTemporaryFile = lastRun !== null && lastRun.status !== 'succeeded' && lastRun.status !== 'skipped';
  if (isTemporaryFile) return `${lastRun.status}${why}`;
  return reason === null ? null : oneLine(reason);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, text.length), 0);
}
