import { localTime } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { oneLine } from '../../core/lines.ts';
import type { ItemDetail, Stage, Standing } from '../../core/summary.ts';
import { aligned, createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { runIds } from '../../run/history/run-files.ts';
import { type RunHistory, readRun } from '../../run/history/run-history.ts';
import { withCachedIssues } from '../../run/project.ts';
import { detailOf, standings } from '../../run/standing/item-standing.ts';
import { followAtHub, lookAtHubFirst } from '../at-hub.ts';
import { type PlaceFlags, projectOf, readItemId } from '../place.ts';
import { printJson } from '../print.ts';

const SHOWN_RUNS = 5;
const NO_FILES = 'No issues yet. Write one as issues/<id>.md.';

interface StatusFlags extends PlaceFlags {
  json?: boolean;
  watch?: boolean;
}

/** The backlog and the latest runs; of one item all there is to know, of one run its items. */
export async function statusCommand(which: string | undefined, flags: StatusFlags): Promise<number> {
  const project = withCachedIssues(await projectOf(flags));
  await lookAtHubFirst(project, flags);
  const { paths, mask } = project;
  const known = await runIds(paths);
  const isRun = which !== undefined && known.includes(which);
  if (flags.watch) {
    if (which !== undefined && !isRun) throw new AgentosError({ code: 'run-missing', run: which });
    const { watchRuns } = await import('../watch-runs.ts');
    const stop = await followAtHub(project, flags);
    try {
      return await watchRuns(project, { runId: which ?? null, json: flags.json ?? false });
    } finally {
      await stop();
    }
  }
  const terminal = createTerminal(mask);
  if (which !== undefined && !isRun) {
    const id = /^#|\.md$/.test(which) ? readItemId(which, flags.repo) : which;
    const item = isItemId(id) ? await detailOf(project, id) : null;
    if (item === null) throw new AgentosError({ code: 'run-missing', run: which });
    if (flags.json) return printJson({ runs: [], items: [item] }, mask);
    printStanding(terminal, item);
    return EXIT.ok;
  }
  // A folder without a record is what a run left that was killed in its first moment.
  const runs: RunHistory[] = [];
  const left = which === undefined ? [...known] : [which];
  while (runs.length < SHOWN_RUNS && left.length > 0) {
    const run = await readRun(paths, left.shift() ?? '');
    if (run !== null) runs.push(run);
  }
  if (which !== undefined && runs.length === 0)
    throw new AgentosError({ code: 'run-unreadable', run: which, file: paths.run(which).record });
  const items = which === undefined ? await standings(project) : null;
  if (flags.json) return printJson({ runs: runs.map(withoutReasons), ...(items === null ? {} : { items }) }, mask);
  if (items !== null) {
    const { source, issueCache, config } = project;
    const isRemote = config.remote.source !== null;
    printStandings(terminal, items, isRemote ? `No issues are selected in ${source.location}.` : NO_FILES);
    const asOf = await issueCache.asOf();
    if (asOf !== null) terminal.line(`  ${source.location} as of ${localTime(asOf)}`);
    terminal.line('');
  }
  if (runs.length === 0) terminal.line('No runs yet. Start one with: agentos lld --all');
  for (const run of runs) printRun(terminal, run);
  if (left.length > 0) terminal.line(`${left.length} older run(s), the newest of them: agentos status ${left[0]}`);
  return EXIT.ok;
}

/** What an item waits for is shown with the backlog. */
function withoutReasons({ items, ...run }: RunHistory): unknown {
  const shown = items.map((item) => {
    const { reason: _, needsQuota: __, attempts: ___, ...facts } = item;
    return facts;
  });
  return { ...run, items: shown };
}

function printRun(terminal: Terminal, run: RunHistory): void {
  terminal.line(`${paint(terminal, 'bold', run.runId)}  ${run.workflow}  ${run.state}  ${localTime(run.startedAt)}`);
  const width = run.items.reduce((most, item) => Math.max(most, item.id.length), 0);
  for (const { id, status, workflow, step, title, costUsd } of run.items) {
    const cost = costUsd ? `  $${costUsd.toFixed(4)}` : '';
    // Stages of a pipeline have steps of the same name.
    const at = run.workflow === 'run' && workflow !== null ? `${workflow} ${step ?? '-'}` : (step ?? '-');
    terminal.line(`  ${id.padEnd(width)}  ${status.padEnd(11)}  ${at.padEnd(12)}  ${printable(title)}${cost}`);
  }
}

const LONGEST_TITLE = 48;
const LONGEST_WAIT = 110;
const STYLES: Record<Stage, 'bold' | 'dim' | 'green' | 'red'> = {
  issue: 'dim',
  lld: 'bold',
  branch: 'green',
  merged: 'green',
  'already-done': 'green',
  dropped: 'dim',
  unreadable: 'red',
};

/** The backlog for people: a row per item, issue → LLD → branch → merged. */
function printStandings(terminal: Terminal, items: readonly Standing[], none: string): void {
  const counts = Object.keys(STYLES).flatMap((state) => {
    const count = items.filter((item) => item.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  if (items.length === 0) terminal.line(none);
  else terminal.line(`${paint(terminal, 'bold', 'Backlog')}  ${items.length} item(s): ${counts.join(', ')}`);
  const rows = items.map((item) => [
    item.id,
    item.state,
    cut(oneLine(item.title), LONGEST_TITLE),
    item.costUsd > 0 ? `$${item.costUsd.toFixed(4)}` : '-'.padEnd(7),
    cut(waitText(item) ?? item.branch ?? '', LONGEST_WAIT),
  ]);
  for (const [index, [id, state = '', ...cells]] of aligned(rows).entries()) {
    const style = STYLES[items[index]?.state ?? 'issue'];
    terminal.line(`  ${[id, paint(terminal, style, state), ...cells].join('  ')}`.trimEnd());
  }
}

function printStanding(terminal: Terminal, item: ItemDetail): void {
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
  const isUnfinished = lastRun !== null && lastRun.status !== 'succeeded' && lastRun.status !== 'skipped';
  if (isUnfinished) return `${lastRun.status}${why}`;
  return reason === null ? null : oneLine(reason);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
