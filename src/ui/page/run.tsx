import { useEffect, useRef, useState } from 'preact/hooks';
import type { AgentosEvent } from '../../core/events.ts';
import { isFailure } from '../../core/exit-code.ts';
import type { ItemStatus } from '../../core/item.ts';
import { outlookOf } from '../../core/progress.ts';
import { stateOfSnapshot } from '../../core/run-snapshot.ts';
import { foldEvent, type RunState } from '../../core/run-state.ts';
import type { RunBrief, RunDetail } from '../api.ts';
import { Button, Card, CopyLine, Empty, Figure, Loaded, Status } from './bits.tsx';
import { RunCharts } from './charts.tsx';
import { ago, clock, count, formatDuration, money, plural, toneOf, wordOf } from './format.ts';
import { go, replace, route } from './navigation.ts';
import { RunItems } from './run-items.tsx';
import { startDialog } from './start.tsx';
import { act, attempt, canAct, follow, load, nowMs, overview } from './store.ts';
import { Timeline } from './timeline.tsx';

/** The current state of a run: the server's snapshot, and all later events folded by the same function. */
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

/** Events within this time cause one update. */
const FRAME_MS = 40;

function useRun(runId: string): Followed {
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

/** The list of runs has newer facts than the response that opened the page. */
function briefOf({ detail }: LiveRun): RunBrief {
  return overview.value?.runs.find(({ runId }) => runId === detail.brief.runId) ?? detail.brief;
}

export function Run() {
  const runId = route.value.words[0];
  const newest = overview.value?.runs[0]?.runId;
  useEffect(() => {
    if (runId === undefined && newest !== undefined) replace('run', newest);
  }, [runId, newest]);
  if (runId !== undefined) return <OneRun key={runId} runId={runId} />;
  return <NoRun />;
}

function NoRun() {
  useEffect(() => follow({}), []);
  return (
    <Empty page="Run" title="There are no runs yet.">
      <p>
        <code>agentos lld --all</code> starts one{canAct() ? ', and so does this page:' : '.'}
      </p>
      {canAct() && (
        <Button is="primary" onClick={startDialog.open}>
          Start a batch
        </Button>
      )}
    </Empty>
  );
}

function OneRun({ runId }: { runId: string }) {
  const { run, error } = useRun(runId);
  return <Loaded of={{ data: run, error }}>{(live) => <Shown run={live} />}</Loaded>;
}

const WORDS: Record<RunBrief['state'], string> = {
  running: 'running',
  finished: 'finished',
  failed: 'failed',
  waiting: 'waits for you',
  paused: 'paused for quota',
  interrupted: 'interrupted',
};

const NAMES: Record<string, string> = {
  lld: 'Designs',
  issue: 'Issues',
  implement: 'Implementations',
  run: 'Designs and implementations',
  eval: 'Evaluation',
  land: 'Landing',
};

function Shown({ run }: { run: LiveRun }) {
  const { state, detail } = run;
  const brief = briefOf(run);
  const isRunning = brief.state === 'running' && state.ended === null;
  const standing = isRunning ? 'running' : brief.state === 'running' ? 'finished' : brief.state;
  const { models } = detail;
  return (
    <div class="run">
      <RunPicker current={brief.runId} />
      <header class="page-head">
        <h1>
          {NAMES[brief.workflow]}{' '}
          <Status
            of={standing === 'waiting' ? 'discuss' : standing}
            word={isRunning && state.stopping ? 'stopping' : WORDS[standing]}
          />
        </h1>
        <p class="muted">
          started {clock(Date.parse(brief.startedAt), true)} ·{' '}
          {Object.entries(models)
            .map(([role, model]) => `${role} ${model}`)
            .join(' · ')}{' '}
          · <code>{brief.runId}</code>
        </p>
        {canAct() && <RunActions brief={brief} isRunning={isRunning} isStopping={state.stopping} />}
      </header>
      <Figures run={run} brief={brief} isRunning={isRunning} />
      {detail.isTampered && (
        <p class="banner tone-bad">
          Files of this run were changed after it wrote them: <code>agentos check --audit {brief.runId}</code>
        </p>
      )}
      {brief.changeFirst !== null && <p class="banner tone-bad">Before a retry: {brief.changeFirst}.</p>}
      {brief.retryCommand !== null && (
        <div class="retry-line">
          <span>Retry what failed:</span>
          <CopyLine text={brief.retryCommand} label="Retry command" />
        </div>
      )}
      <Card title="Timeline">
        <Timeline run={run} isRunning={isRunning} />
      </Card>
      <RunCharts run={run} isRunning={isRunning} />
      <Card title="Items" id="items">
        <RunItems run={run} isRunning={isRunning} />
      </Card>
    </div>
  );
}

/** For screens without room for the list of runs. */
function RunPicker({ current }: { current: string }) {
  const runs = overview.value?.runs ?? [];
  return (
    <div class="run-picker">
      <select aria-label="Run" value={current} onChange={(event) => go('run', event.currentTarget.value)}>
        {runs.map(({ runId, workflow, startedAt, state }) => (
          <option key={runId} value={runId}>
            {workflow}, {clock(Date.parse(startedAt))}: {WORDS[state]}
          </option>
        ))}
      </select>
      {canAct() && <Button onClick={startDialog.open}>Start</Button>}
    </div>
  );
}

function Figures({ run, brief, isRunning }: { run: LiveRun; brief: RunBrief; isRunning: boolean }) {
  const { state } = run;
  const outlook = isRunning ? outlookOf(state, nowMs.value) : null;
  const fromMs = Date.parse(brief.startedAt);
  const toMs = state.ended?.atMs ?? (isRunning ? nowMs.value : Date.parse(brief.finishedAt ?? brief.startedAt));
  const minutes = Math.max(1 / 60, (toMs - fromMs) / 60_000);
  const perMinute = state.done / minutes;
  const known = outlook?.costUsd ?? null;
  const endsAtMs = outlook?.endsAtMs ?? null;
  return (
    <section class="figures" aria-label="Figures">
      <dl>
        <Figure name="Done" value={`${count(state.done)} of ${count(state.items.size)}`} />
        <Figure
          name="Cost"
          value={money(state.costUsd)}
          note={known === null || known === 0 ? undefined : `about ${money(known)} in the end`}
        />
        {isRunning ? (
          <Figure
            name="Ends"
            value={endsAtMs === null ? '–' : clock(endsAtMs)}
            note={endsAtMs === null ? 'too early to tell' : `in ${formatDuration(Math.max(0, endsAtMs - nowMs.value))}`}
          />
        ) : (
          <Figure
            name="Took"
            value={formatDuration(Math.max(0, toMs - fromMs))}
            note={`ended ${ago(toMs, nowMs.value)}`}
          />
        )}
        <Figure
          name="Throughput"
          value={perMinute >= 1 ? `${perMinute.toFixed(1)} / min` : `${(perMinute * 60).toFixed(1)} / h`}
        />
      </dl>
      <Progress state={state} isRunning={isRunning} />
    </section>
  );
}

const ORDER: readonly ItemStatus[] = [
  ...(['succeeded', 'skipped', 'discuss', 'paused', 'cancelled'] as const),
  ...(['failed', 'timed-out', 'over-budget', 'stalled', 'crashed'] as const),
];

/** One bar of all items by status; running and waiting items come last. */
function Progress({ state, isRunning }: { state: RunState; isRunning: boolean }) {
  const total = Math.max(1, state.items.size);
  const busy = isRunning ? state.places.filter((place) => place !== null).length : 0;
  const ended = ORDER.flatMap((status) => {
    const many = state.counts[status] ?? 0;
    return many === 0 ? [] : [{ status, many }];
  });
  const rest = state.items.size - busy - ended.reduce((sum, { many }) => sum + many, 0);
  const parts = [
    ...ended,
    ...(busy > 0 ? [{ status: 'running', many: busy }] : []),
    ...(rest > 0 ? [{ status: isRunning ? 'waiting' : 'interrupted', many: rest }] : []),
  ];
  return (
    <div class="progress">
      <div class="progress-bar" aria-hidden="true">
        {parts.map(({ status, many }) => (
          <i key={status} class={`tone-${toneOf(status)} ${status}`} style={{ flexGrow: many / total }} />
        ))}
      </div>
      <ul>
        {parts.map(({ status, many }) => (
          <li key={status}>
            <Status
              of={status}
              word={`${count(many)} ${many > 1 && status === 'discuss' ? 'need you' : wordOf(status)}`}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

function RunActions({ brief, isRunning, isStopping }: { brief: RunBrief; isRunning: boolean; isStopping: boolean }) {
  const stop = (): Promise<void> =>
    attempt(async () => {
      await act('stop', { runId: brief.runId });
      return isStopping
        ? 'The run is stopped at once.'
        : 'The run is stopping; finished work is kept. Stop it again to end it at once.';
    });
  const retry = (): Promise<void> =>
    attempt(async () => {
      const { runId } = await act('retry', { runId: brief.runId });
      go('run', runId);
      return 'A new run retries the failed items.';
    });
  const failed = Object.entries(brief.counts).reduce(
    (sum, [status, many]) => sum + (isFailure(status as ItemStatus) ? many : 0),
    0,
  );
  return (
    <div class="buttons">
      {isRunning && (
        <Button is="tone-bad" onClick={stop}>
          {isStopping ? 'Stop at once' : 'Stop the run'}
        </Button>
      )}
      {!isRunning && brief.retryCommand !== null && brief.changeFirst === null && (
        <Button is="primary" onClick={retry}>
          Retry {plural(failed, 'failed item')}
        </Button>
      )}
    </div>
  );
}
