import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { inspectJournal } from '../../src/journal/inspect.ts';
import { stepId } from '../../src/journal/journal.ts';
import type { Journal } from '../../src/journal/port.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { runChild, startChild } from '../support/journal-child-process.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentos-journal-'));
  file = join(folder, 'lld-42.db');
});
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') rmSync(folder, { recursive: true });
});

/** Names, sizes, times and contents of all that is in the folder, and the folder's own times. */
function everything(): string[] {
  const { mtimeNs, ctimeNs } = statSync(folder, { bigint: true });
  const entries = readdirSync(folder).map((name) => {
    const stat = statSync(join(folder, name), { bigint: true });
    const hash = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    return `${name} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${hash}`;
  });
  return [`${mtimeNs} ${ctimeNs}`, ...entries];
}

function inspectUntouched(): ReturnType<typeof inspectJournal> {
  const before = everything();
  const view = inspectJournal(file);
  expect(everything()).toEqual(before);
  return view;
}

const names = (steps: { name: string }[] | undefined): string[] | undefined => steps?.map((step) => step.name);

const open = (): Journal => openSqliteJournal(file, { clock: systemClock });

describe('inspecting a journal', () => {
  it('where there is none is null, and makes none', () => {
    expect(inspectUntouched()).toBeNull();
    expect(inspectJournal(join(folder, 'no', 'such', 'folder.db'))).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that was closed shows its steps and what was in flight, and writes nothing', async () => {
    const journal = open();
    await journal.step({ name: 'one', inputs: null }, async () => 'text');
    await expect(journal.step({ name: 'two', inputs: null }, () => Promise.reject(new Error('x')))).rejects.toThrow(
      'x',
    );
    const steps = journal.steps();
    journal.close();
    expect(readdirSync(folder)).toEqual(['lld-42.db']);
    const latest = { id: expect.stringMatching(/^two#/), name: 'two' };
    expect(inspectUntouched()).toMatchObject({ finished: steps, inFlight: ['two'], latest });
  });

  it('tells what was started last, also when it had been started before', async () => {
    const journal = open();
    const wait = (name: string): Promise<unknown> =>
      expect(journal.step({ name, inputs: null }, () => Promise.reject(new Error('later')))).rejects.toThrow('later');
    await wait('one');
    await journal.step({ name: 'two', inputs: null }, async () => 'text');
    expect(inspectJournal(file)?.latest).toMatchObject({ name: 'two' });
    await wait('three');
    await wait('one');
    expect(inspectJournal(file)).toMatchObject({
      inFlight: ['three', 'one'],
      latest: { name: 'one' },
    });
    journal.close();
  });

  it('gives the results of a step, one for each of its inputs, and writes nothing', async () => {
    const journal = open();
    for (const inputs of ['a', 'b']) await journal.step({ name: 'one', inputs }, async () => ({ for: inputs }));
    await journal.step({ name: 'two', inputs: null }, async () => 'other');
    journal.close();
    const before = everything();
    expect(inspectJournal(file)?.finished.slice(0, 2)).toMatchObject(
      ['a', 'b'].map((inputs) => ({ id: stepId({ name: 'one', inputs }), result: JSON.stringify({ for: inputs }) })),
    );
    expect(everything()).toEqual(before);
  });

  it.each(['in-flight', 'answered'] as const)(
    'of a process killed %s reads the log it left, and writes nothing',
    async (moment) => {
      await runChild(['sqlite', file], join(folder, 'runs'), moment);
      expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
      const view = inspectUntouched();
      expect(names(view?.finished)).toEqual(['one']);
      expect(view?.inFlight).toEqual(['two']);
      const journal = open();
      expect(view?.finished).toMatchObject(journal.steps());
      journal.close();
    },
  );

  it.each<[string, (log: Buffer) => Buffer]>([
    ['cut', (log) => log.subarray(0, -1)],
    ['scribbled on at its end', (log) => Buffer.concat([log.subarray(0, -50), Buffer.alloc(50, 0x5a)])],
  ])('of a killed process whose log was %s shows the transactions that are whole', async (_, breakIt) => {
    await runChild(['sqlite', file], join(folder, 'runs'), 'in-flight');
    writeFileSync(`${file}-wal`, breakIt(readFileSync(`${file}-wal`)));
    const view = inspectUntouched();
    expect(names(view?.finished)).toEqual(['one']);
    expect(view?.inFlight).toEqual([]);
    const journal = open();
    expect(view?.finished).toMatchObject(journal.steps());
    journal.close();
  });

  it('that a live process has open shows what is stored so far, and does not disturb it', async () => {
    const runs = join(folder, 'runs');
    const child = startChild(['sqlite', file], runs, 'in-flight');
    await child.ready;
    const view = inspectUntouched();
    expect(names(view?.finished)).toEqual(['one']);
    expect(view?.inFlight).toEqual(['two']);
    child.process.kill('SIGKILL');
    await child.ended;
  });

  it('follows a live owner through checkpoints and logs begun anew', async () => {
    const journal = open();
    for (let n = 0; n < 24; n++) {
      await journal.step({ name: `step-${n}`, inputs: null }, async () => 'x'.repeat(n % 3 === 0 ? 1_500_000 : 100));
      expect(inspectJournal(file)).toMatchObject({ finished: journal.steps(), inFlight: [] });
    }
    journal.close();
  });

  it('a log whose database was removed is no journal', async () => {
    await runChild(['sqlite', file], join(folder, 'runs'), 'between');
    rmSync(file);
    expect(inspectUntouched()).toBeNull();
  });

  it.each<[string, () => void]>([
    ['cut in half', () => truncateSync(file, Math.floor(statSync(file).size / 2))],
    ['emptied', () => truncateSync(file, 0)],
    ['replaced by a text', () => writeFileSync(file, 'no database '.repeat(100))],
  ])('that was %s is null, and leaves the file in its place', async (_, breakIt) => {
    const journal = open();
    await journal.step({ name: 'one', inputs: null }, async () => 'text'.repeat(5000));
    journal.close();
    breakIt();
    expect(inspectUntouched()).toBeNull();
  });
});
