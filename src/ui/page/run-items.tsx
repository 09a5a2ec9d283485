import { useState } from 'preact/hooks';
import { isFailure } from '../../core/exit-code.ts';
import type { ItemState } from '../../core/run-state.ts';
import { wordingOf } from '../../core/wording.ts';
import { Button, Empty, Search, Status, Tabs } from './bits.tsx';
import { formatDuration, money } from './format.ts';
import { List } from './list.tsx';
import { go, link, useKeys } from './navigation.ts';
import type { LiveRun } from './run.tsx';
import { act, attempt, canAct, nowMs } from './store.ts';

const FILTERS: [name: string, text: string, fits: (status: string) => boolean][] = [
  ['all', 'All', () => true],
  ['active', 'Running', (status) => status === 'running'],
  ['failed', 'Failed', (status) => isFailure(status as 'failed')],
  ['discuss', 'Need you', (status) => status === 'discuss'],
  ['done', 'Done', (status) => status === 'succeeded' || status === 'skipped'],
  [
    'open',
    'Waiting',
    (status) => status === 'waiting' || status === 'interrupted' || status === 'cancelled' || status === 'paused',
  ],
];

function statusOf({ status, startedAtMs, ends }: ItemState, isRunning: boolean): string {
  if (status !== null) return status;
  if (!isRunning) return startedAtMs === null && ends.length === 0 ? 'waiting' : 'interrupted';
  return startedAtMs === null ? 'waiting' : 'running';
}

/** Every item of a run; of ten thousand, those in view are drawn. */
export function RunItems({ run, isRunning }: { run: LiveRun; isRunning: boolean }) {
  const [filter, setFilter] = useState('all');
  const [text, setText] = useState('');
  const [at, setAt] = useState(-1);
  const words = text.toLowerCase();
  const all = [...run.state.items.values()].map((item) => ({ item, status: statusOf(item, isRunning) }));
  const counts = new Map<string, number>();
  for (const { status } of all) counts.set(status, (counts.get(status) ?? 0) + 1);
  const [, , fits = () => true] = FILTERS.find(([name]) => name === filter) ?? [];
  const shown = all.filter(
    ({ item, status }) => fits(status) && (words === '' || `${item.id} ${item.title}`.toLowerCase().includes(words)),
  );
  const move = (by: number): void => setAt(Math.min(shown.length - 1, Math.max(0, at + by)));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const item = shown[at]?.item;
      if (item !== undefined) go('item', item.id);
    },
  });
  const cancel = (id: string): Promise<void> =>
    attempt(async () => {
      await act('cancel', { runId: run.detail.brief.runId, id });
      return `${id} is being cancelled; finished steps are kept.`;
    });
  const filters = FILTERS.map(([value, text, isOne]) => {
    const many = [...counts].reduce((sum, [status, some]) => sum + (isOne(status) ? some : 0), 0);
    return { value, text, many };
  }).filter(({ value, many }) => many > 0 || value === 'all' || value === filter);
  return (
    <>
      <div class="filters">
        <Tabs label="Which items" options={filters} value={filter} onChange={(name) => (setFilter(name), setAt(-1))} />
        <Search label="Search items" value={text} onChange={setText} />
      </div>
      {shown.length === 0 ? (
        <Empty title="No item fits." />
      ) : (
        <List
          class="items"
          count={shown.length}
          rowHeight={52}
          label="Items of the run"
          at={at}
          keyOf={(index) => shown[index]?.item.id ?? index}
          row={(index) => {
            const one = shown[index];
            return (
              one && <ItemRow {...one} isCurrent={index === at} onCancel={isRunning && canAct() ? cancel : null} />
            );
          }}
        />
      )}
    </>
  );
}

interface RowProps {
  item: ItemState;
  status: string;
  isCurrent: boolean;
  /** Null: it can't be. */
  onCancel: ((id: string) => unknown) | null;
}

function ItemRow({ item, status, isCurrent, onCancel }: RowProps) {
  const { id, title, step, wait, ends, costUsd, startedAtMs } = item;
  const last = ends.at(-1);
  const isOpen = status === 'running' || status === 'waiting';
  const why = last?.error ? wordingOf(last.error.problem).message : (last?.reason ?? '');
  const now = wait === null ? (step ?? '') : `waits: ${wait.reason}`;
  const tookMs =
    ends.reduce((sum, end) => sum + end.durationMs, 0) +
    (status === 'running' && startedAtMs !== null ? nowMs.value - startedAtMs : 0);
  return (
    <div class={isCurrent ? 'item-row current' : 'item-row'}>
      <a href={link('item', id)}>
        <b>{id}</b>
        <span class="row-title">{title}</span>
      </a>
      <Status of={wait?.reason === 'quota' ? 'paused' : status} word={wait?.reason === 'quota' ? 'quota' : undefined} />
      <span class="row-text">{isOpen ? now : status === 'succeeded' ? (last?.outputs[0] ?? '') : why}</span>
      <span class="number">{tookMs > 0 ? formatDuration(tookMs) : ''}</span>
      <span class="number">{costUsd ? money(costUsd) : ''}</span>
      {onCancel !== null && (
        <Button is="small" label={`Cancel ${id}`} disabled={!isOpen} onClick={() => onCancel(id)}>
          Cancel
        </Button>
      )}
    </div>
  );
}
