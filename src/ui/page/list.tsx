import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';

interface ListProps {
  count: number;
  /** In pixels, exact. */
  rowHeight: number | ((index: number) => number);
  row: (index: number) => ComponentChildren;
  keyOf: (index: number) => string | number;
  label: string;
  class?: string;
  /** The row that is kept in view. */
  at?: number;
  role?: 'list' | 'log';
  /** Stays at the end while rows are added, unless the reader has scrolled up. */
  sticksToEnd?: boolean;
}

/** A list of any length: only the rows in view are in the document. */
export function List(props: ListProps) {
  const { count, rowHeight, row, keyOf, label, at = -1, role = 'list', sticksToEnd = false } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const options: VirtualizerOptions<HTMLDivElement, Element> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: typeof rowHeight === 'number' ? () => rowHeight : rowHeight,
    getItemKey: keyOf,
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined as never),
  };
  const kept = useRef<Virtualizer<HTMLDivElement, Element> | null>(null);
  kept.current ??= new Virtualizer(options);
  const list = kept.current;
  list.setOptions(options);
  useEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  useEffect(() => {
    if (at >= 0 && at < count) list.scrollToIndex(at, { align: 'auto' });
  }, [at]);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (sticksToEnd && isAtEnd.current && count > 0) list.scrollToIndex(count - 1, { align: 'end' });
  }, [count]);
  const onScroll = (event: Event): void => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget as HTMLElement;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  const items = list.getVirtualItems();
  return (
    // biome-ignore format: one element
    <div ref={scroller} class={`list ${props.class ?? ''}`} tabIndex={0} role={role} aria-label={label} onScroll={onScroll}>
      <div class="list-room" style={{ height: `${list.getTotalSize()}px` }}>
        {items.map((item) => (
          <div
            key={item.key}
            class="list-row"
            role={role === 'list' ? 'listitem' : undefined}
            aria-setsize={role === 'list' ? count : undefined}
            aria-posinset={role === 'list' ? item.index + 1 : undefined}
            style={{ height: `${item.size}px`, transform: `translateY(${item.start}px)` }}
          >
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Log lines. */
export function Lines({
  lines,
  label,
  sticksToEnd = false,
}: {
  lines: readonly string[];
  label: string;
  sticksToEnd?: boolean;
}) {
  return (
    <List
      class="log"
      role="log"
      label={label}
      count={lines.length}
      rowHeight={18}
      sticksToEnd={sticksToEnd}
      keyOf={(index) => index}
      row={(index) => {
        const [time, text] = timeAndText(lines[index] ?? '');
        return (
          <code>
            {time !== '' && <time>{time}</time>}
            {text}
          </code>
        );
      }}
    />
  );
}

/** `2026-11-03T14:32:05.123Z the line`: the date is the same all day. */
function timeAndText(line: string): [time: string, text: string] {
  const [, time, text] = /^\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)\.\d+Z (.*)$/s.exec(line) ?? [];
  return time === undefined ? ['', line] : [time, text ?? ''];
}
