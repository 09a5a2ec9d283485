import type { ItemEvent, RunEvent } from '../core/events.ts';
import type { Sql } from './database.ts';

/** An item's event with its time by the database's clock. */
export type TimedEvent = { at: string } & ItemEvent;

/** Events of one item that are written together. */
interface Batch {
  item: number;
  /** The fence of the claim. Null: the hub itself wrote the events. */
  fence: number | null;
  events: readonly TimedEvent[];
}

/** Collects the events of all items and writes them a few times a second, in one statement. */
export interface EventWriter {
  add(item: number, fence: number | null, event: TimedEvent): void;
  /** Resolves when all events are written, or were refused because their claim is over. */
  flush(): Promise<void>;
}

const WRITE_EVERY_MS = 300;
/** The rest is written with the next statement. */
const MOST_EVENTS = 2_000;

/** `name` identifies the writer. A batch that is written again under the same number counts once. */
export function createEventWriter(sql: Sql, name: string): EventWriter {
  const waiting = new Map<string, { item: number; fence: number | null; events: TimedEvent[] }>();
  let number = 0;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    while (waiting.size > 0) {
      const batches: (Batch & { number: number })[] = [];
      let room = MOST_EVENTS;
      for (const [key, { item, fence, events }] of waiting) {
        number += 1;
        batches.push({ item, fence, number, events: events.splice(0, room) });
        room -= batches.at(-1)?.events.length ?? 0;
        if (events.length === 0) waiting.delete(key);
        if (room <= 0) break;
      }
      await appendEvents(sql, name, batches);
    }
  };
  const flush = (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    writing = writing.then(write);
    return writing;
  };
  return {
    add(item, fence, event) {
      const key = `${item} ${fence}`;
      const there = waiting.get(key);
      if (there === undefined) waiting.set(key, { item, fence, events: [event] });
      else there.events.push(event);
      // The caller of flush() gets the error.
      timer ??= setTimeout(() => void flush().catch(() => undefined), WRITE_EVERY_MS);
    },
    flush,
  };
}

/** Writes batches; a batch with a known writer and number is skipped. */
export async function appendEvents(
  sql: Sql,
  writer: string,
  batches: readonly (Batch & { number: number })[],
): Promise<void> {
  await sql.rows(
    `WITH given AS (
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS g(item, fence, number, lines)),
      counted AS (
        UPDATE agentos.items i SET events = i.events + 1 FROM given g
          WHERE i.id = g.item AND (g.fence IS NULL OR (i.fence = g.fence AND i.state = 'running'))
          RETURNING i.id, i.events, i.repository),
      written AS (
        INSERT INTO agentos.events (item, seq, writer, number, lines)
          SELECT g.item, c.events, $5, g.number, g.lines FROM given g JOIN counted c ON c.id = g.item
          ON CONFLICT (item, writer, number) DO NOTHING)
      SELECT pg_notify('agentos_events', r.repository) FROM (SELECT DISTINCT repository FROM counted) r`,
    [
      batches.map(({ item }) => item),
      batches.map(({ fence }) => fence),
      batches.map(({ number }) => number),
      batches.map(({ events }) => linesOf(events)),
      writer,
    ],
  );
}

/** JSON escapes the zero byte, which PostgreSQL can't store in text. */
function linesOf(events: readonly TimedEvent[]): string {
  return events.map((event) => JSON.stringify(event)).join('\n');
}

/** What was read last: the number of the event by item, and the id of the pool's event. */
export interface Cursors {
  items: Map<number, number>;
  pool: number;
}

export interface ReadEvents {
  item: number;
  key: string;
  events: TimedEvent[];
}

interface RunNews {
  items: ReadEvents[];
  pool: RunEvent[];
  /** There is more to read at once. */
  isMore: boolean;
  /** Every item of the run has ended, with what follows it, and all events were read. */
  isOver: boolean;
}

const READ_AT_ONCE = 500;
const POOL_AT_ONCE = 100;

/** Reads what is new about a run, in order for each item, and moves the cursors. */
export async function readRunNews(sql: Sql, run: string, cursors: Cursors): Promise<RunNews> {
  const [row] = await sql.rows<{
    open: number;
    items: { item: number; key: string; seq: number; lines: string }[] | null;
    pool: { id: number; event: string }[] | null;
  }>(
    `WITH mine AS MATERIALIZED (
        SELECT o.item, o.position, i.key, i.events, i.state <> 'ended' OR NOT i.is_handled AS open
          FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item WHERE o.run = $1),
      fresh AS (
        SELECT m.position, e.item, m.key, e.seq, e.lines FROM mine m
          LEFT JOIN unnest($2::bigint[], $3::bigint[]) AS c(item, seq) ON c.item = m.item
          JOIN agentos.events e ON e.item = m.item AND e.seq > coalesce(c.seq, 0)
          WHERE m.events > coalesce(c.seq, 0) ORDER BY m.position, e.item, e.seq LIMIT ${READ_AT_ONCE}),
      said AS (SELECT id, event FROM agentos.pool_events WHERE id > $4 ORDER BY id LIMIT ${POOL_AT_ONCE})
      SELECT (SELECT count(*) FROM mine WHERE open) AS open,
        (SELECT json_agg(f ORDER BY f.position, f.item, f.seq) FROM fresh f) AS items,
        (SELECT json_agg(s ORDER BY s.id) FROM said s) AS pool`,
    [run, [...cursors.items.keys()], [...cursors.items.values()], cursors.pool],
  );
  const items = row?.items ?? [];
  const pool = row?.pool ?? [];
  for (const { item, seq } of items) cursors.items.set(item, seq);
  cursors.pool = pool.at(-1)?.id ?? cursors.pool;
  const isMore = items.length === READ_AT_ONCE || pool.length === POOL_AT_ONCE;
  return {
    items: items.map(({ item, key, lines }) => ({
      item,
      key,
      events: lines.split('\n').map((line) => JSON.parse(line) as TimedEvent),
    })),
    pool: pool.map(({ event }) => JSON.parse(event) as RunEvent),
    isMore,
    isOver: row?.open === 0 && !isMore,
  };
}

/** Stores an event of the pool for all who follow a run. */
export async function appendPoolEvent(sql: Sql, event: RunEvent): Promise<void> {
  await sql.rows(
    `WITH said AS (INSERT INTO agentos.pool_events (at, event) VALUES (clock_timestamp(), $1))
      SELECT pg_notify('agentos_events', '')`,
    [JSON.stringify(event)],
  );
}

/** The id of the last event of the pool so far. */
export async function lastPoolEvent(sql: Sql): Promise<number> {
  const [row] = await sql.rows<{ last: number }>('SELECT coalesce(max(id), 0) AS last FROM agentos.pool_events');
  return row?.last ?? 0;
}
