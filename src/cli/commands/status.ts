import { localTime } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import type { AgentosEvent, Subscriber } from '../../core/events.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import { oneLine } from '../../core/lines.ts';
import { foldEvent, newRunState, type RunState } from '../../core/run-state.ts';
import { costText, describeCounts, type ItemDetail, type Stage, type Standing } from '../../core/summary.ts';
import { aligned, createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { pause, type RunRecord, readPiece, readRecord, readSummary, runIds } from '../../run/history/run-files.ts';
import { type RunHistory, readRun, standingOf } from '../../run/history/run-history.ts';
import { type Project, withCachedIssues } from '../../run/project.ts';
import { detailOf, standings } from '../../run/standing/item-standing.ts';
import { waitingItems } from '../../run/standing/waiting-item.ts';
import { followAtHub, lookAtHubFirst } from '../at-hub.ts';
import { printJson, printJsonLine } from '../print.ts';
import { type PlaceFlags, projectOf, readItemId } from '../request.ts';
import { exitCodeFor, watchInterrupts } from '../signals.ts';

const SHOWN_RUNS = 5;
const NO_FILES = 'No issues yet. Write one as issues/<id>.md.';

/** The backlog and the latest runs; of one item all there is to know, of one run its items. */
export async function statusCommand(
  which: string | undefined,
  flags: PlaceFlags & { watch?: boolean },
): Promise<number | void> {
  const project = withCachedIssues(await projectOf(flags));
  await lookAtHubFirst(project, flags);
  const { paths, mask } = project;
  const known = await runIds(paths);
  const isRun = which !== undefined && known.includes(which);
  if (flags.watch) {
    if (which !== undefined && !isRun) throw new AgentosError({ code: 'run-missing', run: which });
    await using _following = await followAtHub(project, flags);
    return await watchRuns(project, which ?? null, flags.json ?? false);
  }
  const terminal = createTerminal(mask);
  if (which !== undefined && !isRun) {
    const id = /^#|\.md$/.test(which) ? readItemId(which, flags.repo) : which;
    const item = isItemId(id) ? await detailOf(project, id) : null;
    if (item === null) throw new AgentosError({ code: 'run-missing', run: which });
    if (flags.json) return printJson({ runs: [], items: [item] }, mask);
    printStanding(terminal, item);
    return;
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

const WAITS: Readonly<Record<NonNullable<Standing['waitsFor']>, string>> = {
  person: 'waits for a person',
  run: 'decided, waits for the next run',
  model: 'waits for a model',
  quota: 'waits for quota',
  item: 'waits for another item',
};

/** What it waits for, or what was last heard of it; null: there is nothing to say. */
function waitText({ waitsFor, reason, isUnderWay, lastRun }: Standing): string | null {
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  if (waitsFor !== null) return WAITS[waitsFor] + why;
  if (isUnderWay)
    return lastRun?.status === 'running' ? `running ${lastRun.step ?? ''}`.trimEnd() : 'waits for its turn';
  const isUnfinished = lastRun !== null && lastRun.status !== 'succeeded' && lastRun.status !== 'skipped';
  if (isUnfinished) return `${lastRun.status}${why}`;
  return reason === null ? null : oneLine(reason);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

const NEXT_RUN_MS = 500;
const NEXT_EVENT_MS = 100;

/**
 * Shows in this terminal what a run shows in its own: lines and the live region. Follows the run until it ends; without one, follows
 * one run after another until interrupted.
 */
async function watchRuns(project: Project, runId: string | null, json: boolean): Promise<number> {
  using interrupt = watchInterrupts();
  const { polite: stop } = interrupt;
  const say = (text: string): void => void (json ? process.stderr : process.stdout).write(`${project.mask(text)}\n`);
  const waiting = waitingItems(project.paths).filter(({ decided }) => decided.length === 0);
  if (waiting.length > 0)
    say(`Waiting for a person: ${waiting.map(({ id }) => id).join(', ')}. See: agentos status <id>, or agentos ui`);
  let seen: string | null = null;
  let isIdle = false;
  while (!stop.aborted) {
    const record = await runUnderWay(project, runId, seen);
    if (record !== null) {
      isIdle = false;
      seen = record.runId;
      say(`Run ${record.runId} (${record.workflow}):`);
      say(endLine(await watchRun(project, record, json, stop)));
    } else if (runId === null && !isIdle) {
      isIdle = true;
      say('No run is under way. Waiting for the next one; Ctrl+C stops.');
    }
    if (runId !== null) break;
    await pause(NEXT_RUN_MS, stop, { holdsProgram: true });
  }
  const signal = interrupt.by();
  return signal === null ? EXIT.ok : exitCodeFor(signal);
}

/** The newest run that is under way and was not watched to its end. */
async function runUnderWay({ paths }: Project, wanted: string | null, seen: string | null): Promise<RunRecord | null> {
  if (wanted !== null) return readRecord(paths, wanted);
  for (const id of await runIds(paths)) {
    if (id === seen) return null;
    if ((await readSummary(paths, id)) !== null) continue;
    const record = await readRecord(paths, id);
    if (record !== null && standingOf(record, null) === 'running') return record;
  }
  return null;
}

async function watchRun(project: Project, record: RunRecord, json: boolean, stop: AbortSignal): Promise<RunState> {
  const { paths, mask } = project;
  const { events } = paths.run(record.runId);
  const state = newRunState(record.items);
  // Loaded only here: it comes with all that runs need.
  const { createRunOutput } = await import('../show-run.ts');
  const output = createRunOutput(project.secrets(), { json });
  const showNew: Subscriber = (event) => {
    if (json) printJsonLine(event, mask);
    output.subscriber(event);
  };
  // Past events update the live region and print no lines.
  let show = output.replay;
  let isOver = false;
  for (let at = 0; state.ended === null && !stop.aborted; ) {
    const { text, end } = await readPiece(events, at);
    const isNew = end > at;
    at = end;
    showLines(text, state, show);
    if (isNew) continue;
    if (isOver) break;
    // A killed run writes no last event; any other one may be writing it now.
    isOver = standingOf(record, await readSummary(paths, record.runId)) !== 'running';
    show = showNew;
    await pause(NEXT_EVENT_MS, stop, { holdsProgram: true });
  }
  output.close();
  return state;
}

function showLines(text: string, state: RunState, show: Subscriber): void {
  for (const line of text.split('\n')) {
    const event = parseJson(line) as AgentosEvent | null;
    if (event === null) continue;
    try {
      foldEvent(state, event);
      show(event);
    } catch {
      // Skips lines of other versions.
    }
  }
}

function endLine({ counts, items, costUsd, ended }: RunState): string {
  const how = ended === null ? 'The run is not finished' : `The run ended with exit code ${ended.exitCode}`;
  return `${how}: ${items.size} item(s) (${describeCounts(counts) || 'none ended'}), ${costText(costUsd)}.`;
}
