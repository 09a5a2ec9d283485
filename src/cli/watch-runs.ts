import type { AgentosEvent, Subscriber } from '../core/events.ts';
import { EXIT } from '../core/exit-code.ts';
import { parseJson } from '../core/json.ts';
import { foldEvent, newRunState, type RunState } from '../core/run-state.ts';
import { costText, describeCounts } from '../core/summary.ts';
import { pause, type RunRecord, readPiece, readRecord, readSummary, runIds } from '../run/history/run-files.ts';
import { standingOf } from '../run/history/run-history.ts';
import type { Project } from '../run/project.ts';
import { waitingItems } from '../run/standing/waiting-item.ts';
import { exitCodeFor, watchInterrupts } from './own-process.ts';
import { printJsonLine } from './print.ts';
import { createRunOutput } from './show-run.ts';

const NEXT_RUN_MS = 500;
const NEXT_EVENT_MS = 100;

interface WatchOptions {
  /** Follow this run until it ends; null: follow one run after another until interrupted. */
  runId: string | null;
  json: boolean;
}

/** Shows in this terminal what a run shows in its own: lines and the live region. */
export async function watchRuns(project: Project, { runId, json }: WatchOptions): Promise<number> {
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
