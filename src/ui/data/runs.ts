import { stat } from 'node:fs/promises';
import { sumUsd } from '../../core/money.ts';
import { newRunState, type RunState } from '../../core/run-state.ts';
import { foldLines, type RunRecord, readPiece, readRecord, readSummary, runIds } from '../../run/history/run-files.ts';
import { standingOf } from '../../run/history/run-history.ts';
import type { Project } from '../../run/project.ts';
import type { RunBrief } from '../api.ts';

/** The folded events of a run. New events are added at each request. */
export interface FoldedRun {
  record: RunRecord;
  state: RunState;
  /** How many bytes of the events are folded. */
  offset: number;
}

/** The runs of a repository. Each is read once, and later only its new events. */
export interface Runs {
  /** The newest first. */
  briefs(most?: number): Promise<RunBrief[]>;
  brief(runId: string): Promise<RunBrief | null>;
  /** Null: there is no such run, or it can't be read. */
  folded(runId: string): Promise<FoldedRun | null>;
  /** The runs that have this item, the newest first. */
  withItem(id: string): Promise<RunOfItem[]>;
}

export interface RunOfItem extends Pick<RunRecord, 'runId' | 'workflow' | 'startedAt'> {
  title: string;
}

/** How many folded runs are kept: each may have thousands of items. */
const MOST_KEPT = 6;
const MOST_BRIEFS = 50;

export function createRuns({ paths }: Project): Runs {
  const kept = new Map<string, FoldedRun>();
  const underWay = new Map<string, Promise<FoldedRun | null>>();
  const ended = new Map<string, { stamp: string; brief: RunBrief }>();
  /** The items of each run with their titles, which never change. */
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
    for (const { status } of summary.items) counts[status] = (counts[status] ?? 0) + 1;
    const costUsd = sumUsd(...summary.items.map(({ costUsd: usd = 0 }) => usd));
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

/** The last known time of a killed run. */
function lastHeard({ timeline, began }: RunState): string | null {
  let lastMs = began?.atMs ?? 0;
  for (const { stageRuns, spans, calls } of timeline?.items.values() ?? [])
    for (const { fromMs, toMs } of [...stageRuns, ...spans, ...calls]) lastMs = Math.max(lastMs, toMs ?? fromMs);
  return lastMs === 0 ? null : new Date(lastMs).toISOString();
}
