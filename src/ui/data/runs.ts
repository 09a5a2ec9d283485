import { stat } from 'node:fs/promises';
import type { AgentosEvent } from '../../core/events.ts';
import { parseJson } from '../../core/json.ts';
import { foldEvent, newRunState, type RunState } from '../../core/run-state.ts';
import { readPiece } from '../../run/history/follow.ts';
import {
  isFolded,
  type RunRecord,
  readRecord,
  readSummary,
  runIds,
  standingOf,
} from '../../run/history/run-history.ts';
import type { Project } from '../../run/project.ts';
import type { RunBrief } from '../api.ts';

/** A run's events folded, and how far. It is folded on when it is asked for again. */
export interface FoldedRun {
  record: RunRecord;
  state: RunState;
  /** Bytes of its events that are in it. */
  offset: number;
}

/** The runs of a repository, each read once and then only as far as it has grown. */
export interface Runs {
  /** The newest first, at most so many. */
  briefs(most?: number): Promise<RunBrief[]>;
  brief(runId: string): Promise<RunBrief | null>;
  /** Null: there is no such run, or none that can be read. */
  folded(runId: string): Promise<FoldedRun | null>;
  /** Those that have an item, the newest first. */
  withItem(id: string): Promise<RunOfItem[]>;
}

export interface RunOfItem extends Pick<RunRecord, 'runId' | 'workflow' | 'startedAt'> {
  title: string;
}

/** Each may hold thousands of items; the oldest of them is read again. */
const MOST_KEPT = 6;
const MOST_BRIEFS = 50;

export function createRuns({ paths }: Project): Runs {
  const kept = new Map<string, FoldedRun>();
  const underWay = new Map<string, Promise<FoldedRun | null>>();
  const ended = new Map<string, { stamp: string; brief: RunBrief }>();
  /** What never changes of a run: its items by id, with their titles. */
  const contents = new Map<string, Omit<RunOfItem, 'title'> & { titles: Map<string, string> }>();

  const fold = async (runId: string): Promise<FoldedRun | null> => {
    const record = kept.get(runId)?.record ?? (await readRecord(paths, runId));
    if (record === null) return null;
    const run = kept.get(runId) ?? { record, state: newRunState(record.items, { withTimeline: true }), offset: 0 };
    for (;;) {
      const { text, end } = await readPiece(paths.run(runId).events, run.offset);
      foldLines(run.state, text);
      if (end === run.offset) break;
      run.offset = end;
    }
    kept.delete(runId);
    kept.set(runId, run);
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    return run;
  };
  // Two readers at once must not fold the same events twice.
  const folded = (runId: string): Promise<FoldedRun | null> => {
    const running = underWay.get(runId) ?? fold(runId).finally(() => underWay.delete(runId));
    underWay.set(runId, running);
    return running;
  };

  const brief = async (runId: string): Promise<RunBrief | null> => {
    const found = await stat(paths.run(runId).summary).catch(() => null);
    const stamp = found === null ? '' : `${found.size} ${found.mtimeMs}`;
    const known = ended.get(runId);
    if (known !== undefined && known.stamp === stamp) return known.brief;
    const record = await readRecord(paths, runId);
    if (record === null) return null;
    const summary = found === null ? null : await readSummary(paths, runId);
    const state = standingOf(record, summary);
    const plain = { runId, workflow: record.workflow, state, startedAt: record.startedAt, items: record.items.length };
    if (summary === null) {
      const run = await folded(runId);
      const counts = run?.state.counts ?? {};
      const finishedAt = state === 'running' ? null : (run && lastHeard(run.state)) || null;
      const costUsd = run?.state.costUsd ?? null;
      return { ...plain, finishedAt, counts, costUsd, retryCommand: null, changeFirst: null };
    }
    const counts: Record<string, number> = {};
    let costUsd: number | null = 0;
    for (const item of summary.items) {
      counts[item.status] = (counts[item.status] ?? 0) + 1;
      costUsd = costUsd === null || item.costUsd === null ? null : costUsd + (item.costUsd ?? 0);
    }
    const { finishedAt, retryCommand = null, changeFirst } = summary;
    const made = { ...plain, finishedAt, counts, costUsd, retryCommand, changeFirst: changeFirst?.what ?? null };
    ended.set(runId, { stamp, brief: made });
    return made;
  };

  return {
    async briefs(most = MOST_BRIEFS) {
      const found: RunBrief[] = [];
      for (const runId of await runIds(paths)) {
        const one = await brief(runId);
        if (one !== null) found.push(one);
        if (found.length === most) break;
      }
      return found;
    },
    brief,
    folded,
    async withItem(id) {
      const found: RunOfItem[] = [];
      for (const runId of await runIds(paths)) {
        const record = contents.has(runId) ? null : await readRecord(paths, runId);
        if (record !== null) {
          const titles = new Map(record.items.map((item) => [item.id, item.title]));
          contents.set(runId, { runId, workflow: record.workflow, startedAt: record.startedAt, titles });
        }
        const { titles, ...run } = contents.get(runId) ?? { titles: null };
        const title = titles?.get(id);
        if (title !== undefined && 'runId' in run) found.push({ ...run, title });
      }
      return found;
    },
  };
}

/** A line of another version, or half of one, costs only itself. */
export function foldLines(state: RunState, lines: string): void {
  for (const line of lines.split('\n')) {
    if (line === '' || !isFolded(line)) continue;
    try {
      foldEvent(state, parseJson(line) as AgentosEvent);
    } catch {
      // The others still count.
    }
  }
}

/** Of a run that was killed: when it last did anything. */
function lastHeard({ timeline, began }: RunState): string | null {
  let lastMs = began?.atMs ?? 0;
  for (const { stageRuns, spans, calls } of timeline?.items.values() ?? [])
    for (const { fromMs, toMs } of [...stageRuns, ...spans, ...calls]) lastMs = Math.max(lastMs, toMs ?? fromMs);
  return lastMs === 0 ? null : new Date(lastMs).toISOString();
}
