import { dirname } from 'node:path';
import { formatDuration } from '../core/duration.ts';
import type { Best, DesignRow, Evaluation, ReviewRow } from '../core/evaluation.ts';
import { isFailure } from '../core/exit-code.ts';
import { shellWord } from '../core/lines.ts';
import { costText, describeCounts, type ItemSummary, type Summary } from '../core/summary.ts';
import { aligned, paint, printable, type Terminal } from './terminal.ts';

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
  terminal.line('');
  for (const [index, cells] of aligned(rows).entries()) {
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
  for (const item of waiting.slice(0, MOST_WAITING)) terminal.line(waitingLine(item));
  if (waiting.length > MOST_WAITING) terminal.line(`${waiting.length - MOST_WAITING} more wait: see agentos status`);
  const unfinished = idsOf(items.filter(({ status }) => status === 'cancelled' || status === 'paused'));
  const resume = (...words: string[]): string => ['agentos', 'resume', ...words, ...(guide?.place ?? [])].join(' ');
  if (unfinished.length > 0) terminal.line(`Not finished: ${unfinished.join(', ')}. Resume with: ${resume()}`);
  if (summary.retryCommand === null) return;
  if (summary.changeFirst !== null) terminal.line(`First ${summary.changeFirst.what}.`);
  const failed = idsOf(items.filter(({ status }) => isFailure(status)));
  terminal.line(`Failed: ${failed.join(', ')}. Retry with: ${summary.retryCommand}`);
  if (summary.retryCommand.length <= LONG_LINE) return;
  terminal.line(`Or, shorter: ${resume(summary.runId, ...(summary.changeFirst?.flags ?? []))}`);
}

function idsOf(items: readonly ItemSummary[]): string[] {
  return items.map(({ id }) => id);
}

/** `Total: 3 items (2 succeeded, 1 failed), $0.4321, 4m 05s` */
function totalLine({ items, counts, startedAt, finishedAt }: Summary): string {
  const known = items.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const isKnown = items.every(({ costUsd }) => costUsd !== null);
  const cost = isKnown || known === 0 ? costText(isKnown ? known : null) : `${costText(known)} and an unknown cost`;
  const durationMs = Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt));
  const count = `${items.length} item${items.length === 1 ? '' : 's'}`;
  return `Total: ${count} (${describeCounts(counts)}), ${cost}, ${formatDuration(durationMs)}`;
}

function waitingLine({ id, question, reason }: ItemSummary): string {
  if (question === null) return `Waiting: ${id}, ${reason ?? 'for a person'}.`;
  const read = question.read === null ? '' : `Read ${nameOf(question.read)} in ${dirname(question.read)}/, then: `;
  return `Waiting for a person: ${id}. ${read}${question.decide}`;
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
  const agentos = (command: string, ids: readonly string[], before = ''): string[] => {
    if (ids.length === 0 || guide.offline) return [];
    return [before + ['agentos', command, ...(ids.length > MOST_IDS ? ['--all'] : ids), ...guide.place].join(' ')];
  };
  const written = done('issue').flatMap(({ outputs }) => /^issues[\\/]([\w-]+)\.md$/.exec(outputs[0] ?? '')?.[1] ?? []);
  const implemented = done('implement');
  const unasked = [...implemented, ...done('land')].filter(({ outputs }) => !outputs.some(isUrl));
  const branches = new Set(unasked.flatMap(({ outputs }) => outputs[0] ?? []));
  const steps = [
    ...agentos('lld', written),
    ...agentos('implement', idsOf(done('lld'))),
    ...implemented.flatMap(({ outputs }) => outputs.find(isUrl) ?? []).map((url) => `review ${url}`),
    ...branchSteps([...branches], guide),
    ...(implemented.length > 1 ? agentos('land', idsOf(implemented), 'or as one branch, tested together: ') : []),
  ];
  return steps.map((step, index) => `${index === 0 ? 'Next: ' : INDENT}${step}`);
}

/** A pull request among the outputs of an item. */
function isUrl(output: string): boolean {
  return /^https?:/.test(output);
}

function branchSteps(branches: readonly string[], { checkout, place }: Guide): string[] {
  if (checkout === null || branches.length === 0) return [];
  const repo = place[place.indexOf('--repo') + 1];
  const git = place.includes('--repo') ? `git -C ${repo}` : 'git';
  const base = shellWord(checkout.name);
  const steps = (branch: string): string[] => [`${git} diff ${base}...${branch}`, `${git} merge ${branch}`];
  const each = `for each branch, in this order: ${steps('<branch>').join(', then ')}`;
  const shown = branches.length > MOST_BRANCHES ? [each] : branches.map(shellWord).flatMap(steps);
  return [...shown, ...(checkout.canPush ? [`${git} push`] : [])];
}

/** Prints an evaluation: the recorded results, a row for each candidate, and the best one. */
function printEvaluation(terminal: Terminal, { reviews, designs }: Evaluation): void {
  if (reviews === null && designs === null) terminal.line('No case was finished: there is nothing to compare.');
  if (reviews !== null) {
    const title = `Reviews of ${counted(reviews.cases, 'past draft')}, against what came of each`;
    printTable(terminal, title, [reviews.recorded, ...reviews.candidates].map(reviewCells));
    terminal.line(bestLine(reviews.best, 'reviewer', 'was right about', 'draft'));
  }
  if (designs !== null) {
    const title = `Designs for ${counted(designs.cases, 'past item')}`;
    printTable(terminal, title, [designs.recorded, ...designs.candidates].map(designCells));
    terminal.line(bestLine(designs.best, 'drafter and reviewer', 'came to an approval for', 'item'));
  }
}

function reviewCells(row: ReviewRow): Record<string, string> {
  return {
    right: share(row.agreed, row.cases),
    missed: String(row.missed),
    DISCUSS: share(row.discuss, row.cases),
    'findings confirmed': share(row.confirmed, row.findings),
    cost: usd(row.costUsd),
    reviewer: row.candidate,
  };
}

function designCells(row: DesignRow): Record<string, string> {
  return {
    DISCUSS: share(row.discuss, row.cases),
    rounds: row.rounds.toFixed(1),
    repairs: row.repairs?.toFixed(1) ?? '–',
    files: row.files === null ? '–' : percent(row.files),
    cost: usd(row.costUsd),
    'drafter + reviewer': row.candidate,
  };
}

function printTable(terminal: Terminal, title: string, cells: readonly Record<string, string>[]): void {
  const table = aligned([Object.keys(cells[0] ?? {}), ...cells.map((row) => Object.values(row))]);
  const [heads = '', ...rows] = table.map((row) => row.join('  '));
  terminal.line('');
  terminal.line(paint(terminal, 'bold', title));
  terminal.line(paint(terminal, 'dim', heads));
  for (const row of rows) terminal.line(printable(row));
}

/** Below this probability, a difference is called more than chance. */
const CHANCE = 0.05;

function bestLine(best: Best | null, what: string, hit: string, of: string): string {
  if (best === null) return 'Best: not known, no case was finished by every candidate.';
  const { candidate, cases, hits, between, runnerUp } = best;
  const [least, most] = between.map(percent);
  const sure = `${hit} ${hits} of ${counted(cases, of)} (95 % interval: ${least} to ${most})`;
  if (runnerUp === null) return printable(`The only ${what}, ${candidate}, ${sure}.`);
  const isSure = runnerUp.chance < CHANCE;
  const words = isSure ? 'more than chance' : `with ${counted(cases, of)} that may be chance`;
  const next = `next ${runnerUp.candidate} with ${runnerUp.hits}: ${words} (p = ${runnerUp.chance.toFixed(2)})`;
  return printable(`Best ${what}: ${candidate} ${sure}; ${next}.`);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function share(part: number, whole: number): string {
  return whole === 0 ? '–' : `${part}/${whole} ${percent(part / whole)}`;
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}

function usd(value: number | null): string {
  return value === null ? '–' : `$${value.toFixed(4)}`;
}
