import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SettlingJournal } from '../../src/journal/port.ts';
import { type ChildTarget, type Moment, readRuns, runChild } from '../support/journal-child-process.ts';

export interface JournalPlace {
  /** Each call claims the journal anew, as another process would. */
  open(): Promise<SettlingJournal>;
  /** For a child process that opens the same journal. */
  child: ChildTarget;
}

/** The rules of the journal port. `place` gives a new, empty place for a journal under the folder it is given. */
export function journalRules(backend: string, place: (folder: string) => JournalPlace | Promise<JournalPlace>): void {
  describe(`journal on ${backend}`, () => {
    let folder: string;
    let at: JournalPlace;
    let opened: SettlingJournal[];

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'agentos-journal-'));
      at = await place(folder);
      opened = [];
    });
    afterEach(({ task }) => {
      for (const journal of opened) journal.close();
      if (task.result?.state !== 'fail') rmSync(folder, { recursive: true });
    });

    const open = async (): Promise<SettlingJournal> => {
      const journal = await at.open();
      opened.push(journal);
      return journal;
    };
    const reopen = (journal: SettlingJournal): Promise<SettlingJournal> => {
      journal.close();
      return open();
    };

    describe('memo', () => {
      it('a finished step is answered from the record, in the same process and after a restart', async () => {
        const { run, runs } = counted({ text: 'answer', tokens: 12 });
        const journal = await open();
        expect(await journal.step({ name: 'draft', inputs: { prompt: 'p' } }, run)).toEqual({
          value: { text: 'answer', tokens: 12 },
          replayed: false,
        });
        const replay = { value: { text: 'answer', tokens: 12 }, replayed: true };
        expect(await journal.step({ name: 'draft', inputs: { prompt: 'p' } }, run)).toEqual(replay);
        expect(await (await reopen(journal)).step({ name: 'draft', inputs: { prompt: 'p' } }, run)).toEqual(replay);
        expect(runs()).toBe(1);
      });

      it('changed inputs are not answered from an old record', async () => {
        const journal = await open();
        await journal.step({ name: 'draft', inputs: { prompt: 'old' } }, async () => 'old answer');
        const changed = await journal.step({ name: 'draft', inputs: { prompt: 'new' } }, async () => 'new answer');
        expect(changed).toEqual({ value: 'new answer', replayed: false });
        const unchanged = await journal.step({ name: 'draft', inputs: { prompt: 'old' } }, async () => 'wrong');
        expect(unchanged).toEqual({ value: 'old answer', replayed: true });
      });

      it('the same inputs under another name are another step', async () => {
        const journal = await open();
        await journal.step({ name: 'draft', inputs: 1 }, async () => 'a');
        expect((await journal.step({ name: 'review', inputs: 1 }, async () => 'b')).value).toBe('b');
      });

      it('the order of keys in the inputs does not matter', async () => {
        const journal = await open();
        await journal.step({ name: 'draft', inputs: { a: 1, b: { c: 2, d: 3 } } }, async () => 'first');
        const again = await journal.step({ name: 'draft', inputs: { b: { d: 3, c: 2 }, a: 1 } }, async () => 'second');
        expect(again).toEqual({ value: 'first', replayed: true });
      });

      it('inputs that are not JSON are refused before the function runs', async () => {
        const { run, runs } = counted('never');
        const step = (await open()).step({ name: 'draft', inputs: { when: new Date(0) } }, run);
        await expect(step).rejects.toMatchObject({ code: 'internal' });
        expect(runs()).toBe(0);
      });

      it('the first caller gets what a replay gets, not what JSON would lose', async () => {
        const journal = await open();
        const run = async (): Promise<unknown> => ({ at: new Date(0), gone: undefined });
        const first = await journal.step({ name: 'draft', inputs: null }, run);
        expect(first.value).toStrictEqual({ at: '1970-01-01T00:00:00.000Z' });
        expect((await journal.step({ name: 'draft', inputs: null }, run)).value).toStrictEqual(first.value);
      });

      it('a step without a result stores null', async () => {
        const journal = await open();
        expect((await journal.step({ name: 'note', inputs: null }, async () => undefined)).value).toBeNull();
        expect(await (await reopen(journal)).step({ name: 'note', inputs: null }, async () => 'again')).toEqual({
          value: null,
          replayed: true,
        });
      });

      it('a result that JSON cannot express is an error and not a record', async () => {
        const journal = await open();
        const step = journal.step<unknown>({ name: 'draft', inputs: null }, async () => 1n);
        await expect(step).rejects.toMatchObject({ code: 'internal' });
        expect(journal.steps()).toEqual([]);
      });

      it.each([
        ['unicode', '‏שלום 🚀 e\u0301 \u0000 \ud800 "\\\n'],
        ['a megabyte', 'ä'.repeat(1 << 20)],
      ])('%s comes back unchanged', async (_, text) => {
        const journal = await open();
        await journal.step({ name: 'draft', inputs: text }, async () => ({ text }));
        const { value } = await (await reopen(journal)).step({ name: 'draft', inputs: text }, async () => ({
          text: 'lost',
        }));
        expect(value.text === text).toBe(true);
      });
    });

    describe('several steps', () => {
      it('the same step in flight twice runs once and both callers get its result', async () => {
        const journal = await open();
        const gate = Promise.withResolvers<string>();
        const { run, runs } = counted(gate.promise);
        const first = journal.step({ name: 'draft', inputs: 1 }, run);
        const second = journal.step({ name: 'draft', inputs: 1 }, run);
        gate.resolve('answer');
        expect([(await first).value, (await second).value]).toEqual(['answer', 'answer']);
        expect(runs()).toBe(1);
      });

      it('steps() lists what finished, in the order of finishing, over restarts', async () => {
        const journal = await open();
        const gate = Promise.withResolvers<string>();
        const slow = journal.step({ name: 'slow', inputs: null }, () => gate.promise);
        await journal.step({ name: 'quick', inputs: null }, async () => 'q');
        expect(journal.steps().map((step) => step.name)).toEqual(['quick']);
        gate.resolve('s');
        await slow;
        const next = await reopen(journal);
        await next.step({ name: 'last', inputs: null }, async () => 'l');
        const steps = next.steps();
        expect(steps.map((step) => step.name)).toEqual(['quick', 'slow', 'last']);
        for (const step of steps) {
          expect(step.id.startsWith(`${step.name}#`)).toBe(true);
          expect(Date.parse(step.finishedAt)).toBeGreaterThanOrEqual(Date.parse(step.startedAt));
        }
      });

      it('has() knows a step that is finished, by its name and inputs', async () => {
        const journal = await open();
        const key = { name: 'begin', inputs: { base: 'a' } };
        await journal.step(key, () => Promise.reject(new Error('no'))).catch(() => undefined);
        expect(journal.has(key)).toBe(false);
        await journal.step(key, async () => null);
        expect(journal.has(key)).toBe(true);
        expect((await reopen(journal)).has({ ...key, inputs: { base: 'b' } })).toBe(false);
      });

      it('last() gives the result of a name that finished last, whatever its inputs, over restarts', async () => {
        const journal = await open();
        expect(journal.last('begin')).toBeUndefined();
        await journal.step({ name: 'begin', inputs: 2 }, async () => ({ base: 'b' }));
        await journal.step({ name: 'begin', inputs: 1 }, async () => ({ base: 'a' }));
        await journal.step({ name: 'baseline', inputs: 1 }, async () => 'later');
        await expect(
          journal.step({ name: 'begin', inputs: 3 }, () => Promise.reject(new Error('no'))),
        ).rejects.toThrow();
        await journal.step({ name: 'begin', inputs: 2 }, async () => 'replayed, not finished again');
        expect((await reopen(journal)).last('begin')).toEqual({ base: 'a' });
      });

      it('a failing step rethrows its own error, is not recorded and runs again', async () => {
        const journal = await open();
        const failure = new Error('no answer');
        const key = { name: 'draft', inputs: null };
        await expect(journal.step(key, () => Promise.reject(failure))).rejects.toBe(failure);
        expect(journal.steps()).toEqual([]);
        const again = await journal.step(key, async ({ earlierStarts }) => earlierStarts);
        expect(again).toEqual({ value: 1, replayed: false });
      });

      it('the id that a step sees is stable over restarts', async () => {
        const journal = await open();
        const key = { name: 'draft', inputs: { prompt: 'p' } };
        const ids: string[] = [];
        const fail = async ({ id }: { id: string }): Promise<void> => {
          ids.push(id);
          throw new Error('again');
        };
        await expect(journal.step(key, fail)).rejects.toThrow('again');
        await expect((await reopen(journal)).step(key, fail)).rejects.toThrow('again');
        expect(ids[1]).toBe(ids[0]);
      });

      it('a journal that ended well starts empty when it is opened again', async () => {
        const journal = await open();
        await journal.step({ name: 'draft', inputs: null }, async () => 'old');
        await journal.remove();
        const next = await open();
        expect(next.steps()).toEqual([]);
        expect((await next.step({ name: 'draft', inputs: null }, async () => 'new')).value).toBe('new');
      });

      it('a closed journal refuses steps, also the result of one that was in flight', async () => {
        const journal = await open();
        const gate = Promise.withResolvers<string>();
        const late = journal.step({ name: 'draft', inputs: 1 }, () => gate.promise);
        journal.close();
        gate.resolve('answer');
        await expect(late).rejects.toMatchObject({ code: 'journal-unusable' });
        const { run, runs } = counted('never');
        await expect(journal.step({ name: 'draft', inputs: 2 }, run)).rejects.toMatchObject({
          code: 'journal-unusable',
        });
        expect(runs()).toBe(0);
        expect((await open()).steps()).toEqual([]);
      });
    });

    describe('a step that waits for somebody else’s word', () => {
      const question = { name: 'decision-1', inputs: { about: 'this' } };
      const nobody = new Error('nobody has decided');
      const wait = async (journal: SettlingJournal, key = question): Promise<void> => {
        await expect(journal.step(key, () => Promise.reject(nobody))).rejects.toBe(nobody);
      };

      it('is answered by what it was settled with, over restarts, and its function does not run again', async () => {
        const journal = await open();
        await wait(journal);
        const other = await reopen(journal);
        expect(await other.settle('decision-1', { kind: 'approve' })).toBe(true);
        expect(other.steps().map((step) => step.name)).toEqual(['decision-1']);
        const { run, runs } = counted({ kind: 'wrong' });
        expect(await (await reopen(other)).step(question, run)).toEqual({ value: { kind: 'approve' }, replayed: true });
        expect(runs()).toBe(0);
      });

      it('that nobody started can not be settled; one that was settled can be again, until another step is started', async () => {
        const journal = await open();
        expect(await journal.settle('decision-1', 'too early')).toBe(false);
        await wait(journal);
        expect(await journal.settle('decision-2', 'another')).toBe(false);
        expect(await journal.settle('decision-1', 'first')).toBe(true);
        expect(await (await reopen(journal)).settle('decision-1', 'second')).toBe(true);
        const next = await open();
        expect((await next.step(question, async () => 'wrong')).value).toBe('second');
        await next.step({ name: 'revise-1', inputs: null }, async () => 'r');
        expect(await next.settle('decision-1', 'third')).toBe(false);
        expect((await (await reopen(next)).step(question, async () => 'wrong')).value).toBe('second');
      });

      it('with other inputs is another question: the word counts for the one that was started last', async () => {
        const journal = await open();
        const edited = { name: 'decision-1', inputs: { about: 'that' } };
        await wait(journal);
        await wait(journal, edited);
        await wait(journal);
        expect(await journal.settle('decision-1', 'on this')).toBe(true);
        expect((await journal.step(question, async () => 'wrong')).value).toBe('on this');
        await wait(journal, edited);
      });

      it('keeps the order of finishing, before and after', async () => {
        const journal = await open();
        await journal.step({ name: 'draft', inputs: null }, async () => 'd');
        await wait(journal);
        await journal.settle('decision-1', 'go on');
        await journal.step({ name: 'revise', inputs: null }, async () => 'r');
        const steps = (await reopen(journal)).steps();
        expect(steps.map((step) => step.name)).toEqual(['draft', 'decision-1', 'revise']);
      });

      it('can not be settled by an owner that was taken over, or after the end', async () => {
        const stale = await open();
        await wait(stale);
        const owner = await open();
        await expect(stale.settle('decision-1', 'late')).rejects.toMatchObject({ code: 'journal-fenced' });
        await wait(owner);
        owner.close();
        await expect(owner.settle('decision-1', 'x')).rejects.toMatchObject({ code: 'journal-unusable' });
      });

      it('is not settled by what JSON can not express', async () => {
        const journal = await open();
        await wait(journal);
        await expect(journal.settle('decision-1', 1n)).rejects.toMatchObject({ code: 'internal' });
        await wait(journal);
      });
    });

    describe('a process killed with SIGKILL', () => {
      const all = ['one', 'two', 'three'];
      it.each<[string, Moment, string[]]>([
        ['between steps repeats nothing', 'between', ['one 0', 'two 0', 'three 0']],
        ['in flight repeats that one step', 'in-flight', ['one 0', 'two 0', 'two 1', 'three 0']],
        ['answered but not stored repeats that one step', 'answered', ['one 0', 'two 0', 'two 1', 'three 0']],
      ])('%s', async (_, moment, expected) => {
        const runs = join(folder, 'runs');
        await runChild(at.child, runs, moment);
        await runChild(at.child, runs, 'none');
        expect(readRuns(runs)).toEqual(expected);
        expect((await open()).steps().map((step) => step.name)).toEqual(all);
      });

      it('twice at the same step counts both starts', async () => {
        const runs = join(folder, 'runs');
        await runChild(at.child, runs, 'in-flight');
        await runChild(at.child, runs, 'answered');
        await runChild(at.child, runs, 'none');
        expect(readRuns(runs)).toEqual(['one 0', 'two 0', 'two 1', 'two 2', 'three 0']);
      });
    });

    describe('an owner that was taken over', () => {
      it('starts no step', async () => {
        const stale = await open();
        await open();
        const { run, runs } = counted('never');
        await expect(stale.step({ name: 'draft', inputs: null }, run)).rejects.toMatchObject({
          code: 'journal-fenced',
          retry: 'permanent',
        });
        expect(runs()).toBe(0);
      });

      it('cannot store the step it had in flight, and the new owner keeps its own result', async () => {
        const stale = await open();
        const gate = Promise.withResolvers<string>();
        const key = { name: 'draft', inputs: null };
        const begun = Promise.withResolvers<void>();
        const late = stale.step(key, () => {
          begun.resolve();
          return gate.promise;
        });
        await begun.promise;
        const owner = await open();
        expect(await owner.step(key, async () => 'of the new owner')).toMatchObject({ replayed: false });
        gate.resolve('of the stale one');
        await expect(late).rejects.toMatchObject({ code: 'journal-fenced' });
        expect(await owner.step(key, async () => 'wrong')).toEqual({ value: 'of the new owner', replayed: true });
        expect(await owner.step({ name: 'next', inputs: null }, async () => 'goes on')).toMatchObject({
          replayed: false,
        });
      });

      it('cannot remove the journal', async () => {
        const stale = await open();
        const owner = await open();
        await owner.step({ name: 'draft', inputs: null }, async () => 'kept');
        await expect(stale.remove()).rejects.toMatchObject({ code: 'journal-fenced' });
        stale.close();
        expect((await reopen(owner)).steps().map((step) => step.name)).toEqual(['draft']);
      });
    });
  });
}

function counted<T>(value: T | Promise<T>): { run: () => Promise<T>; runs: () => number } {
  let runs = 0;
  const run = async (): Promise<T> => {
    runs++;
    return value;
  };
  return { run, runs: () => runs };
}
