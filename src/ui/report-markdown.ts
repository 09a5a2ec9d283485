import { formatDuration } from '../core/duration.ts';
import { isFailure } from '../core/exit-code.ts';
import { ITEM_STATUSES } from '../core/item.ts';
import type { ItemState } from '../core/run-state.ts';
import { wordingOf } from '../core/wording.ts';
import { asCode, asText } from '../documents/implementation/markdown-text.ts';
import { tableOf } from '../documents/markdown.ts';
import type { RunBrief } from './api.ts';
import type { FoldedRun } from './data/runs.ts';

/** Comments have a limit, and readers another. */
const MOST_ROWS = 50;
const LONGEST_NOTE = 200;

/** A run as a comment: what came of it, what waits for a person, what failed and why. */
export function markdownReport({ state, record }: FoldedRun, brief: RunBrief, isTampered = false): string {
  const items = [...state.items.values()];
  const counts = ITEM_STATUSES.flatMap((status) => {
    const many = state.counts[status] ?? 0;
    return many === 0 ? [] : [`${many} ${status}`];
  });
  const endMs = state.ended?.atMs ?? Date.parse(brief.finishedAt ?? brief.startedAt);
  const took =
    brief.state === 'running' ? 'under way' : formatDuration(Math.max(0, endMs - Date.parse(brief.startedAt)));
  const cost = state.costUsd === null ? 'cost unknown' : `$${state.costUsd.toFixed(4)}`;
  const models = Object.entries(record.models).map(([role, model]) => `${role} ${asCode(model)}`);
  const waiting = items.filter(({ status }) => status === 'discuss');
  const failed = items.filter(({ status }) => status !== null && isFailure(status));
  return [
    `## agentos ${brief.workflow}: ${counts.join(', ') || 'nothing has ended'}`,
    `${items.length} item(s), ${cost}, ${took}${models.length === 0 ? '' : `; ${models.join(', ')}`}. Run ${asCode(brief.runId)}.`,
    ...(isTampered ? [`**Files of this run are not as it wrote them:** \`agentos check --audit ${brief.runId}\``] : []),
    ...section('Needs a person', waiting, ({ ends }) => ends.at(-1)?.reason ?? ''),
    ...section('Failed', failed, whyFailed),
    ...(brief.changeFirst === null ? [] : [`Before a retry: ${asText(brief.changeFirst)}.`]),
    ...(brief.retryCommand === null ? [] : [`Retry with:\n\n${asBlock(brief.retryCommand)}`]),
    ...branches(items),
    ...(items.length === 0 ? [] : [`### Items\n\n${itemTable(items)}`]),
  ].join('\n\n');
}

function section(title: string, items: readonly ItemState[], why: (item: ItemState) => string): string[] {
  if (items.length === 0) return [];
  const lines = items.slice(0, MOST_ROWS).map((item) => {
    const note = asText(why(item), LONGEST_NOTE);
    return `- **${asText(item.id)}** ${asText(item.title)}${note === '' ? '' : `: ${note}`}`;
  });
  return [`### ${title}\n\n${[...lines, ...more(items.length)].join('\n')}`];
}

/** Of a landing: what is in, and what is out and why. */
function branches(items: readonly ItemState[]): string[] {
  const landed = items.flatMap(({ parts }) => [...parts.values()].flatMap((part) => part.landed ?? []));
  if (landed.length === 0) return [];
  const lines = landed.slice(0, MOST_ROWS).map(({ id, status, reason, error }) => {
    const note = asText(error ? wordingOf(error.problem).message : (reason ?? ''), LONGEST_NOTE);
    return `- **${asText(id)}** is ${status === 'succeeded' ? 'in' : 'out'}${note === '' ? '' : `: ${note}`}`;
  });
  return [`### Branches\n\n${[...lines, ...more(landed.length)].join('\n')}`];
}

function whyFailed({ ends }: ItemState): string {
  const last = ends.at(-1);
  return last?.error ? wordingOf(last.error.problem).message : (last?.reason ?? '');
}

function itemTable(items: readonly ItemState[]): string {
  const rows = items
    .slice(0, MOST_ROWS)
    .map(({ id, title, status, step, ends, costUsd }) => [
      asText(id),
      asText(title),
      status ?? step ?? 'waiting',
      costUsd === null ? '?' : `$${costUsd.toFixed(4)}`,
      asCode(ends.at(-1)?.outputs[0] ?? ''),
    ]);
  const table = tableOf(['Id', 'Title', 'Status', 'Cost', 'Result'], rows);
  return items.length > MOST_ROWS ? `${table}\n\n… and ${items.length - MOST_ROWS} more.` : table;
}

function more(many: number): string[] {
  return many > MOST_ROWS ? [`- … and ${many - MOST_ROWS} more`] : [];
}

/** A line to copy; its fence is longer than any in it. */
function asBlock(line: string): string {
  const longest = Math.max(2, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${line}\n${fence}`;
}
