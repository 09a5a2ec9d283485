import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AgentosEvent } from '../core/events.ts';
import { createLiveRegion, type LiveRegion } from './live-region.ts';

const HIDDEN = '\u001B[?25l';
const SHOWN = '\u001B[?25h';
const WATCHED = ['exit', 'SIGTSTP', 'SIGQUIT', 'SIGCONT'] as const;

class TestTerminal extends PassThrough {
  isTTY = true;
  columns = 80;
  rows = 24;
  writes: string[] = [];
  override write(chunk: unknown): boolean {
    this.writes.push(String(chunk));
    return true;
  }
}

const listeners = (): number[] => WATCHED.map((name) => process.listenerCount(name));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(): { stream: TestTerminal; region: LiveRegion; start: () => void } {
  const stream = new TestTerminal();
  const mask = (text: string): string => text.replaceAll('s3cr3t', '********');
  const env = { LANG: 'C.UTF-8', NO_COLOR: '1' };
  const region = createLiveRegion({ stream, env, now: Date.now, mask });
  const at = new Date().toISOString();
  const events: AgentosEvent[] = [
    { at, type: 'run-started', runId: 'r', workflow: 'lld', items: ['42'], parallel: 1, models: {}, groups: [] },
    { at, item: '42', workflow: 'lld', type: 'item-started', title: 'A s3cr3t title', attempt: 1, reusedSteps: 0 },
  ];
  return { stream, region, start: () => events.forEach(region.subscriber) };
}

describe('frames', () => {
  test('lines and events at the same time are one write', () => {
    const { stream, region, start } = open();
    region.line('one');
    start();
    region.line('two');
    vi.advanceTimersByTime(0);
    expect(stream.writes).toHaveLength(1);
    expect(stream.writes[0]).toContain('one\ntwo\n');
    expect(stream.writes[0]).toContain('0/1');
    region.close();
  });

  test('a flood of lines is drawn ten times a second', () => {
    const { stream, region, start } = open();
    start();
    for (let index = 0; index < 1_000; index++) {
      region.line(`line ${index}`);
      vi.advanceTimersByTime(1);
    }
    expect(stream.writes.length).toBeGreaterThan(5);
    expect(stream.writes.length).toBeLessThanOrEqual(11);
    region.close();
    const lines = stream.writes.join('').match(/line \d+\n/g);
    expect(lines).toEqual(Array.from({ length: 1_000 }, (_, index) => `line ${index}\n`));
  });

  test('very many lines at once are not held back', () => {
    const { stream, region } = open();
    region.line('x'.repeat(100_000));
    expect(stream.writes).toEqual([`${'x'.repeat(100_000)}\n`]);
    region.close();
  });

  test('nothing is drawn while nothing changes; times are updated every second', () => {
    const { stream, region, start } = open();
    start();
    vi.advanceTimersByTime(10);
    const first = stream.writes.length;
    vi.advanceTimersByTime(900);
    expect(stream.writes).toHaveLength(first);
    vi.advanceTimersByTime(5_000);
    expect(stream.writes).toHaveLength(first + 5);
    expect(stream.writes.at(-1)).toContain('0:05');
    region.close();
  });

  test('a resize redraws even if the rows stay the same', () => {
    const { stream, region, start } = open();
    start();
    vi.advanceTimersByTime(500);
    const first = stream.writes.length;
    stream.emit('resize');
    vi.advanceTimersByTime(0);
    expect(stream.writes).toHaveLength(first + 1);
    region.close();
  });

  test('secrets are masked in lines and in rows', () => {
    const { stream, region, start } = open();
    region.line('a s3cr3t line');
    start();
    vi.advanceTimersByTime(0);
    expect(stream.writes[0]).toContain('a ******** line');
    expect(stream.writes[0]).toContain('A ******** title');
    expect(stream.writes.join('')).not.toContain('s3cr3t');
    region.close();
  });
});

describe('the end', () => {
  test('close shows the cursor once and prints pending lines; later lines are plain', () => {
    const before = listeners();
    const { stream, region, start } = open();
    start();
    vi.advanceTimersByTime(10);
    expect(stream.writes.join('')).toContain(HIDDEN);
    region.line('waited');
    region.close();
    region.close();
    expect(stream.writes.at(-1)).toContain('waited\n');
    expect(stream.writes.join('').split(SHOWN)).toHaveLength(2);
    region.line('plain');
    expect(stream.writes.at(-1)).toBe('plain\n');
    vi.advanceTimersByTime(5_000);
    expect(stream.writes.at(-1)).toBe('plain\n');
    expect(vi.getTimerCount()).toBe(0);
    expect(listeners()).toEqual(before);
  });

  test('a region that had nothing to show writes no control characters', () => {
    const { stream, region } = open();
    region.line('only this');
    vi.advanceTimersByTime(2_000);
    region.close();
    expect(stream.writes).toEqual(['only this\n']);
  });

  test.each(['EPIPE', 'EIO'])('a terminal that went away (%s) is left alone', (code) => {
    const before = listeners();
    const { stream, region, start } = open();
    start();
    vi.advanceTimersByTime(10);
    const count = stream.writes.length;
    stream.emit('error', Object.assign(new Error(code), { code }));
    region.line('unheard');
    vi.advanceTimersByTime(5_000);
    region.close();
    expect(stream.writes).toHaveLength(count);
    expect(vi.getTimerCount()).toBe(0);
    expect(listeners()).toEqual(before);
  });

  test('any other error of the stream is not swallowed', () => {
    const { stream, region } = open();
    expect(() => stream.emit('error', Object.assign(new Error('no'), { code: 'EBADF' }))).toThrow('no');
    region.close();
  });
});
