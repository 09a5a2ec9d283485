import { createHash } from 'node:crypto';
import { formatDuration } from '../core/duration.ts';
import { isFailure } from '../core/exit-code.ts';
import { visibleJson } from '../core/json.ts';
import type { ItemState } from '../core/run-state.ts';
import { costText, describeCounts } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import { asCode, asText, tableOf } from '../markdown/writer.ts';
import type { Project } from '../run/project.ts';
import type { Answers, InboxItem, RunBrief, RunDetail } from './api.ts';
import { createPages, maskAll, type Pages } from './data/pages.ts';
import type { FoldedRun } from './data/runs.ts';
import { builtPage, shell } from './server/assets.ts';

/** Reports are mailed and kept by build servers, so they have to be small. */
const MOST_BYTES = 8 << 20;

interface ReportOptions {
  project: Project;
  version: string;
  runId: string;
  now: Date;
}

/**
 * A run as one file: the pages, with the responses that a server would give them. It loads nothing from elsewhere. `leftOut`: how many
 * items are only listed, as the file would be too large.
 */
export async function htmlReport({
  project,
  version,
  runId,
  now,
}: ReportOptions): Promise<{ text: string; leftOut: number }> {
  const pages = createPages({ project, version, readOnly: true, writtenAt: now.toISOString() });
  const answers: Record<string, unknown> = {};
  let bytes = 0;
  const add = (path: string, answer: unknown): void => {
    answers[path] = answer;
    bytes += JSON.stringify(answer).length;
  };
  const overview = await pages.overview();
  add('overview', { ...overview, runs: overview.runs.filter((run) => run.runId === runId) });
  for (const path of [`run/${runId}`, 'inbox', 'board', 'money']) add(path, await pages.get(path));
  const run = answers[`run/${runId}`] as RunDetail | null;
  const inbox = answers['inbox'] as Answers['inbox'];
  for (const path of wanted(inbox, run)) {
    // The page says what is missing when it asks for it.
    if (bytes > MOST_BYTES) break;
    const answer = await answerOf(pages, path);
    if (answer !== null) add(path, answer);
  }
  const mask = maskAll(project);
  const text = await page(mask(visibleJson(answers)), `${overview.repository}, ${run?.brief.workflow ?? 'run'}`);
  const items = run?.snapshot.items ?? [];
  return { text, leftOut: items.filter(({ id }) => !(`item/${id}` in answers)).length };
}

/** The most important first: waiting items, failed items, other items; then what the models were shown. */
function wanted(inbox: readonly InboxItem[], run: RunDetail | null): string[] {
  const weight: Record<string, number> = { discuss: 0, succeeded: 2, skipped: 3 };
  const items = (run?.snapshot.items ?? []).toSorted(
    (a, b) => (weight[a.status ?? ''] ?? 1) - (weight[b.status ?? ''] ?? 1),
  );
  const ids = [...new Set([...inbox.map(({ id }) => id), ...items.map(({ id }) => id)])];
  return [
    ...inbox.map(({ workflow, id }) => `question/${workflow}/${id}`),
    ...ids.map((id) => `item/${id}`),
    ...ids.slice(0, MOST_CONTEXTS).map((id) => `context/${id}`),
  ];
}

/** Each takes tenths of a second. */
const MOST_CONTEXTS = 10;

async function answerOf(pages: Pages, path: string): Promise<unknown> {
  return pages.get(path).catch(() => null);
}

/** Script and style are in the file, each allowed by its hash. Nothing else may run. */
async function page(data: string, title: string): Promise<string> {
  const { script, style } = await builtPage();
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`;
  return shell({
    title: inText(`${title} – agentos report`),
    head: `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<style>${style}</style>`,
    body: `<script type="application/json" id="data">${inScript(data)}</script>\n<script type="module">${script}</script>`,
  });
}

function inText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** JSON without `<`, so that no text in it can end the script element. */
function inScript(json: string): string {
  return json.replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** Comments have a maximum length. */
const MOST_ROWS = 50;
const LONGEST_NOTE = 200;

/** A run as a comment: its results, what waits for a person, what failed and why. */
export function markdownReport({ state, record }: FoldedRun, brief: RunBrief, isTampered = false): string {
  const items = [...state.items.values()];
  const endMs = state.ended?.atMs ?? Date.parse(brief.finishedAt ?? brief.startedAt);
  const took =
    brief.state === 'running' ? 'under way' : formatDuration(Math.max(0, endMs - Date.parse(brief.startedAt)));
  const models = Object.entries(record.models).map(([role, model]) => `${role} ${asCode(model)}`);
  const waiting = items.filter(({ status }) => status === 'discuss');
  const failed = items.filter(({ status }) => status !== null && isFailure(status));
  return [
    `## agentos ${brief.workflow}: ${describeCounts(state.counts) || 'nothing has ended'}`,
    `${items.length} item(s), ${costText(state.costUsd)}, ${took}${models.length === 0 ? '' : `; ${models.join(', ')}`}. Run ${asCode(brief.runId)}.`,
    ...(isTampered
      ? [`**Files of this run were changed after it wrote them:** \`agentos check --audit ${brief.runId}\``]
      : []),
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

/** The branches of a landing: in, or out with the reason. */
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

/** A code block; its fence is longer than any in the line. */
function asBlock(line: string): string {
  const longest = Math.max(2, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${line}\n${fence}`;
}
