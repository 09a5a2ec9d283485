import { useEffect, useRef, useState } from 'preact/hooks';
import type { AgentosEvent } from '../../core/events.ts';
import { stateOfSnapshot } from '../../core/run-snapshot.ts';
import { foldEvent, type RunState } from '../../core/run-state.ts';
import type { RunBrief, RunDetail } from '../api.ts';
import { load } from './source.ts';
import { follow, overview } from './store.ts';

/** A run as it is at this moment: the server's state of it, and every event since, folded by the same function. */
export interface LiveRun {
  detail: RunDetail;
  state: RunState;
  /** Grows with every change of `state`, which is changed in place. */
  version: number;
}

interface Followed {
  run: LiveRun | null;
  error: string | null;
}

/** Many events in a moment are one change. */
const FRAME_MS = 40;

export function useRun(runId: string): Followed {
  const [followed, set] = useState<Followed>({ run: null, error: null });
  const [times, again] = useState(0);
  const current = useRef<LiveRun | null>(null);
  useEffect(() => {
    let isGone = false;
    let stop: () => void = () => undefined;
    let frame: ReturnType<typeof setTimeout> | null = null;
    const show = (): void => {
      frame = null;
      const run = current.current;
      if (run === null || isGone) return;
      current.current = { ...run, version: run.version + 1 };
      set({ run: current.current, error: null });
    };
    const onEvents = (lines: string[]): void => {
      const run = current.current;
      if (run === null) return;
      for (const line of lines) {
        try {
          foldEvent(run.state, JSON.parse(line) as AgentosEvent);
        } catch {
          // A line of another version: the others still count.
        }
      }
      frame ??= setTimeout(show, FRAME_MS);
    };
    load<'run'>(`run/${runId}`).then(
      (detail) => {
        if (isGone) return;
        current.current = { detail, state: stateOfSnapshot(detail.snapshot), version: 0 };
        set({ run: current.current, error: null });
        stop = follow({ run: { runId, from: detail.offset, onEvents, onReturn: () => again((many) => many + 1) } });
      },
      (error: Error) => {
        if (!isGone) set({ run: null, error: error.message });
      },
    );
    return () => {
      isGone = true;
      if (frame !== null) clearTimeout(frame);
      stop();
    };
  }, [runId, times]);
  return followed;
}

/** What the list of runs says of it is newer than what it was opened with. */
export function briefOf({ detail }: LiveRun): RunBrief {
  return overview.value?.runs.find(({ runId }) => runId === detail.brief.runId) ?? detail.brief;
}
