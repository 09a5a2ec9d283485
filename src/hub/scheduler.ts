import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeAsEnd } from '../coordinator/attempt.ts';
import { createHaltRule } from '../coordinator/backlog.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { DEPENDS_ON, type ItemEnd, type ItemStatus, itemOfKey, notStarted } from '../core/item.ts';
import { endItem, expireLeases, MOST_LOST, stopRun } from './backlog.ts';
import type { Database } from './database.ts';
import type { GitBackend } from './git-backend.ts';
import { appendEvents } from './item-events.ts';
import { type EndedItem, nextStage } from './next-stage.ts';
import { createBell } from './notices.ts';
import { createSettingsCache } from './run-settings.ts';
import { type QueuedItem, scheduleItems } from './schedule.ts';
import { tidyHub } from './tidy.ts';

interface SchedulerOptions {
  database: Database;
  git: GitBackend;
  /** The time now by the database's clock. */
  timestamp: () => string;
  /** The item's recorded answers are no longer needed. */
  onItemEnded: (run: string, item: number) => void;
  /** All items of the run have ended. */
  onRunEnded: (run: string) => void;
  onLine: (line: string) => void;
  signal: AbortSignal;
}

export interface Scheduler {
  /** Starts the next pass now instead of at the next tick. */
  poke(): void;
  readonly closed: Promise<void>;
}

const TICK_MS = 1_000;
const EXPIRE_EVERY_MS = 2_000;
const TIDY_EVERY_MS = 60_000;

/** Starts held items, adds the next stage of ended ones, and frees the items of machines that are gone. One pass at a time. */
export function startScheduler(options: SchedulerOptions): Scheduler {
  const { database, git, signal, onLine } = options;
  const pass = createPass(options);
  const bell = createBell();
  let expiredAt = 0;
  let tidiedAt = performance.now();
  const closed = (async () => {
    while (!signal.aborted) {
      const woken = bell.rung();
      try {
        await pass.ends();
        await pass.cancels();
        await pass.starts();
        if (performance.now() - expiredAt > EXPIRE_EVERY_MS) {
          expiredAt = performance.now();
          await pass.timeouts();
          await pass.failures();
          await pass.expiries();
        }
        if (performance.now() - tidiedAt > TIDY_EVERY_MS) {
          tidiedAt = performance.now();
          await tidyHub(database, git);
        }
      } catch (error) {
        const { problem } = toErrorRecord(error);
        if (problem.code !== 'database-unreachable')
          onLine(`the scheduler failed: ${problem.code} ${'detail' in problem ? problem.detail : ''}`);
      }
      await Promise.race([woken, sleep(TICK_MS, undefined, { signal }).catch(() => undefined)]);
    }
  })();
  return { poke: () => bell.ring(), closed };
}

const HANDLED_AT_ONCE = 100;
const WRITER = 'hub';

function createPass({ database, timestamp, onItemEnded, onRunEnded, onLine }: SchedulerOptions) {
  const settings = createSettingsCache(database);
  const halts = new Map<string, Promise<ReturnType<typeof createHaltRule>>>();
  let writes = Date.now();

  const say = async (item: number, event: ItemEvent): Promise<void> => {
    writes += 1;
    const said = { item, fence: null, number: writes, events: [{ at: timestamp(), ...event }] };
    await appendEvents(database, WRITER, [said]);
  };

  /** Ends items that no machine works on any more. */
  const end = async (items: readonly { id: number; end: ItemEnd }[]): Promise<void> => {
    for (const { id, end: ending } of items)
      await endItem(database, { id, fence: null }, { end: ending, at: timestamp(), result: null });
  };

  /** After a restart, the rule is fed with the ends so far, in the order of the items. */
  const haltRuleOf = (run: string): Promise<ReturnType<typeof createHaltRule>> => {
    const open = async (): Promise<ReturnType<typeof createHaltRule>> => {
      const rule = createHaltRule((await settings.of(run)).haltAfter);
      const ended = await database.rows<{ ending: ItemEnd }>(
        `SELECT i.ending FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item
          WHERE o.run = $1 AND i.state = 'ended' AND i.is_handled ORDER BY i.id`,
        [run],
      );
      for (const { ending } of ended)
        if (ending.status !== 'cancelled') rule.ended(isFailure(ending.status) ? ending.error : null);
      return rule;
    };
    const found = halts.get(run) ?? open();
    halts.set(run, found);
    found.catch(() => halts.delete(run));
    return found;
  };

  const halted = async (run: string, { status, error }: ItemEnd): Promise<void> => {
    const facts = status === 'cancelled' ? null : (await haltRuleOf(run)).ended(isFailure(status) ? error : null);
    if (facts === null) return;
    const reason: ErrorRecord = { problem: { code: 'halted', ...facts }, retry: 'permanent' };
    await database.rows('UPDATE agentos.runs SET stopped = coalesce(stopped, $2) WHERE id = $1', [
      run,
      JSON.stringify(reason),
    ]);
  };

  const handle = async (ended: readonly EndedItem[]): Promise<void> => {
    const touched = [...new Set(ended.flatMap(({ runs: all }) => all))];
    for (const run of touched) {
      for (const item of ended.filter((one) => one.runs.includes(run))) {
        await halted(run, item.ending);
        if (item.ending.status === 'succeeded') await nextStage(database, await settings.of(run), { item, run });
      }
    }
    for (const { id, run } of ended) onItemEnded(run, id);
    await database.rows(
      `WITH handled AS (UPDATE agentos.items SET is_handled = true WHERE id = ANY($1) RETURNING repository)
        SELECT pg_notify('agentos_events', repository) FROM (SELECT DISTINCT repository FROM handled) AS r`,
      [ended.map(({ id }) => id)],
    );
    const over = await database.rows<{ run: string }>(
      `SELECT t.run FROM unnest($1::text[]) AS t(run) WHERE NOT EXISTS (SELECT 1 FROM agentos.items i
        WHERE i.run = t.run AND (i.state <> 'ended' OR NOT i.is_handled))`,
      [touched],
    );
    for (const { run } of over) {
      settings.forget(run);
      halts.delete(run);
      onRunEnded(run);
    }
  };

  return {
    async ends() {
      for (;;) {
        const ended = await database.rows<EndedItem>(
          `SELECT i.id, i.key, i.repository, i.run, i.ending,
              ARRAY(SELECT o.run FROM agentos.run_items o WHERE o.item = i.id) AS runs,
              CASE WHEN EXISTS (SELECT 1 FROM agentos.run_items o JOIN agentos.runs r ON r.id = o.run
                WHERE o.item = i.id AND json_array_length(r.settings->'stages') > i.stage + 1)
                THEN i.result->'repository' END AS files
            FROM agentos.items i WHERE i.state = 'ended' AND NOT i.is_handled ORDER BY i.id LIMIT ${HANDLED_AT_ONCE}`,
        );
        if (ended.length > 0) await handle(ended);
        if (ended.length < HANDLED_AT_ONCE) return;
      }
    },

    /** Ends cancelled items that no machine has to stop first. */
    async cancels() {
      const waiting = await database.rows<{ id: number; reason: ErrorRecord }>(
        `SELECT i.id, coalesce(i.cancel, r.stopped) AS reason FROM agentos.items i JOIN agentos.runs r ON r.id = i.run
          WHERE i.state IN ('held', 'ready') AND (i.cancel IS NOT NULL OR (r.stopped IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM agentos.run_items o JOIN agentos.runs p ON p.id = o.run WHERE o.item = i.id AND p.stopped IS NULL)))`,
      );
      await end(waiting.map(({ id, reason }) => ({ id, end: notStarted(reason) })));
    },

    /** Ends items that no machine could work on. */
    async failures() {
      const hopeless = await database.rows<{ id: number; lost: number }>(
        `SELECT id, lost FROM agentos.items WHERE state = 'ready' AND lost >= $1`,
        [MOST_LOST],
      );
      await end(hopeless.map(({ id, lost }) => ({ id, end: lostEnd('see its log', lost) })));
    },

    async timeouts() {
      const late = await database.rows<{ id: string; afterMs: number }>(
        // Settings are long: only those of runs under way are read.
        `WITH live AS MATERIALIZED (SELECT DISTINCT run FROM agentos.items WHERE state <> 'ended')
          SELECT r.id, (r.settings->'bounds'->>'globalTimeoutMs')::bigint AS "afterMs"
          FROM live JOIN agentos.runs r ON r.id = live.run
          WHERE r.stopped IS NULL AND (r.settings->'bounds'->>'globalTimeoutMs')::bigint <
            extract(epoch FROM clock_timestamp() - r.submitted_at) * 1000`,
      );
      for (const { id, afterMs } of late)
        await stopRun(database, id, toErrorRecord(new AgentosError({ code: 'run-timeout', afterMs })));
    },

    async starts() {
      const repositories = await database.rows<{ repository: string }>(
        `SELECT DISTINCT repository FROM agentos.items WHERE state = 'held'`,
      );
      for (const { repository } of repositories) {
        const { start, hopeless } = await scheduleOf(database, repository);
        await end(
          hopeless.map(({ id, on, status }) => ({
            id,
            end: notStarted(null, `${DEPENDS_ON} ${itemOfKey(on)?.id ?? on}, which ended as ${status}`),
          })),
        );
        if (start.length === 0) continue;
        await database.rows(
          `WITH started AS (UPDATE agentos.items SET state = 'ready' WHERE id = ANY($1) AND state = 'held' RETURNING id)
            SELECT pg_notify('agentos_ready', '') FROM started LIMIT 1`,
          [start],
        );
      }
    },

    async expiries() {
      const { freed, hopeless } = await expireLeases(database);
      for (const { id, key, machine } of freed) {
        onLine(`${machine} is gone: ${key} is ready for another machine`);
        await say(id, { type: 'notice', text: `the machine ${machine} was lost; another one resumes it` });
      }
      await end(hopeless.map(({ id, machine, lost }) => ({ id, end: lostEnd(machine, lost) })));
    },
  };
}

function lostEnd(machine: string, times: number): ItemEnd {
  const error = toErrorRecord(new AgentosError({ code: 'machine-lost', machine, times }));
  return { attempts: times, durationMs: 0, ...outcomeAsEnd({ error }) };
}

async function scheduleOf(database: Database, repository: string): Promise<ReturnType<typeof scheduleItems>> {
  const items = await database.rows<QueuedItem & { parallel: number | null; stage: number }>(
    `SELECT i.id, i.key, i.run, i.state = 'held' AS "isHeld", i.after, i.exclusive, i.ahead, i.stage,
        (extract(epoch FROM clock_timestamp() - i.since) * 1000)::float8 AS "waitedMs",
        (r.settings->>'parallel')::integer AS parallel
      FROM agentos.items i JOIN agentos.runs r ON r.id = i.run
      WHERE i.repository = $1 AND i.state <> 'ended' ORDER BY i.id`,
    [repository],
  );
  const after = [...new Set(items.flatMap((item) => item.after))];
  const ends = await database.rows<{ key: string; status: ItemStatus }>(
    `SELECT DISTINCT ON (i.key) i.key, i.ending->>'status' AS status FROM agentos.items i
      WHERE i.repository = $1 AND i.state = 'ended' AND i.key = ANY($2) AND EXISTS (
        SELECT 1 FROM agentos.run_items o JOIN agentos.run_items p ON p.run = o.run JOIN agentos.items u ON u.id = p.item
          WHERE o.item = i.id AND u.state <> 'ended')
      ORDER BY i.key, i.id DESC`,
    [repository, after],
  );
  // The later stages of items that are still in an earlier one.
  const announced = await database.rows<{ key: string }>(
    `SELECT DISTINCT s->>'workflow' || '-' || substr(i.key, strpos(i.key, '-') + 1) AS key
      FROM agentos.items i JOIN agentos.runs r ON r.id = i.run, json_array_elements(r.settings->'stages') WITH ORDINALITY AS t(s, n)
      WHERE i.repository = $1 AND i.state <> 'ended' AND t.n > i.stage + 1`,
    [repository],
  );
  return scheduleItems({
    items,
    ends: new Map(ends.map(({ key, status }) => [key, status])),
    announced: new Set(announced.map(({ key }) => key)),
    limits: new Map(items.flatMap(({ run, parallel }) => (parallel === null ? [] : [[run, parallel]]))),
  });
}
