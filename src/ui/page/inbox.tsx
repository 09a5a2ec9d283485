import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { Block, InboxItem } from '../api.ts';
import { Empty, Loaded, Tabs } from './bits.tsx';
import { Blocks } from './blocks.tsx';
import { Asked, askDecision, DecideButtons, type Kind } from './decide.tsx';
import { ago, clock, money, plural } from './format.ts';
import { List } from './list.tsx';
import { link, replace, route, useKeys } from './navigation.ts';
import { canAct, follow, held, nowMs, resource } from './store.ts';

const selected = signal<ReadonlySet<string>>(new Set());
const keyOf = ({ workflow, id }: InboxItem): string => `${workflow}/${id}`;

/** The waiting items, and beside them what to read before deciding. */
export function Inbox() {
  useEffect(() => follow({}), []);
  const items = resource<'inbox'>('inbox').value;
  return (
    <div class="inbox">
      <Loaded of={items}>{(all) => (all.length === 0 ? <NothingWaits /> : <Waiting all={all} />)}</Loaded>
    </div>
  );
}

function NothingWaits() {
  return (
    <Empty page="Inbox" title="Nothing waits for you.">
      <p>
        Items come here when a reviewer asks a question, when rounds are used up, or when a change touches protected
        files. The <a href={link('board')}>board</a> shows where everything stands.
      </p>
    </Empty>
  );
}

function Waiting({ all }: { all: readonly InboxItem[] }) {
  const [stage, id] = route.value.words;
  const found = all.findIndex((item) => item.workflow === stage && item.id === id);
  const at = Math.max(0, found);
  const current = all[at];
  const move = (by: number): void => {
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
    if (next !== undefined) replace('inbox', next.workflow, next.id);
  };
  const toggle = (item: InboxItem): void => {
    const next = new Set(selected.value);
    if (!next.delete(keyOf(item))) next.add(keyOf(item));
    selected.value = next;
  };
  const chosen = all.filter((item) => selected.value.has(keyOf(item)));
  const targets = chosen.length > 0 ? chosen : current === undefined ? [] : [current];
  const decide = (kind: Kind): void => askDecision(kind, targets, () => (selected.value = new Set()));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => current !== undefined && toggle(current),
    a: () => decide('approve'),
    r: () => decide('revise'),
    d: () => decide('drop'),
    Escape: () => (selected.value = new Set()),
    Enter: () => current !== undefined && (location.hash = link('item', current.id)),
  });
  const open = all.filter(({ decided }) => decided === null).length;
  return (
    <>
      <section class={found >= 0 ? 'inbox-list has-open' : 'inbox-list'} aria-label="Waiting">
        <header class="page-head">
          <h1>Inbox</h1>
          <p class="muted">
            {open === 0 ? 'Nothing waits for you' : open === 1 ? '1 item waits for you' : `${open} items wait for you`}
            {chosen.length > 0 && `; ${chosen.length} selected`}
          </p>
        </header>
        <List
          count={all.length}
          rowHeight={92}
          label="Items that wait for a person"
          at={at}
          keyOf={(index) => keyOf(all[index] as InboxItem)}
          row={(index) => <Row item={all[index] as InboxItem} isCurrent={index === at} onSelect={toggle} />}
        />
      </section>
      {current !== undefined && (
        <Question key={keyOf(current)} item={current} targets={targets} onDecide={decide} isChosen={found >= 0} />
      )}
    </>
  );
}

interface RowProps {
  item: InboxItem;
  isCurrent: boolean;
  onSelect: (item: InboxItem) => void;
}

function Row({ item, isCurrent, onSelect }: RowProps) {
  const { id, workflow, label, title, asked, sinceMs, costUsd, decided } = item;
  const isSelected = selected.value.has(keyOf(item));
  const isHeld = held.value.some((decision) => decision.id === id);
  return (
    <div class={`inbox-row${isCurrent ? ' current' : ''}`}>
      {canAct() && (
        <input type="checkbox" checked={isSelected} onChange={() => onSelect(item)} aria-label={`Select ${id}`} />
      )}
      <a href={link('inbox', workflow, id)} aria-current={isCurrent ? 'true' : undefined}>
        <span class="row-title">
          <b>{label}</b> {title}
        </span>
        <span class="row-text">{asked.replace(/^the reviewer asks: /, '')}</span>
        <span class="row-facts">
          {isHeld
            ? 'decided, can be undone'
            : decided === null
              ? `waits since ${clock(sinceMs)}`
              : 'decided, waits for a run'}
          <span>{money(costUsd)}</span>
        </span>
      </a>
    </div>
  );
}

interface QuestionProps {
  item: InboxItem;
  targets: readonly InboxItem[];
  onDecide: (kind: Kind) => void;
  /** It was chosen by URL, so it is shown instead of the list if there is room for only one. */
  isChosen: boolean;
}

function Question({ item, targets, onDecide, isChosen }: QuestionProps) {
  const { id, workflow, label, title, sinceMs, costUsd, runs } = item;
  const detail = resource<'question'>(`question/${workflow}/${id}`).value;
  return (
    <section class={isChosen ? 'question chosen' : 'question'} aria-label={label}>
      <header class="page-head">
        <a class="back" href={link('inbox')}>
          Inbox
        </a>
        <h2>
          <a href={link('item', id)}>
            <b>{label}</b> {title}
          </a>
        </h2>
        <p class="muted">
          waits {ago(sinceMs, nowMs.value) === 'just now' ? 'since just now' : `since ${clock(sinceMs)}`} ·{' '}
          {money(costUsd)} in {plural(runs, 'run')} · <a href={link('item', id)}>the whole story</a>
        </p>
      </header>
      <Asked item={item} heading={<h3>What is asked</h3>} />
      <DecideButtons items={targets} onDecide={onDecide} />
      <Loaded of={detail}>
        {({ draft, draftName, review, reviewName }) => (
          <Sides
            key={id}
            left={{ name: draftName, blocks: draft, title: isChange(workflow) ? 'Change' : 'Draft' }}
            right={{ name: reviewName, blocks: review, title: 'Review' }}
          />
        )}
      </Loaded>
    </section>
  );
}

function isChange(workflow: InboxItem['workflow']): boolean {
  return workflow === 'implement' || workflow === 'react';
}

interface Side {
  title: string;
  name: string;
  blocks: readonly Block[];
}

/** Side by side if there is room, else one of them. */
function Sides({ left, right }: { left: Side; right: Side }) {
  const [shown, show] = useState<'left' | 'right'>('right');
  const side = (name: 'left' | 'right', { title, name: path, blocks }: Side) => (
    <article class={`side ${shown === name ? 'shown' : ''}`} aria-label={title}>
      <header>
        <h3>{title}</h3>
        <code>{path}</code>
      </header>
      {blocks.length === 0 ? <p class="muted">Nothing yet.</p> : <Blocks blocks={blocks} />}
    </article>
  );
  return (
    <>
      <Tabs
        label="What to read"
        options={[
          { value: 'left', text: left.title },
          { value: 'right', text: right.title },
        ]}
        value={shown}
        onChange={show}
      />
      <div class="sides">
        {side('left', left)}
        {side('right', right)}
      </div>
    </>
  );
}
