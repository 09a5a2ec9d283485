import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentosEvent, ItemEvent, RunEvent } from '../../src/core/events.ts';
import type { ItemEnd, ItemStatus } from '../../src/core/item.ts';

interface PastRun {
  items: number;
  /** Lines that programs printed, to fill an item up to so many events. */
  eventsPerItem?: number;
  parallel?: number;
  startedAt?: number;
  /** Only so many items have ended, and its process is this one. */
  endedItems?: number;
  titleOf?: (id: string) => string;
}

/** The same numbers for the same seed. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

const DRAFTER = 'anthropic:claude-opus-5';
const REVIEWER = 'google:gemini-3.1-pro-preview';
const KEYS = ['ANTHROPIC_API_KEYS#1', 'ANTHROPIC_API_KEYS#2', 'GEMINI_API_KEY'] as const;

/** A run as its files tell it, with failures, retries, waits and keys that rest; made up, and the same every time. */
export async function writePastRun(base: string, options: PastRun): Promise<string> {
  const {
    items,
    eventsPerItem = 0,
    parallel = 4,
    startedAt = Date.parse('2026-11-16T08:00:00Z'),
    endedItems,
  } = options;
  const { titleOf = (id: string) => `Something that issue ${id} asks for` } = options;
  const roll = dice(items);
  const ids = Array.from({ length: items }, (_, index) => String(index + 1));
  const stamp = new Date(startedAt).toISOString().replace(/[-:.]/g, '');
  const runId = `${stamp}-${createHash('sha256').update(`${base}${stamp}`).digest('hex').slice(0, 8)}`;
  const events: { ms: number; event: RunEvent | (ItemEvent & { item: string; workflow: 'lld' }) }[] = [];
  const models = { drafter: DRAFTER, reviewer: REVIEWER };
  events.push({
    ms: startedAt,
    event: { type: 'run-started', runId, workflow: 'lld', items: ids, parallel, models, groups: [] },
  });
  const workers = Array.from({ length: parallel }, () => startedAt + 400);
  const ends = new Map<string, ItemEnd & { costUsd: number }>();
  for (const id of ids.slice(0, (endedItems ?? items) + (endedItems === undefined ? 0 : parallel))) {
    const isCut = endedItems !== undefined && Number(id) > endedItems;
    const worker = workers.indexOf(Math.min(...workers));
    const begunMs = workers[worker] ?? startedAt;
    let ms = begunMs;
    let costUsd = 0;
    const add = (event: ItemEvent, laterMs = 0): void => {
      ms += laterMs;
      events.push({ ms, event: { item: id, workflow: 'lld', ...event } });
    };
    const call = (step: string, role: 'drafter' | 'reviewer'): void => {
      const tookMs = 8_000 + roll() * 30_000;
      const usd = 0.02 + roll() * 0.2;
      const inputTokens = Math.round(9_000 + roll() * 20_000);
      const usage = {
        inputTokens,
        outputTokens: Math.round(800 + roll() * 5_000),
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      };
      const model = role === 'drafter' ? DRAFTER : REVIEWER;
      add({ type: 'step-started', step, model }, 200 + roll() * 900);
      if (roll() < 0.06) {
        const waitedMs = 10_000 + roll() * 60_000;
        add({ type: 'quota-waiting', vendor: 'anthropic', reason: 'quota', forMs: waitedMs });
        add({ type: 'quota-resumed', vendor: 'anthropic', reason: 'quota', waitedMs }, waitedMs);
      }
      const keyId = role === 'reviewer' ? KEYS[2] : roll() < 0.5 ? KEYS[0] : KEYS[1];
      add(
        {
          type: 'gateway-call',
          vendor: role === 'drafter' ? 'anthropic' : 'google',
          model,
          keyId,
          status: 200,
          attempts: 1,
          waitedMs: 0,
          durationMs: tookMs,
          costUsd: usd,
          usage,
        },
        tookMs,
      );
      add({
        type: 'model-answered',
        step,
        role,
        asked: model,
        answered: model,
        promptHash: 'p',
        replyHash: 'r',
        usage,
        metered: true,
        costUsd: usd,
        durationMs: tookMs,
      });
      add({ type: 'step-finished', step, replayed: false, durationMs: tookMs, costUsd: usd }, 20);
      costUsd += usd;
    };
    add({ type: 'item-started', title: titleOf(id), attempt: 1, reusedSteps: 0 }, 300);
    call('draft', 'drafter');
    if (roll() < 0.05) {
      const error = { problem: { code: 'reply-empty', provider: 'anthropic' }, retry: 'transient' } as const;
      add({ type: 'item-retrying', attempt: 2, delayMs: 4_000, error }, 100);
      add({ type: 'item-started', title: titleOf(id), attempt: 2, reusedSteps: 1 }, 4_000);
    }
    const printed = eventsPerItem - 20;
    for (let line = 0; line < printed; line++)
      add({ type: 'output-line', stream: 'stdout', line: `line ${line} of what a program prints` }, 1);
    const rounds = 1 + Math.floor(roll() * 2.4);
    for (let round = 1; round <= rounds && !isCut; round++) {
      call(`review-${round}`, 'reviewer');
      const isLast = round === rounds;
      add({
        type: 'review-read',
        round,
        verdict: isLast ? 'APPROVED' : 'REVISE',
        tiers: isLast ? [0, 0, 1] : [1, 1, 0],
        problems: [],
      });
      if (!isLast) call(`revise-${round}`, 'drafter');
    }
    workers[worker] = ms;
    if (isCut) continue;
    const end = endOf(id, roll(), ms - begunMs);
    ends.set(id, { ...end, costUsd });
    add({ type: 'item-finished', ...end }, 50);
    workers[worker] = ms;
  }
  const lastMs = Math.max(...workers);
  for (let ms = startedAt + 60_000; ms < lastMs; ms += 240_000 + roll() * 400_000) {
    const keyId = KEYS[Math.floor(roll() * KEYS.length)] ?? KEYS[0];
    events.push({ ms, event: { type: 'key-cooling', keyId, forMs: 15_000 + roll() * 90_000, why: 'rate' } });
  }
  if (endedItems === undefined)
    events.push({
      ms: lastMs + 100,
      event: { type: 'run-finished', runId, exitCode: 1, durationMs: lastMs - startedAt },
    });
  events.sort((a, b) => a.ms - b.ms);
  const folder = join(base, 'runs', runId);
  await mkdir(folder, { recursive: true });
  const isOver = endedItems === undefined;
  const record = {
    runId,
    workflow: 'lld',
    startedAt: new Date(startedAt).toISOString(),
    pid: isOver ? 2 ** 22 - 1 : process.pid,
    processStart: null,
    models,
    request: { parallel, haltAfter: null, config: {} },
    items: ids.map((id) => ({ id, title: titleOf(id), workflow: 'lld', state: 'new' })),
  };
  await writeFile(join(folder, 'run.json'), JSON.stringify(record));
  const lines = events.map(({ ms, event }) =>
    JSON.stringify({ at: new Date(ms).toISOString(), ...event } as AgentosEvent),
  );
  await writeFile(join(folder, 'events.jsonl'), `${lines.join('\n')}\n`);
  if (isOver)
    await writeFile(join(folder, 'summary.json'), JSON.stringify(summaryOf(runId, record.startedAt, lastMs, ends)));
  return runId;
}

function endOf(id: string, roll: number, durationMs: number): ItemEnd {
  const plain = { attempts: 1, durationMs, reason: null, error: null, outputs: [] };
  if (roll < 0.03)
    return {
      ...plain,
      status: 'failed',
      error: { problem: { code: 'reply-empty', provider: 'anthropic' }, retry: 'transient' },
    };
  if (roll < 0.04)
    return {
      ...plain,
      status: 'timed-out',
      error: { problem: { code: 'item-timeout', afterMs: 3_600_000 }, retry: 'ceiling' },
    };
  if (roll < 0.08) return { ...plain, status: 'discuss', reason: 'the reviewer asks: Who keeps what is saved?' };
  return { ...plain, status: 'succeeded', outputs: [`docs/lld/LLD-${id}.md`] };
}

function summaryOf(
  runId: string,
  startedAt: string,
  lastMs: number,
  ends: ReadonlyMap<string, ItemEnd & { costUsd: number }>,
): unknown {
  const failed = [...ends].filter(([, { status }]) => status === 'failed' || status === 'timed-out').map(([id]) => id);
  const counts: Partial<Record<ItemStatus, number>> = {};
  for (const { status } of ends.values()) counts[status] = (counts[status] ?? 0) + 1;
  return {
    runId,
    workflow: 'lld',
    startedAt,
    finishedAt: new Date(lastMs + 100).toISOString(),
    exitCode: failed.length > 0 ? 1 : 0,
    counts,
    retryCommand: failed.length === 0 ? null : `agentos lld --ids ${failed.join(' ')} --parallel 4`,
    changeFirst: null,
    items: [...ends].map(([id, { status, attempts, reason, error, costUsd }]) => {
      return { id, status, attempts, reason, error: error && { message: error.problem.code }, costUsd, steps: [] };
    }),
  };
}
