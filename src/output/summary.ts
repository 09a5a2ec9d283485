import { dirname } from 'node:path';
import { formatDuration } from '../core/duration.ts';
import { isFailure } from '../core/exit-code.ts';
import { ITEM_STATUSES } from '../core/item.ts';
import { shellWord } from '../core/lines.ts';
import type { ItemSummary, Summary } from '../core/summary.ts';
import { printEvaluation } from './evaluation.ts';
import { paint, type Terminal } from './terminal.ts';

/** Below a longer retry command, a short one is printed too. */
const LONG_LINE = 160;
const MOST_WAITING = 10;

/** The end of a run: a row per item, the total, and commands to copy. Without a guide, no next steps are printed. */
export function printSummary(terminal: Terminal, summary: Summary, guide: Guide | null): void {
  const { items } = summary;
  const rows = items.map((item) => [
    item.id,
    item.status,
    costText(item.costUsd),
    formatDuration(item.durationMs),
    item.error?.code ?? item.outputs[0] ?? '',
  ]);
  const widths = [0, 1, 2, 3].map((column) => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  terminal.line('');
  for (const [index, row] of rows.entries()) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    const status = items[index]?.status ?? 'failed';
    const style = status === 'succeeded' || status === 'skipped' ? 'green' : isFailure(status) ? 'red' : 'yellow';
    terminal.line(`${cells[0]}  ${paint(terminal, style, cells[1] ?? '')}  ${cells.slice(2).join('  ')}`.trimEnd());
  }
  terminal.line(paint(terminal, 'bold', totalLine(summary)));
  for (const { id, kept } of items) {
    if (kept === null) continue;
    terminal.line(`${id} is kept. Look at it: ${kept.look}`);
    terminal.line(`${' '.repeat(id.length)} Throw it away: ${kept.discard}`);
  }
  if (summary.evaluation !== undefined) printEvaluation(terminal, summary.evaluation);
  if (guide !== null) for (const line of nextLines(items, guide)) terminal.line(line);
  const waiting = items.filter((item) => item.status === 'discuss');
  for (const item of waiting.slice(0, MOST_WAITING)) printWaiting(terminal, item);
  if (waiting.length > MOST_WAITING) terminal.line(`${waiting.length - MOST_WAITING} more wait: see agentos status`);
  const unfinished = idsOf(items, ({ status }) => status === 'cancelled' || status === 'paused');
  const resume = (...words: string[]): string => ['agentos', 'resume', ...words, ...(guide?.place ?? [])].join(' ');
  if (unfinished !== '') terminal.line(`Not finished: ${unfinished}. Resume with: ${resume()}`);
  const failed = `Failed: ${idsOf(items, ({ status }) => isFailure(status))}.`;
  if (summary.changeFirst !== null) {
    const { what, flags } = summary.changeFirst;
    terminal.line(`First ${what}.`);
    terminal.line(`${failed} Retry with: ${resume(summary.runId, ...flags)}`);
  }
  if (summary.retryCommand === null) return;
  terminal.line(`${failed} Retry with: ${summary.retryCommand}`);
  if (summary.retryCommand.length > LONG_LINE) terminal.line(`Or, shorter: ${resume(summary.runId)}`);
}

function idsOf(items: readonly ItemSummary[], which: (item: ItemSummary) => boolean): string {
  return items
    .filter(which)
    .map(({ id }) => id)
    .join(', ');
}

/** `Total: 3 items (2 succeeded, 1 failed), $0.4321, 4m 05s` */
function totalLine({ items, counts, startedAt, finishedAt }: Summary): string {
  const parts = ITEM_STATUSES.flatMap((status) => (counts[status] ? [`${counts[status]} ${status}`] : []));
  const known = items.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const isKnown = items.every(({ costUsd }) => costUsd !== null);
  const cost = isKnown || known === 0 ? costText(isKnown ? known : null) : `${costText(known)} and an unknown cost`;
  const durationMs = Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt));
  const count = `${items.length} item${items.length === 1 ? '' : 's'}`;
  return `Total: ${count} (${parts.join(', ')}), ${cost}, ${formatDuration(durationMs)}`;
}

function costText(usd: number | null): string {
  return usd === null ? 'cost unknown' : `$${usd.toFixed(4)}`;
}

function printWaiting(terminal: Terminal, { id, question, reason }: ItemSummary): void {
  if (question === null) {
    terminal.line(`Waiting: ${id}, ${reason ?? 'for a person'}.`);
    return;
  }
  const read = question.read === null ? '' : `Read ${nameOf(question.read)} in ${dirname(question.read)}/, then: `;
  terminal.line(`Waiting for a person: ${id}. ${read}${question.decide}`);
}

function nameOf(path: string): string {
  if (path.endsWith('-draft.md')) return 'the draft';
  return path.endsWith('-verdict.md') ? 'the last verdict' : 'the last review';
}

/** What the commands to copy depend on. */
export interface Guide {
  /** Flags that every command repeats, to mean the same repository. */
  place: readonly string[];
  /** No model was used, so no next command is suggested. */
  offline: boolean;
  /** The branch of the checkout; null: no branch was made. */
  checkout: { name: string; canPush: boolean } | null;
}

/** With more branches, their commands are not listed one by one. */
const MOST_BRANCHES = 5;
const MOST_IDS = 12;
const INDENT = ' '.repeat('Next: '.length);

/** Next steps for what succeeded, by the last workflow of each item. */
function nextLines(items: readonly ItemSummary[], guide: Guide): string[] {
  const done = (workflow: ItemSummary['workflow']): ItemSummary[] =>
    items.filter((item) => item.status === 'succeeded' && item.workflow === workflow);
  const agentos = (command: string, ids: readonly string[]): string[] => {
    if (ids.length === 0 || guide.offline) return [];
    const which = ids.length > MOST_IDS ? ['--all'] : ids;
    return [['agentos', command, ...which, ...guide.place].join(' ')];
  };
  const steps = [
    ...agentos(
      'lld',
      done('issue').flatMap(({ outputs }) => /^issues[\\/]([\w-]+)\.md$/.exec(outputs[0] ?? '')?.[1] ?? []),
    ),
    ...agentos(
      'implement',
      done('lld').map(({ id }) => id),
    ),
    ...done('implement')
      .flatMap(({ outputs }) => requestIn(outputs) ?? [])
      .map((url) => `review ${url}`),
    ...branchSteps(
      [
        ...new Set(
          [...done('implement'), ...done('land')].flatMap(({ outputs }) =>
            requestIn(outputs) === null ? (outputs[0] ?? []) : [],
          ),
        ),
      ],
      guide,
    ),
    ...(done('implement').length > 1
      ? agentos(
          'land',
          done('implement').map(({ id }) => id),
        ).map((command) => `or as one branch, tested together: ${command}`)
      : []),
  ];
  return steps.map((step, index) => `${index === 0 ? 'Next: ' : INDENT}${step}`);
}

/** The pull request among the outputs of an item; null: none was opened. */
function requestIn(outputs: readonly string[]): string | null {
  return outputs.find((output) => /^https?:/.test(output)) ?? null;
}

function branchSteps(branches: readonly string[], { checkout, place }: Guide): string[] {
  if (checkout === null || branches.length === 0) return [];
  const repo = place[place.indexOf('--repo') + 1];
  const git = place.includes('--repo') ? `git -C ${repo}` : 'git';
  const base = shellWord(checkout.name);
  const steps = (branch: string): string[] => [`${git} diff ${base}...${branch}`, `${git} merge ${branch}`];
  const shown =
    branches.length > MOST_BRANCHES
      ? [`for each branch, in this order: ${steps('<branch>').join(', then ')}`]
      : branches.map(shellWord).flatMap(steps);
  return [...shown, ...(checkout.canPush ? [`${git} push`] : [])];
}
