import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { readApprovedLlds, readKnownIssues } from './known-work.ts';

async function folderOf(files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = join(await testFolder(), 'documents');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

test('issues have a title, their text without front matter, and the fields that say where they are from', async () => {
  const folder = await folderOf({
    '1.md': '\uFEFF---\r\nbrief: quota\r\nbriefHash: abc\r\n---\r\n\r\n# One\r\n\r\nText.\r\n',
    '2.md': 'Just a line\nand another.\n',
    '3.md': '---\ntitle: From the front\n---\n# A heading\n',
    '4.md': '---\nnot front matter\n\n---\n# Four\n',
  });
  const known = (await readKnownIssues(folder)).toSorted((a, b) => Number(a.id) - Number(b.id));
  expect(known.map(({ id, title }) => `${id} ${title}`)).toEqual([
    '1 One',
    '2 Just a line',
    '3 From the front',
    '4 not front matter',
  ]);
  expect(known[0]).toMatchObject({ kind: 'issue', header: { brief: 'quota', briefHash: 'abc' } });
  expect(known[0]?.text.trim()).toBe('# One\n\nText.');
});

test('what is no issue is passed over; one that can not be read, or leads out of the folder, is an error', async () => {
  const folder = await folderOf({ '1.md': '# One\n', 'README.md': '# Read me\n', 'notes.txt': 'x', 'a b.md': 'x' });
  expect((await readKnownIssues(folder)).map(({ id }) => id)).toEqual(['1']);
  await writeFile(join(folder, '..', 'secret.md'), '# Secret\n');
  await symlink('../secret.md', join(folder, '3.md'));
  await expect(readKnownIssues(folder)).rejects.toMatchObject({
    problem: { code: 'file-unreadable', path: join(folder, '3.md'), reason: 'is a link that leaves the folder' },
  });
});

test('only the beginning of a huge file is read', async () => {
  const folder = await folderOf({ '1.md': `# One\n\n${'word '.repeat(100_000)}` });
  const [first] = await readKnownIssues(folder);
  expect(first?.title).toBe('One');
  expect(first?.text.length).toBeLessThan(20_000);
});

test('of the LLDs only those that are approved, by the id of their issue', async () => {
  const folder = await folderOf({
    'LLD-7.md': '---\nissue: 7\nstatus: approved\n---\n\n# 7 - Feature: Export as CSV\n',
    'LLD-8.md': '---\nissue: 8\nstatus: draft\n---\n\n# 8 - Feature: Other\n',
    'LLD-9.md': '# 9 - Feature: By hand\n',
  });
  expect((await readApprovedLlds(folder)).map(({ id, title }) => `${id} ${title}`)).toEqual(['7 Export as CSV']);
});

test('a folder that is not there holds nothing', async () => {
  expect(await readKnownIssues(join(await testFolder(), 'issues'))).toEqual([]);
});
