import type { AgentosEvent } from '../core/events.ts';
import { EXIT } from '../core/exit-code.ts';
import { parseJson, shownJson } from '../core/json.ts';
import { foldEvent, newRunState, type RunState } from '../core/run-state.ts';
import { costText, describeCounts } from '../core/summary.ts';
import { createRunOutput } from '../output/run-output.ts';
import {
  followFile,
  pause,
  type RunRecord,
  readPiece,
  readRecord,
  readSummary,
  runIds,
} from '../run/history/run-files.ts';
import { standingOf } from '../run/history/run-history.ts';
import type { Project } from '../run/project.ts';
import { waitingItems } from '../run/standing/waiting-item.ts';
import { exitCodeFor, watchInterrupts } from './interrupt.ts';

const LOOK_EVERY_MS = 500;

interface WatchOptions {
  /** Follow this run until it ends; null: follow one run after another until interrupted. */
  runId: string | null;
  json: boolean;
}

/** Shows in this terminal what a run shows in its own: lines and the live region. */
export async function watchRuns(project: Project, { runId, json }: WatchOptions): Promise<number> {
  const interrupt = watchInterrupts();
  const { polite: stop } = interrupt;
  const say = (text: string): void => void (json ? process.stderr : process.stdout).write(`${project.mask(text)}\n`);
  try {
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
      await pause(LOOK_EVERY_MS, stop, { holdsProgram: true });
    }
    const signal = interrupt.by();
    return signal === null ? EXIT.ok : exitCodeFor(signal);
  } finally {
    interrupt.dispose();
  }
}

/** The newest run that is under way and was not watched to its end. */
async function runUnderWay({ paths }: Project, wanted: string | null, seen: string | null): Promise<RunRecord | null> {
  for (const id of wanted === null ? await runIds(paths) : [wanted]) {
    if (id === seen) return null;
    const summary = await readSummary(paths, id);
    if (summary !== null && wanted === null) continue;
    const record = await readRecord(paths, id);
    if (record !== null && (wanted !== null || standingOf(record, summary) === 'running')) return record;
  }
  return null;
}

async function watchRun(project: Project, record: RunRecord, json: boolean, stop: AbortSignal): Promise<RunState> {
  const { events } = project.paths.run(record.runId);
  const state = newRunState(record.items);
  const ended = new AbortController();
  const output = createRunOutput({
    stream: json ? process.stderr : process.stdout,
    env: process.env,
    secrets: project.config.keys.map((key) => key.secret),
    level: 'normal',
    live: !json,
  });
  const take = (text: string, show: (event: AgentosEvent) => void): void => {
    for (const line of text.split('\n')) {
      const event = line === '' ? null : (parseJson(line) as AgentosEvent | null);
      if (event === null) continue;
      try {
        foldEvent(state, event);
        show(event);
      } catch {
        // Skips lines of other versions.
      }
    }
  };
  try {
    // Past events update the live region and print no lines.
    let at = 0;
    for (let piece = await readPiece(events, at); piece.end > at; piece = await readPiece(events, at)) {
      at = piece.end;
      take(piece.text, output.replay);
    }
    const end = async (): Promise<void> => {
      // A killed run writes no last event.
      while (!ended.signal.aborted && state.ended === null) {
        const summary = await readSummary(project.paths, record.runId);
        if (summary === null && standingOf(record, null) !== 'running') break;
        await pause(LOOK_EVERY_MS, AbortSignal.any([stop, ended.signal]), { holdsProgram: true });
        if (stop.aborted) break;
      }
      ended.abort();
    };
    const follow = followFile(events, at, {
      signal: AbortSignal.any([stop, ended.signal]),
      onPiece: ({ text }) => {
        take(text, (event) => {
          if (json) process.stdout.write(`${project.mask(shownJson(event))}\n`);
          output.subscriber(event);
        });
        if (state.ended !== null) ended.abort();
      },
    });
    await Promise.all([follow, end()]);
  } finally {
    output.close();
  }
  return state;
}

function endLine({ counts, items, costUsd, ended }: RunState): string {
  const how = ended === null ? 'The run is not finished' : `The run ended with exit code ${ended.exitCode}`;
  return `${how}: ${items.size} item(s) (${describeCounts(counts) || 'none ended'}), ${costText(costUsd)}.`;
}
