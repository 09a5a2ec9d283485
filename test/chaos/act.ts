import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentosEvent } from '../../src/core/events.ts';
import type { Summary } from '../../src/core/summary.ts';
import { startAgentos } from '../support/program.ts';
import type { Ground } from './ground.ts';
import type { Fault, Moment } from './scenario.ts';

/** What became of a fault. Times are of the wall, as those of the vendor's calls are. */
export interface Fired {
  fault: Fault;
  /** missed: the program ended before its moment, or there was nothing to do it to. */
  outcome: 'fired' | 'missed' | 'skipped';
  why: string;
  fromMs: number;
  toMs: number;
}

/** One start of the program, from the first byte to its end. */
export interface Act {
  args: string[];
  startedAtMs: number;
  endedAtMs: number;
  code: number | null;
  signal: NodeJS.Signals | null;
  events: { atMs: number; event: AgentosEvent }[];
  /** The last line of its output; null where there was none. */
  summary: Summary | null;
  /** Lines of its output that are not JSON. */
  noise: string[];
  stdout: string;
  stderr: string;
  /** Sent to it; `isHeard`: when it had had the time to install its handlers. */
  signals: { signal: NodeJS.Signals; isHeard: boolean }[];
  /** Its files at its end: later faults may delete them. */
  files: { summary: string | null; events: string | null };
  /** Killed by us; `late`: because it did not end. */
  killed: 'no' | 'fault' | 'late';
}

/** A program under way. */
export interface Running {
  pid: number;
  act: Act;
  ended: Promise<Act>;
  hasEnded: () => boolean;
  /** Resolves at the moment; false: the program has ended before. */
  reached: (moment: Moment) => Promise<boolean>;
}

/** Starts the program and collects all that it says. */
export function startAct(ground: Ground, args: string[]): Running {
  const started = startAgentos([...args, '--json', ...ground.places], { cwd: ground.repository.root, env: ground.env });
  const act: Act = {
    args,
    startedAtMs: Date.now(),
    endedAtMs: 0,
    code: null,
    signal: null,
    events: [],
    summary: null,
    noise: [],
    stdout: '',
    stderr: '',
    signals: [],
    files: { summary: null, events: null },
    killed: 'no',
  };
  const waiting = new Set<() => void>();
  let unread = '';
  let over = false;
  const read = (line: string): void => {
    if (line === '') return;
    const value = parse(line);
    if (isEvent(value)) act.events.push({ atMs: Date.now(), event: value });
    else if (isSummary(value)) act.summary = value;
    else act.noise.push(line);
    for (const look of waiting) look();
  };
  started.child.stdout?.on('data', (text: string) => {
    const lines = (unread + text).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) read(line);
  });
  const ended = started.ended.then((end): Act => {
    read(unread);
    over = true;
    Object.assign(act, end, { endedAtMs: Date.now(), files: filesOf(ground, act) });
    for (const look of waiting) look();
    return act;
  });
  const nthEvent = (moment: Moment): boolean =>
    act.events.filter(({ event }) => nameOfEvent(event) === moment.event || event.type === moment.event).length >=
    moment.nth;
  return {
    pid: started.child.pid ?? 0,
    act,
    ended,
    hasEnded: () => over,
    async reached(moment) {
      const { event, plusMs } = moment;
      if (event !== null && !nthEvent(moment)) {
        await new Promise<void>((resolve) => {
          const look = (): void => {
            if (!over && !nthEvent(moment)) return;
            waiting.delete(look);
            resolve();
          };
          waiting.add(look);
        });
      }
      if (plusMs > 0) await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, plusMs))]);
      return !over;
    },
  };
}

function filesOf({ state }: Ground, { summary }: Act): Act['files'] {
  const read = (name: string): string | null => {
    if (!summary?.runId) return null;
    try {
      return readFileSync(join(state, 'runs', summary.runId, name), 'utf8');
    } catch {
      return null;
    }
  };
  return { summary: read('summary.json'), events: read('events.jsonl') };
}

function nameOfEvent(event: AgentosEvent): string {
  return 'step' in event ? `${event.type} ${event.step}` : event.type;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is AgentosEvent {
  return typeof value === 'object' && value !== null && 'at' in value && 'type' in value;
}

function isSummary(value: unknown): value is Summary {
  return typeof value === 'object' && value !== null && 'items' in value && 'exitCode' in value;
}
