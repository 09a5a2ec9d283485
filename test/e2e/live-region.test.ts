import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ItemEvent } from '../../src/core/events.ts';
import type { ItemStatus } from '../../src/core/item.ts';
import { testFolder } from '../support/folder.ts';
import type { Order } from '../support/live-region-fixture.ts';
import { ISSUE } from '../support/models.ts';
import { PROJECT } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
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
      item(id, {
        type: 'item-finished',
        status,
        durationMs: 60_000,
        attempts: 1,
        reason: null,
        error: null,
        outputs: [],
      });
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

  test('of a run only verdicts, failures and ends scroll, each item in its colour; the end says what is next', async () => {
    const repository = await testRepository({ 42: ISSUE, 43: ISSUE });
    const models = await scriptedModels(repository);
    for (const id of ['42', '43']) await models.hold('lld', id);
    const env = { HOME: repository.home, TZ: 'Asia/Tokyo' };
    const tmux = openTmux(await testFolder(), 100, 30, env);
    const program = join(PROJECT, 'bin', 'agentos');
    const script = [
      `agentos() { '${program}' "$@"; }`,
      `agentos lld --all --parallel 2 ${models.flags.map((flag) => `'${flag.replaceAll("'", `'\\''`)}'`).join(' ')}`,
    ];
    await writeFile(join(repository.root, '..', 'run'), script.join('\n'));
    tmux.type('-l', `cd '${repository.root}'; PS1='> '; clear; tmux clear-history; . ../run`);
    tmux.type('Enter');
    await tmux.until((screen) => {
      expect(screen.at(-3)).toMatch(/^─{32} {2}0\/2 {2}\$0\.0000$/);
      const rows = screen.slice(-2).map((row) => row.slice(0, 15));
      expect(rows.toSorted()).toEqual(['LLD-42  draft  ', 'LLD-43  draft  ']);
    });
    const styled = tmux.colours().join('\u001B[');
    expect(styled).toMatch(/35m(\u001B\[49m)?LLD-42/);
    expect(styled).toMatch(/32m(\u001B\[49m)?LLD-43/);

    tmux.resize(40, 30);
    await models.release('lld', '42');
    await tmux.until((screen) => {
      const region = screen.slice(-2);
      expect(region[0]).toMatch(/^─*━+─+ {2}1\/2/);
      expect(region[1]).toMatch(/^LLD-43 draft/);
      expect(Math.max(...region.map((row) => row.length))).toBeLessThan(40);
    });
    tmux.resize(100, 30);
    await models.release('lld', '43');
    await tmux.until((screen) => expect(screen.at(-1)).toBe('>'));
    // tmux may leave an empty line where it broke lines anew.
    const [header, ...lines] = tmux.history().filter((line) => line !== '');
    expect(header).toMatch(/^\[COORDINATOR\] lld: 2 item\(s\), 2 at a time, drafter and reviewer command:/);
    expect(lines.map((line) => line.replace(/\d+(\.\d)? m?s\b|\dm \d\ds/g, '…').replace(/… +/, '…  '))).toEqual([
      '[LLD-42] review 1: APPROVED (1 Tier 3)',
      '[LLD-42] succeeded (docs/lld/LLD-42.md, …)',
      '[LLD-43] review 1: APPROVED (1 Tier 3)',
      '[LLD-43] succeeded (docs/lld/LLD-43.md, …)',
      '42  succeeded  $0.0000  …  docs/lld/LLD-42.md',
      '43  succeeded  $0.0000  …  docs/lld/LLD-43.md',
      'Total: 2 items (2 succeeded), $0.0000, …',
      'Next: agentos implement 42 43',
      '>',
    ]);

    // Times that a person reads are local; the file keeps its own.
    tmux.type('-l', 'clear; agentos logs 42 | head -1; agentos logs 42; agentos status');
    tmux.type('Enter');
    await tmux.until((screen) => expect(screen.at(-1)).toBe('>'));
    const [piped = '', ...shown] = tmux.screen().filter((line) => /^\d{4}/.test(line));
    const atMs = Date.parse(piped.slice(0, 24));
    expect(piped).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z /);
    expect(Date.parse(`${shown[0]?.slice(0, 19).replace(' ', 'T')}+09:00`)).toBe(Math.floor(atMs / 1_000) * 1_000);
    expect(shown.at(-1)).toMatch(/ lld {2}finished {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });

  test('without UTF-8 in the locale the bar is ASCII, and NO_COLOR takes only the colour', async () => {
    const { tmux, start } = await startFixture(80, 24, { LC_ALL: 'C', NO_COLOR: '1' });
    start(['42']);
    await tmux.until((screen) => expect(screen[2]).toMatch(/^-{32} {2}0\/1/));
    expect(tmux.colours()).toEqual([]);
  });
});
