import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { testItem } from '../../test/support/test-item.ts';
import { testJournal } from '../../test/support/test-journal.ts';
import type { ItemEvent } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import { type Paths, pathsOf, type WorkflowName } from '../core/paths.ts';
import { type Decision, type DecisionKind, decisionOf } from '../documents/decision.ts';
import { readFrontMatter } from '../documents/header.ts';
import { createGit } from '../git/git.ts';
import { createDecider, type Decider, type OpenPoint } from './decide.ts';
import { closedItems, createLineage } from './lineage.ts';

const ID = parseItemId('42');
const ITEM = { id: ID, title: 'Add a number', hash: 'a'.repeat(64) };
const POINT: OpenPoint = {
  reason: 'the reviewer asks: Who pays?',
  text: '+one\n',
  obstacle: null,
  openQuestions: [],
};

interface Place {
  paths: Paths;
  /** What is in the item's lineage. */
  versions: () => Promise<string[]>;
  /** One run of the item: its journal is opened, and closed again. */
  run: <T>(work: (decider: Decider, events: ItemEvent[]) => Promise<T>, item?: typeof ITEM) => Promise<T>;
  settle: (step: string, decision: Decision) => Promise<boolean>;
}

async function place(): Promise<Place> {
  const root = await testFolder();
  const paths = pathsOf(root, join(root, '.agentos'));
  const file = paths.checkpoint('implement', ID);
  await mkdir(dirname(file), { recursive: true });
  const opened = async <T>(work: (journal: ReturnType<typeof testJournal>) => Promise<T>): Promise<T> => {
    const journal = testJournal(file);
    try {
      return await work(journal);
    } finally {
      journal.close();
    }
  };
  return {
    paths,
    versions: async () => (await readdir(paths.lineage(ID))).sort(),
    run: (work, item = ITEM) =>
      opened((journal) => {
        const events: ItemEvent[] = [];
        const folder = paths.lineage(ID);
        const emit = (event: ItemEvent): void => void events.push(event);
        const context = testItem({ workflow: 'implement', ...item, journal, paths, emit });
        return work(createDecider(context, { folder, canRevise: true }), events);
      }),
    settle: async (step, decision) => {
      const journal = testJournal(file);
      const taken = await journal.settle(step, decision);
      journal.close();
      return taken;
    },
  };
}

function decision(kind: DecisionKind): Decision {
  const facts = { by: 'Ada', at: '2026-01-02T03:04:05.000Z', reason: 'Enough.', change: null };
  return decisionOf({ kind, ...facts, id: '42', title: ITEM.title, asked: POINT.reason });
}

test('a question stays open over runs, leaves the lineage alone, and is answered by what it was settled with', async () => {
  const at = await place();
  await mkdir(at.paths.lineage(ID), { recursive: true });
  await writeFile(join(at.paths.lineage(ID), '006-final.md'), 'of the design\n');
  expect(await at.run(({ ask }) => ask(POINT))).toBeNull();
  expect(await at.run(({ ask }) => ask(POINT))).toBeNull();
  expect(await at.versions()).toEqual(['006-final.md']);

  expect(await at.settle('decision-1', decision('approve'))).toBe(true);
  const events = await at.run(async ({ ask }, seen) => {
    expect(await ask(POINT)).toEqual(decision('approve'));
    return seen;
  });
  expect(events).toContainEqual({ type: 'notice', text: 'approved by Ada: Enough.' });
  expect(await at.versions()).toEqual(['006-final.md', '007-verdict.md']);
  expect(await readFile(join(at.paths.lineage(ID), '007-verdict.md'), 'utf8')).toBe(decision('approve').document);
});

test('another text, another reason or another input is another question, which an old answer does not answer', async () => {
  const at = await place();
  await at.run(({ ask }) => ask(POINT));
  await at.settle('decision-1', decision('approve'));
  expect(await at.run(({ ask }) => ask({ ...POINT, text: '+two\n' }))).toBeNull();
  expect(await at.run(({ ask }) => ask({ ...POINT, reason: 'another' }))).toBeNull();
  expect(await at.run(({ ask }) => ask(POINT), { ...ITEM, hash: 'b'.repeat(64) })).toBeNull();
  expect(await at.run(({ ask }) => ask(POINT))).toEqual(decision('approve'));
});

test('what a person has answered is known before it is asked again, for that text and input only', async () => {
  const at = await place();
  const before = (text = POINT.text, item = ITEM): Promise<string | null> =>
    at.run(({ decidedBefore }) => Promise.resolve(decidedBefore(text)), item);
  expect(await before()).toBeNull();
  await at.run(({ ask }) => ask(POINT));
  expect(await before()).toBeNull();
  await at.settle('decision-1', decision('approve'));
  expect(await before()).toBe(POINT.reason);
  expect([await before('+two\n'), await before(POINT.text, { ...ITEM, hash: 'b'.repeat(64) })]).toEqual([null, null]);
  const after = await at.run(async ({ ask, decidedBefore }) => [await ask(POINT), decidedBefore(POINT.text)]);
  expect(after).toEqual([decision('approve'), null]);
});

test('the second question of an item is a step of its own', async () => {
  const at = await place();
  await at.run(({ ask }) => ask(POINT));
  await at.settle('decision-1', decision('revise'));
  const twice = async ({ ask }: Decider): Promise<(string | null)[]> => {
    const first = await ask(POINT);
    const second = await ask({ ...POINT, text: '+two\n' });
    return [first?.kind ?? null, second?.kind ?? null];
  };
  expect(await at.run(twice)).toEqual(['revise', null]);
  expect(await at.settle('decision-2', decision('approve'))).toBe(true);
  expect(await at.run(twice)).toEqual(['revise', 'approve']);
  expect(await at.versions()).toEqual(['001-verdict.md', '002-verdict.md']);
});

test('where the workflow numbers its versions, the decision takes the next number', async () => {
  const at = await place();
  const file = at.paths.checkpoint('lld', ID);
  const folder = at.paths.lineage(ID);
  const run = async (): Promise<Decision | null> => {
    const journal = testJournal(file);
    const item = testItem({ workflow: 'lld', ...ITEM, journal, paths: at.paths });
    const lineage = createLineage(item, folder, 1);
    await lineage.add('issue', 'i');
    await lineage.add('draft', 'd');
    const found = await createDecider(item, { folder, lineage, canRevise: true }).ask(POINT);
    if (found !== null) await lineage.add('draft', 'next');
    journal.close();
    return found;
  };
  expect(await run()).toBeNull();
  const journal = testJournal(file);
  await journal.settle('decision-1', decision('revise'));
  journal.close();
  expect(await run()).toEqual(decision('revise'));
  expect(await at.versions()).toEqual(['001-issue.md', '002-draft.md', '003-verdict.md', '004-draft.md']);
});

test('a dropped item is dropped for its text, however often that is recorded, and until something later is said', async () => {
  const at = await place();
  const closed = async (workflow: WorkflowName, hash: string) =>
    (await closedItems({ paths: at.paths, git: createGit(at.paths.repository, {}) }, workflow))({
      id: ID,
      hash,
      rawHash: '',
    });
  const isDropped = async (hash: string): Promise<boolean> => (await closed('implement', hash))?.state === 'dropped';
  expect(await isDropped(ITEM.hash)).toBe(false);
  await at.run(({ ask }) => ask(POINT));
  await at.settle('decision-1', decision('drop'));
  for (let time = 0; time < 2; time++) {
    const end = await at.run(async (decider) => decider.drop((await decider.ask(POINT)) ?? decision('approve')));
    expect(end).toEqual({ status: 'skipped', reason: 'dropped by Ada: Enough.', outputs: [at.paths.lineage(ID)] });
  }
  expect(await at.versions()).toEqual(['001-verdict.md', '002-final.md']);
  expect(readFrontMatter(await readFile(join(at.paths.lineage(ID), '002-final.md'), 'utf8')).fields).toEqual({
    issue: 42,
    workflow: 'implement',
    status: 'dropped',
    by: 'Ada',
    at: '2026-01-02T03:04:05.000Z',
    reason: 'Enough.',
    lldHash: ITEM.hash,
  });
  expect(await isDropped(ITEM.hash)).toBe(true);
  expect(await isDropped('b'.repeat(64))).toBe(false);
  // The design is another matter, and so is what was said of it since.
  expect(await closed('lld', ITEM.hash)).toBeNull();
  await writeFile(join(at.paths.lineage(ID), '010-final.md'), '---\nstatus: approved\n---\n\n# LLD\n');
  expect(await isDropped(ITEM.hash)).toBe(true);
});

test('a design that was approved after it was dropped is not dropped any more', async () => {
  const at = await place();
  const folder = at.paths.lineage(ID);
  const record = (hash: string): string => `---\nworkflow: lld\nstatus: dropped\nissueHash: ${hash}\n---\n\n# 42\n`;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '003-final.md'), record('one'));
  const isDropped = async (hash: string): Promise<boolean> => {
    const closed = await closedItems({ paths: at.paths, git: createGit(at.paths.repository, {}) }, 'lld');
    return (await closed({ id: ID, hash: '', rawHash: hash }))?.state === 'dropped';
  };
  expect(await isDropped('one')).toBe(true);
  await writeFile(join(folder, '1000-final.md'), '---\nstatus: approved\n---\n\n# LLD\n');
  expect(await isDropped('one')).toBe(false);
  await writeFile(join(folder, '1001-final.md'), record('two'));
  expect([await isDropped('one'), await isDropped('two')]).toEqual([false, true]);
});
