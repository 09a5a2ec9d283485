import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { AgentosError, codeOf, type Problem } from '../../src/core/errors.ts';
import { sealOf } from '../../src/journal/database.ts';
import { stepId } from '../../src/journal/journal.ts';
import type { Journal } from '../../src/journal/port.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { runChild, startChild } from '../support/journal-child-process.ts';
import { canMount, mountSmallDisk } from '../support/small-disk.ts';

const mountable = canMount();
const stoppedClock: Clock = { ...systemClock, dateMs: () => Date.UTC(2026, 0, 2, 3, 4, 5) };

let folder: string;
let file: string;
let opened: Journal[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentos-journal-'));
  file = join(folder, 'lld-42.db');
  opened = [];
});
afterEach(({ task }) => {
  for (const journal of opened) journal.close();
  if (task.result?.state !== 'fail') rmSync(folder, { recursive: true });
});

function open(at = file, options: { clock?: Clock; maxBytes?: number } = {}): Journal {
  const journal = openSqliteJournal(at, { clock: systemClock, ...options });
  opened.push(journal);
  return journal;
}

function take(journal: Journal, name: string, bytes = 20_000): Promise<unknown> {
  return journal.step({ name, inputs: null }, async () => name.repeat(bytes / name.length));
}

async function filledJournal(): Promise<void> {
  const journal = open();
  for (const name of ['one', 'two', 'three', 'four', 'five']) await take(journal, name);
  journal.close();
}

function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (error) {
    if (error instanceof AgentosError) return error.problem;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function damage(): Extract<Problem, { code: 'journal-damaged' }> {
  const problem = problemOf(() => open());
  if (problem.code !== 'journal-damaged') throw new Error(`not damaged but ${problem.code}`);
  return problem;
}

function overwrite(position: number, bytes: Buffer): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, position);
  closeSync(handle);
}

describe('a damaged SQLite journal', () => {
  const cases: [string, () => void][] = [
    ['with a broken header', () => overwrite(0, Buffer.alloc(100, 0x5a))],
    ['that is not a database', () => writeFileSync(file, 'a note to myself\n'.repeat(500))],
    ['cut in half', () => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
    ['cut inside its first page', () => truncateSync(file, 150)],
    ['cut by one byte', () => truncateSync(file, readFileSync(file).length - 1)],
    ['cut to nothing', () => truncateSync(file, 0)],
    ['with garbage across its pages', () => overwrite(4096, Buffer.alloc(readFileSync(file).length - 4096, 0xa5))],
    [
      'with another text in a stored result',
      () => overwrite(readFileSync(file).indexOf('threethree'), Buffer.from('T')),
    ],
  ];

  it.each(cases)('%s is kept aside unchanged, said so, and the next open starts afresh', async (_, breakIt) => {
    await filledJournal();
    breakIt();
    const broken = readFileSync(file);
    const { keptAs, reason } = damage();
    expect(keptAs.startsWith(`${file}.damaged-`)).toBe(true);
    expect(reason).not.toBe('');
    expect(readFileSync(keptAs).equals(broken)).toBe(true);
    expect(existsSync(file)).toBe(false);
    expect(open().steps()).toEqual([]);
  });

  it('damaged twice in the same instant keeps both files', async () => {
    const kept: string[] = [];
    for (const text of ['first '.repeat(200), 'second '.repeat(200)]) {
      writeFileSync(file, text);
      const problem = problemOf(() => open(file, { clock: stoppedClock }));
      if (problem.code === 'journal-damaged') kept.push(problem.keptAs);
      expect(readFileSync(kept.at(-1) ?? '', 'utf8')).toBe(text);
    }
    expect(new Set(kept).size).toBe(2);
    expect(readdirSync(folder).sort()).toEqual(kept.map((path) => basename(path)).sort());
  });

  it('the log that a killed process left is kept beside the database it belongs to', async () => {
    await runChild(['sqlite', file], join(folder, 'runs'), 'between');
    const log = readFileSync(`${file}-wal`);
    overwrite(0, Buffer.alloc(100, 0x5a));
    const { keptAs } = damage();
    expect(readFileSync(`${keptAs}-wal`).equals(log)).toBe(true);
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  it('damage that comes while the journal is open changes no finished step, and the next step that is stored finds it', async () => {
    const journal = open();
    for (let n = 0; n < 4; n++) await take(journal, `big-${n}`, 3_000_000);
    journal.close();
    const next = open();
    overwrite(8192, Buffer.alloc(readFileSync(file).length - 8192, 0xa5));
    const { value, replayed } = await next.step({ name: 'big-0', inputs: null }, async () => 'made again');
    expect([value === 'big-0'.repeat(600_000), replayed]).toEqual([true, true]);
    await expect(take(next, 'other')).rejects.toMatchObject({ code: 'journal-damaged' });
    await expect(take(next, 'another')).rejects.toMatchObject({ code: 'journal-damaged' });
    expect(open().steps()).toEqual([]);
  });
});

describe('a file that is not for this program', () => {
  it('a database of another program is left as it is', () => {
    const other = new DatabaseSync(file);
    other.exec("PRAGMA application_id = 7; CREATE TABLE notes (text); INSERT INTO notes VALUES ('keep me')");
    other.close();
    const before = readFileSync(file);
    expect(problemOf(() => open())).toMatchObject({ code: 'journal-unusable' });
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(folder)).toEqual(['lld-42.db']);
  });

  it('a journal of a newer schema is left as it is', async () => {
    await filledJournal();
    const newer = new DatabaseSync(file);
    newer.exec('PRAGMA user_version = 9');
    newer.close();
    const before = readFileSync(file);
    expect(problemOf(() => open())).toEqual({ code: 'journal-newer', file, found: 9, supported: 1 });
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

describe('a place that cannot hold a journal', () => {
  it.each([
    ['under a file instead of a folder', 'not-a-folder/lld-42.db'],
    ['where a folder is', 'taken'],
  ])('%s', (_, path) => {
    writeFileSync(join(folder, 'not-a-folder'), '');
    mkdirSync(join(folder, 'taken'));
    expect(problemOf(() => open(join(folder, path)))).toMatchObject({ code: 'journal-unusable' });
    expect(readdirSync(folder).sort()).toEqual(['not-a-folder', 'taken']);
  });

  it.skipIf(!mountable)('a read-only disk, with a journal on it or without', async () => {
    const disk = mountSmallDisk(1 << 20);
    try {
      const there = join(disk.folder, 'there.db');
      const journal = open(there);
      await take(journal, 'one');
      journal.close();
      disk.makeReadOnly();
      expect(problemOf(() => open(there))).toMatchObject({ code: 'journal-unusable' });
      expect(problemOf(() => open(join(disk.folder, 'new.db')))).toMatchObject({ code: 'journal-unusable' });
      expect(readdirSync(disk.folder)).toEqual(['there.db']);
    } finally {
      disk.unmount();
    }
  });
});

describe('a full disk', () => {
  it('a result that does not fit is journal-full, and the journal goes on with what fits', async () => {
    const journal = open(file, { maxBytes: 200_000 });
    await take(journal, 'before');
    await expect(take(journal, 'too-large', 500_000)).rejects.toMatchObject({
      code: 'journal-full',
      retry: 'permanent',
    });
    await take(journal, 'after');
    const again = journal.step({ name: 'too-large', inputs: null }, async ({ earlierStarts }) => earlierStarts);
    expect(await again).toEqual({ value: 1, replayed: false });
    journal.close();
    expect(
      open()
        .steps()
        .map((step) => step.name),
    ).toEqual(['before', 'after', 'too-large']);
  });

  it.skipIf(!mountable)(
    'stops a step before its function runs, and the same journal works when space is back',
    async () => {
      const disk = mountSmallDisk(1 << 20);
      try {
        const journal = open(join(disk.folder, 'lld-42.db'));
        await take(journal, 'one');
        const makeRoom = disk.fill();
        let ran = false;
        const blocked = journal.step({ name: 'two', inputs: null }, async () => {
          ran = true;
        });
        await expect(blocked).rejects.toMatchObject({ code: 'journal-full' });
        expect(ran).toBe(false);
        expect(journal.steps().map((step) => step.name)).toEqual(['one']);
        makeRoom();
        await take(journal, 'two');
        journal.close();
        const next = open(join(disk.folder, 'lld-42.db'));
        expect(next.steps().map((step) => step.name)).toEqual(['one', 'two']);
        next.close();
      } finally {
        disk.unmount();
      }
    },
  );

  it.skipIf(!mountable)('makes no half-made journal, and opens what is there once space is back', async () => {
    const disk = mountSmallDisk(1 << 20);
    try {
      const makeRoom = disk.fill();
      expect(problemOf(() => open(join(disk.folder, 'new.db')))).toMatchObject({ code: 'journal-full' });
      expect(readdirSync(disk.folder)).toEqual(['filler']);
      makeRoom();
      const journal = open(join(disk.folder, 'new.db'));
      await take(journal, 'one');
      journal.close();
      const makeRoomAgain = disk.fill();
      expect(problemOf(() => open(join(disk.folder, 'new.db')))).toMatchObject({ code: 'journal-full' });
      makeRoomAgain();
      const next = open(join(disk.folder, 'new.db'));
      expect(next.steps().map((step) => step.name)).toEqual(['one']);
      next.close();
    } finally {
      disk.unmount();
    }
  });

  it.skipIf(!mountable)('whatever little is left, no journal is made that has lost a part of itself', async () => {
    const disk = mountSmallDisk(1 << 20);
    try {
      const refused = [];
      for (let pages = 0; pages <= 24; pages++) {
        const path = join(disk.folder, `${pages}.db`);
        const makeRoom = disk.fill(pages * 4096);
        try {
          open(path).close();
        } catch (error) {
          refused.push(codeOf(error));
        }
        makeRoom();
        await open(path).remove();
      }
      expect(new Set(refused)).toEqual(new Set(['journal-full']));
    } finally {
      disk.unmount();
    }
  });
});

describe('several openers and ends', () => {
  it('of processes that open a new journal at once, the last owner goes on and the others are fenced', async () => {
    const children = Array.from({ length: 4 }, () => startChild(['sqlite', file], join(folder, 'runs'), 'none'));
    const ends = await Promise.all(children.map((child) => child.ended));
    for (const [n, { code }] of ends.entries()) {
      if (code !== 0) expect(children[n]?.errors()).toContain('journal-fenced');
    }
    expect(ends.some(({ code }) => code === 0)).toBe(true);
    expect(
      open()
        .steps()
        .map((step) => step.name),
    ).toEqual(['one', 'two', 'three']);
  });

  it('remove leaves nothing behind, also while a stale owner has the file open', async () => {
    open();
    const owner = open();
    await take(owner, 'one');
    await owner.remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('a log whose database was already removed reads as no journal, not as a damaged one', async () => {
    await runChild(['sqlite', file], join(folder, 'runs'), 'between');
    rmSync(file);
    expect(existsSync(`${file}-wal`)).toBe(true);
    expect(open().steps()).toEqual([]);
  });
});

describe('a SQLite journal that another program writes to', () => {
  /** As an agent could that knows our schema: a finished step with a seal that fits. */
  function forge(name: string, id: string, result: string): void {
    const db = new DatabaseSync(file);
    const at = new Date().toISOString();
    const order = Number(db.prepare('SELECT coalesce(max(finish_order), 0) + 1 AS next FROM steps').get()?.['next']);
    const seal = sealOf({ id, name, startedAt: at }, { finishedAt: at, order, result });
    db.prepare(
      `INSERT OR REPLACE INTO steps (id, name, starts, started_at, finished_at, finish_order, seal, result)
       VALUES (?, ?, 1, ?, ?, ?, ?, ?)`,
    ).run(id, name, at, at, order, seal, result);
    db.close();
  }
  const key = { name: 'green-1', inputs: { tree: 'x' } };

  it('takes no step from it that its owner did not write', async () => {
    const journal = open();
    await take(journal, 'one');
    forge(key.name, stepId(key), '{"passed":true}');
    const error = await journal.step(key, async () => ({ passed: false })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'journal-damaged' });
    expect(existsSync(file)).toBe(false);
    expect(await open().step(key, async () => 'made again')).toEqual({ value: 'made again', replayed: false });
  });

  it('notices a changed record, a changed file and another file in its place, however it was done', async () => {
    for (const change of [
      () => forge('one', stepId({ name: 'one', inputs: null }), '"other"'),
      () => overwrite(0, readFileSync(file).subarray(0, 16)),
      () => writeFileSync(`${file}-wal`, Buffer.concat([readFileSync(`${file}-wal`), Buffer.alloc(1)])),
      () => {
        const bytes = readFileSync(file);
        rmSync(file);
        writeFileSync(file, bytes);
      },
    ]) {
      const journal = open();
      await take(journal, 'one');
      journal.check();
      change();
      expect(problemOf(() => journal.check()).code).toBe('journal-damaged');
      expect(existsSync(file)).toBe(false);
    }
  });

  it('is left alone where another owner has taken it over', async () => {
    const journal = open();
    await take(journal, 'one');
    const other = open();
    expect(problemOf(() => journal.check()).code).toBe('journal-fenced');
    await take(other, 'two');
    other.check();
  });

  it('holds for a later attempt only what the earlier ones said', async () => {
    const known = new Map<string, string>();
    const first = openSqliteJournal(file, {
      clock: systemClock,
      onStep: (steps) => {
        for (const [id, seal] of steps) known.set(id, seal);
      },
    });
    await take(first, 'one');
    first.close();
    openSqliteJournal(file, { clock: systemClock, known }).close();
    forge(key.name, stepId(key), '{"passed":true}');
    expect(problemOf(() => openSqliteJournal(file, { clock: systemClock, known })).code).toBe('journal-damaged');
  });
});
