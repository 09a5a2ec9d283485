import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { parseItemId } from '../core/ids.ts';
import { createBriefSource } from './directory.ts';

test('a brief is a text with a title and a hash, as an issue is', async () => {
  const folder = await testFolder();
  await writeFile(join(folder, 'dark-mode.md'), 'A dark theme\n\nPeople work at night.\n');
  const source = createBriefSource(folder);
  expect(await source.ids()).toEqual(['dark-mode']);
  expect(await source.read(parseItemId('dark-mode'))).toMatchObject({ title: 'A dark theme' });
});

test('what goes wrong is said of a brief', async () => {
  const folder = join(await testFolder(), 'briefs');
  const source = createBriefSource(folder);
  await expect(source.ids()).rejects.toMatchObject({ problem: { code: 'briefs-missing', directory: folder } });
  await mkdir(folder);
  await writeFile(join(folder, 'dark-mode.md'), ' \n');
  await expect(source.read(parseItemId('dark-mod'))).rejects.toMatchObject({
    problem: { code: 'brief-missing', id: 'dark-mod', near: ['dark-mode'] },
  });
  await expect(source.read(parseItemId('dark-mode'))).rejects.toMatchObject({
    problem: { code: 'brief-unreadable', reason: 'is empty' },
  });
});
