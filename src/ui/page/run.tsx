import { useEffect } from 'preact/hooks';
import { isFailure } from '../../core/exit-code.ts';
import type { ItemStatus } from '../../core/item.ts';
import { outlookOf } from '../../core/outlook.ts';
import type { RunState } from '../../core/run-state.ts';
import type { RunBrief } from '../api.ts';
import { Card, CopyLine, Empty, Figure, Loaded, Status, toneOf, wordOf } from './bits.tsx';
import { nowMs } from './clock.ts';
import { ago, clock, count, formatDuration, money, plural } from './format.ts';
import { go, replace, route } from './router.ts';
import { RunCharts } from './run-charts.tsx';
import { RunItems } from './run-items.tsx';
import { briefOf, type LiveRun, useRun } from './run-live.ts';
import { act } from './source.ts';
import { startDialog } from './start.tsx';
import { canAct, follow, notify, overview } from './store.ts';
import { Timeline } from './timeline.tsx';

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
        <button type="button" class="button primary" onClick={() => startDialog.open()}>
          Start a batch
        </button>
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
          Files of this run are not as it wrote them: <code>agentos check --audit {brief.runId}</code>
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

/** Where there is no room for the list of runs. */
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
      {canAct() && (
        <button type="button" class="button" onClick={() => startDialog.open()}>
          Start
        </button>
      )}
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
            note={
              endsAtMs === null
                ? 'nothing to tell it from yet'
                : `in ${formatDuration(Math.max(0, endsAtMs - nowMs.value))}`
            }
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

const ORDER = [
  'succeeded',
  'skipped',
  'discuss',
  'paused',
  'cancelled',
  'failed',
  'timed-out',
  'over-budget',
  'stalled',
  'crashed',
];

/** One bar of all items by how they ended; what is under way and what waits comes last. */
function Progress({ state, isRunning }: { state: RunState; isRunning: boolean }) {
  const total = Math.max(1, state.items.size);
  const busy = isRunning ? state.places.filter((place) => place !== null).length : 0;
  const ended = ORDER.flatMap((status) => {
    const many = state.counts[status as ItemStatus] ?? 0;
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
  const attempt = async (work: () => Promise<string>): Promise<void> => {
    await work().then(
      (text) => notify(text, 'good'),
      (error: Error) => notify(error.message, 'bad'),
    );
  };
  const stop = (): Promise<void> =>
    attempt(async () => {
      await act('stop', { runId: brief.runId });
      return isStopping
        ? 'The run is stopped at once.'
        : 'The run stops; finished work is kept. Once more stops it at once.';
    });
  const retry = (): Promise<void> =>
    attempt(async () => {
      const { runId } = await act('retry', { runId: brief.runId });
      go('run', runId);
      return 'A new run takes up what failed.';
    });
  const failed = Object.entries(brief.counts).reduce(
    (sum, [status, many]) => sum + (isFailure(status as ItemStatus) ? many : 0),
    0,
  );
  return (
    <div class="buttons">
      {isRunning && (
        <button type="button" class="button tone-bad" onClick={() => void stop()}>
          {isStopping ? 'Stop at once' : 'Stop the run'}
        </button>
      )}
      {!isRunning && brief.retryCommand !== null && (
        <button type="button" class="button primary" onClick={() => void retry()}>
          Retry {plural(failed, 'failed item')}
        </button>
      )}
    </div>
  );
}
