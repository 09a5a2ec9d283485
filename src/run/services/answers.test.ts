import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { systemClock } from '../../core/clock.ts';
import { parseItemId } from '../../core/ids.ts';
import { pathsOf } from '../../core/paths.ts';
import { openSqliteJournal } from '../../journal/sqlite.ts';
import type { Project } from '../project.ts';
import { takeAnswers } from './answers.ts';

test('the answers to all waiting items are read, however many wait', async () => {
  const folder = await testFolder();
  const paths = pathsOf(folder, join(folder, '.agentos'));
  await mkdir(paths.checkpoints, { recursive: true });
  for (let number = 1; number <= 101; number++) {
    const id = parseItemId(String(number));
    const journal = openSqliteJournal(paths.checkpoint('lld', id), { clock: systemClock });
    const asked = { id, title: 'A', input: '', about: '', reason: '', obstacle: null, openQuestions: [] };
    const question = { ...asked, canRevise: true, folder: 'docs', number: 1 };
    await journal.step({ name: 'question-1', inputs: null }, async () => question);
    const decision = journal.step({ name: 'decision-1', inputs: question }, () => Promise.reject(new Error('later')));
    await expect(decision).rejects.toThrow('later');
    journal.close();
  }
  const at = new Date(Date.now() + 60_000).toISOString();
  const command = { id: '1', by: 'mia', at, url: '', kind: 'approve', text: '' };
  const source = { read: async () => ({ facts: { commands: [command], ignoredCommands: 0 } }) };
  const config = { remote: { source: { host: 'github', path: null } } };
  const project = { paths, source, config } as unknown as Project;
  expect(await takeAnswers(project, 'all', true)).toHaveLength(101);
  expect(await takeAnswers(project, [parseItemId('7')], true)).toEqual(['7: /agentos approve by mia would be taken.']);
});
