import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type BoardItem, COLUMNS } from '../api.ts';
import { Empty, Loaded, Search, Tabs } from './bits.tsx';
import { count, money, plural } from './format.ts';
import { List } from './list.tsx';
import { go, link, useKeys } from './navigation.ts';
import { follow, resource } from './store.ts';

const NAMES: Record<BoardItem['column'], { name: string; tone: string }> = {
  'to-design': { name: 'To design', tone: 'plain' },
  designing: { name: 'Designing', tone: 'active' },
  'needs-you': { name: 'Needs you', tone: 'wait' },
  'to-implement': { name: 'To implement', tone: 'plain' },
  implementing: { name: 'Implementing', tone: 'active' },
  'in-review': { name: 'In review', tone: 'quota' },
  done: { name: 'Done', tone: 'good' },
  failed: { name: 'Failed', tone: 'bad' },
};

/** Kept while other pages are shown. */
const search = signal('');
const label = signal('');
const isGrouped = signal(false);

export function Board() {
  useEffect(() => follow({}), []);
  const items = resource<'board'>('board').value;
  return (
    <div class="board-page">
      <Loaded of={items}>{(all) => (all.length === 0 ? <NoIssues /> : <Columns all={all} />)}</Loaded>
    </div>
  );
}

function NoIssues() {
  return (
    <Empty page="Board" title="There are no issues yet.">
      <p>
        Write one as <code>issues/&lt;id&gt;.md</code>: a title as first heading, then what is wanted.
      </p>
    </Empty>
  );
}

function Columns({ all }: { all: readonly BoardItem[] }) {
  const labels = useMemo(() => [...new Set(all.flatMap((item) => item.labels))].sort(), [all]);
  const words = search.value.toLowerCase();
  const fits = (item: BoardItem): boolean =>
    (words === '' || `${item.id} ${item.title} ${item.note}`.toLowerCase().includes(words)) &&
    (label.value === '' || item.labels.includes(label.value));
  const shown = all.filter(fits);
  const columns = COLUMNS.map((name) => ({ name, items: shown.filter(({ column }) => column === name) }));
  const [at, setAt] = useState<{ column: number; row: number }>({ column: -1, row: 0 });
  /** The column to show if there is room for only one. */
  const first =
    columns.find(({ name, items }) => name === 'needs-you' && items.length > 0) ??
    columns.find(({ items }) => items.length > 0);
  const [chosen, choose] = useState<BoardItem['column'] | null>(null);
  const open = chosen ?? first?.name ?? 'to-design';
  const move = (column: number, row: number): void => {
    const filled = columns.map(({ items }, index) => ({ index, many: items.length })).filter(({ many }) => many > 0);
    if (filled.length === 0) return;
    const now = filled.findIndex(({ index }) => index === at.column);
    const next = filled[Math.min(filled.length - 1, Math.max(0, now + column))] ?? filled[0];
    if (next === undefined) return;
    setAt({ column: next.index, row: Math.min(next.many - 1, Math.max(0, now < 0 ? 0 : at.row + row)) });
  };
  useKeys({
    j: () => move(at.column < 0 ? 1 : 0, 1),
    k: () => move(0, -1),
    h: () => move(-1, 0),
    l: () => move(1, 0),
    ArrowLeft: () => move(-1, 0),
    ArrowRight: () => move(1, 0),
    Enter: () => {
      const item = columns[at.column]?.items[at.row];
      if (item !== undefined) go('item', item.id);
    },
  });
  return (
    <>
      <header class="page-head with-tools">
        <h1>Board</h1>
        <p class="muted">
          {shown.length === all.length
            ? plural(all.length, 'item')
            : `${count(shown.length)} of ${plural(all.length, 'item')}`}
        </p>
        <div class="filters">
          <Search label="Search the board" value={search.value} onChange={(text) => (search.value = text)} />
          {labels.length > 0 && (
            <>
              <select
                aria-label="Label"
                value={label.value}
                onChange={(event) => (label.value = event.currentTarget.value)}
              >
                <option value="">All labels</option>
                {labels.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
              <label class="check">
                <input
                  type="checkbox"
                  checked={isGrouped.value}
                  onChange={(event) => (isGrouped.value = event.currentTarget.checked)}
                />{' '}
                Group by label
              </label>
            </>
          )}
        </div>
      </header>
      <Tabs
        is="columns-tabs"
        label="Columns"
        options={columns.map(({ name, items }) => ({ value: name, text: NAMES[name].name, many: items.length }))}
        value={open}
        onChange={choose}
      />
      <div class="board">
        {columns.map(({ name, items }, index) => (
          <Column key={name} name={name} items={items} isOpen={open === name} at={at.column === index ? at.row : -1} />
        ))}
      </div>
    </>
  );
}

type Entry = { heading: string } | { item: BoardItem; index: number };

function entriesOf(items: readonly BoardItem[], grouped: boolean): Entry[] {
  const entries = items.map((item, index) => ({ item, index }));
  if (!grouped) return entries;
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const names = entry.item.labels.length === 0 ? ['no label'] : entry.item.labels;
    for (const name of names) groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b)).flatMap(([heading, inside]) => [{ heading }, ...inside]);
}

function heightOf(entry: Entry): number {
  if ('heading' in entry) return 32;
  return entry.item.note === '' ? 66 : 100;
}

interface ColumnProps {
  name: BoardItem['column'];
  items: readonly BoardItem[];
  isOpen: boolean;
  at: number;
}

function Column({ name, items, isOpen, at }: ColumnProps) {
  const { name: title, tone } = NAMES[name];
  const entries = entriesOf(items, isGrouped.value);
  const current = entries.findIndex((entry) => 'item' in entry && entry.index === at);
  return (
    <section
      class={`column tone-${tone}${isOpen ? ' open' : ''}${items.length === 0 ? ' none' : ''}`}
      aria-label={title}
    >
      <header>
        <h2>{title}</h2>
        <small>{count(items.length)}</small>
      </header>
      {entries.length > 0 && (
        <List
          count={entries.length}
          rowHeight={(index) => heightOf(entries[index] as Entry)}
          label={`${title}: ${plural(items.length, 'item')}`}
          at={current}
          keyOf={(index) => {
            const entry = entries[index] as Entry;
            return 'heading' in entry ? `# ${entry.heading}` : `${index} ${entry.item.id}`;
          }}
          row={(index) => {
            const entry = entries[index] as Entry;
            return 'heading' in entry ? (
              <h3 class="group">{entry.heading}</h3>
            ) : (
              <Tile item={entry.item} isCurrent={entry.index === at} />
            );
          }}
        />
      )}
    </section>
  );
}

function Tile({ item, isCurrent }: { item: BoardItem; isCurrent: boolean }) {
  const { id, title, note, costUsd, labels } = item;
  return (
    <a class={isCurrent ? 'tile current' : 'tile'} href={link('item', id)}>
      <span class="tile-head">
        <b>{id}</b>
        {labels.slice(0, 2).map((one) => (
          <span key={one} class="tag">
            {one}
          </span>
        ))}
        {costUsd > 0 && <small>{money(costUsd)}</small>}
      </span>
      <span class="row-title">{title}</span>
      {note !== '' && <span class="row-text">{note}</span>}
    </a>
  );
}
