import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ItemEvent, ItemStatus } from '../../src/core/events.ts';
import { testFolder } from '../support/folder.ts';
import type { Order } from '../support/live-region-fixture.ts';
import { PROJECT } from '../support/program.ts';
import { openTmux, type Tmux, tmuxIsMissing } from '../support/tmux.ts';

interface Running {
  tmux: Tmux;
  order: (order: Order) => void;
  start: (ids: string[]) => void;
  item: (id: string, event: ItemEvent) => void;
  finish: (id: string, status: ItemStatus) => void;
}

const TITLE = 'Export the report as CSV with 日本語 headings 🚀 and everything else that people ask for';

async function startFixture(columns: number, rows: number, env: Record<string, string> = {}): Promise<Running> {
  const folder = await testFolder();
  const path = join(folder, 's');
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const tmux = openTmux(folder, columns, rows, env);
  const fixture = join(PROJECT, 'test', 'support', 'live-region-fixture.ts');
  await writeFile(join(folder, 'run'), `'${process.execPath}' '${fixture}' '${path}'\necho "code $?"\n`);
  const connected = once(server, 'connection');
  tmux.type('-l', `cd '${folder}'; PS1='> '; clear; tmux clear-history`);
  tmux.type('Enter');
  await tmux.until((screen) => expect(screen).toEqual(['>']));
  tmux.type('-l', '. ./run');
  tmux.type('Enter');
  const [socket] = (await connected) as [Socket];
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);

  const at = (): string => new Date().toISOString();
  const order = (what: Order): void => void socket.write(`${JSON.stringify(what)}\n`);
  const item = (id: string, event: ItemEvent): void =>
    order({ event: { at: at(), item: id, workflow: 'lld', ...event } });
  return {
    tmux,
    order,
    item,
    start(ids) {
      order({
        event: {
          at: at(),
          type: 'run-started',
          runId: 'r',
          workflow: 'lld',
          items: ids,
          parallel: 1,
          models: {},
          groups: [],
        },
      });
      for (const id of ids.slice(0, 3)) {
        item(id, { type: 'item-started', title: TITLE, attempt: 1, reusedSteps: 0 });
        item(id, { type: 'step-started', step: 'draft', model: null });
      }
    },
    finish(id, status) {
      item(id, { type: 'item-finished', status, durationMs: 60_000, attempts: 1, reason: null, error: null });
    },
  };
}

const SIZES = [
  [40, 24],
  [80, 24],
  [57, 30],
  [24, 24],
  [100, 9],
  [80, 24],
] as const;

const bars = (lines: string[]): string[] => lines.filter((line) => /[━─]{4}/.test(line));

describe.skipIf(tmuxIsMissing)(`in a terminal${tmuxIsMissing ? ' (skipped: tmux is not installed)' : ''}`, () => {
  test('log lines scroll above a bar and a row per worker, and stay when the region goes', async () => {
    const { tmux, order, start, item, finish } = await startFixture(80, 24);
    order({ lines: ['first line'] });
    start(['42', '137', '142', '7']);
    await tmux.until((screen) => {
      expect(screen.slice(0, 2)).toEqual(['> . ./run', 'first line']);
      expect(screen[2]).toBe('');
      expect(screen[3]).toMatch(/^─{32} {2}0\/4 {2}\$0\.0000$/);
      expect(screen[4]).toMatch(/^LLD-42 {3}draft +0:0\d +0 tok {2}\$0\.0000 {2}Export the report as CSV w…$/);
      expect(screen[5]).toMatch(/^LLD-137 {2}draft/);
      expect(screen[6]).toMatch(/^LLD-142 {2}draft/);
      expect(screen).toHaveLength(7);
    });
    expect(tmux.cursorIsVisible()).toBe(false);

    const wraps = `wraps ${'x'.repeat(200)}`;
    finish('137', 'failed');
    item('7', { type: 'item-started', title: 'Short', attempt: 1, reusedSteps: 0 });
    order({ lines: [wraps, 'after it'] });
    await tmux.until((screen) => {
      expect(screen.slice(5, 7)).toEqual(['after it', '']);
      expect(screen[7]).toMatch(/^━{8}─{24} {2}1\/4 {2}ETA \d:\d\d {2}1 failed/);
      expect(screen[9]).toMatch(/^LLD-7 +starting .* Short$/);
      expect(screen).toHaveLength(11);
    });

    const many = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    order({ lines: many });
    order({ end: 'close' });
    await tmux.until((screen) => expect(screen.slice(-2)).toEqual(['code 0', '>']));
    expect(tmux.history()).toEqual([
      '> . ./run',
      'first line',
      wraps,
      'after it',
      ...many,
      'after the end',
      'code 0',
      '>',
    ]);
    expect(tmux.cursorIsVisible()).toBe(true);
  });

  test('a region at the top of a terminal that gets narrow is drawn anew without remains', async () => {
    const { tmux, order, start } = await startFixture(80, 24);
    const wraps = `wraps ${'x'.repeat(100)}`;
    order({ lines: ['first line', wraps] });
    start(['42', '137', '142', '7']);
    await tmux.until((screen) => expect(screen).toHaveLength(9));
    tmux.resize(40, 24);
    await tmux.until((screen) => {
      expect(bars(screen)).toHaveLength(1);
      const rows = screen.slice(-4);
      expect(rows[0]).toMatch(/^─+ {2}0\/4 {2}\$0\.0000$/);
      expect(rows[1]).toMatch(/^LLD-42 {2}draft +0:0\d +0 \$0\.0000$/);
      expect(Math.max(...rows.map((row) => row.length))).toBeLessThan(40);
    });
    expect(tmux.history().slice(0, 4)).toEqual(['> . ./run', 'first line', wraps, '']);
    expect(bars(tmux.history())).toHaveLength(1);
  });

  test('however the size changes, there is one region that fits, and no remains of others', async () => {
    const { tmux, order, start } = await startFixture(80, 24);
    const log = Array.from({ length: 30 }, (_, index) => `line ${index} x${'x'.repeat(index * 5)}`);
    order({ lines: log });
    start(['42', '137', '142', '7']);
    await tmux.until((screen) => expect(screen.at(-1)).toMatch(/^LLD-142/));
    for (const [columns, rows] of SIZES) {
      tmux.resize(columns, rows);
      log.push(`now ${columns} by ${rows}`);
      order({ lines: log.slice(-1) });
      await tmux.until((screen) => {
        expect(tmux.history().join('\n')).toContain(log.at(-1));
        expect(bars(screen)).toHaveLength(1);
        expect(Math.max(...screen.slice(screen.indexOf(bars(screen)[0] ?? '')).map((row) => row.length))).toBeLessThan(
          columns,
        );
        expect(screen.at(-1)).toMatch(rows < 12 ? /^\+2 more/ : /^LLD-142/);
      });
      expect(bars(tmux.history())).toHaveLength(1);
    }
    order({ end: 'close' });
    await tmux.until((screen) => expect(screen.at(-1)).toBe('>'));
    expect(tmux.history()).toEqual(['> . ./run', ...log, 'after the end', 'code 0', '>']);
  });

  test.each([
    ['exits in the middle', { end: 'exit' }, 'code 3'],
    ['dies of an exception', { end: 'throw' }, 'code 1'],
  ] as const)('a program that %s leaves no region, all its lines and a visible cursor', async (_name, order, code) => {
    const running = await startFixture(80, 24);
    running.start(['42']);
    await running.tmux.until((screen) => expect(bars(screen)).toHaveLength(1));
    expect(running.tmux.cursorIsVisible()).toBe(false);
    running.order({ lines: ['last line'] });
    running.order(order);
    await running.tmux.until((screen) => expect(screen.slice(-2)).toEqual([code, '>']));
    expect(running.tmux.screen().slice(0, 2)).toEqual(['> . ./run', 'last line']);
    expect(bars(running.tmux.history())).toEqual([]);
    expect(running.tmux.cursorIsVisible()).toBe(true);
  });

  test('keys that are typed disturb nothing, and Ctrl+Z gives the screen back until fg', async () => {
    const { tmux, order, start } = await startFixture(80, 24);
    start(['42']);
    await tmux.until((screen) => expect(bars(screen)).toHaveLength(1));
    tmux.type('typed', 'Enter');
    order({ lines: ['a line'] });
    await tmux.until((screen) => {
      expect(screen.slice(0, 4)).toEqual(['> . ./run', 'typed', 'a line', '']);
      expect(bars(screen.slice(4, 5))).toHaveLength(1);
      expect(screen).toHaveLength(6);
    });
    tmux.type('C-z');
    await tmux.until((screen) => expect(screen.at(-1)).toBe('>'));
    expect(bars(tmux.screen())).toEqual([]);
    expect(tmux.cursorIsVisible()).toBe(true);
    tmux.type('fg', 'Enter');
    await tmux.until((screen) => expect(bars(screen.slice(-2))).toHaveLength(1));
    expect(tmux.cursorIsVisible()).toBe(false);
  });

  test('without UTF-8 in the locale the bar is ASCII, and NO_COLOR takes only the colour', async () => {
    const { tmux, start } = await startFixture(80, 24, { LC_ALL: 'C', NO_COLOR: '1' });
    start(['42']);
    await tmux.until((screen) => expect(screen[2]).toMatch(/^-{32} {2}0\/1/));
    expect(tmux.colours()).toEqual([]);
  });
});
