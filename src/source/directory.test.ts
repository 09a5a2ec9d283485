import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { AgentosError } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { oneLine } from '../core/lines.ts';
import { parseMarkdown, plainText } from '../markdown/markdown.ts';
import {
  createBriefSource,
  createDirectorySource,
  parseIssue,
  readApprovedLlds,
  readKnownIssues,
} from './directory.ts';
import type { IssueSource } from './port.ts';

async function folderOf(files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = join(await testFolder(), 'documents');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

async function sourceOf(files: Record<string, string | Uint8Array>): Promise<{ source: IssueSource; folder: string }> {
  const folder = await folderOf(files);
  return { source: createDirectorySource(folder), folder };
}

async function problemOf(source: IssueSource, id: string): Promise<unknown> {
  return source.read(parseItemId(id)).then(
    () => null,
    (error: unknown) => (error instanceof AgentosError ? error.problem : error),
  );
}

const titles: [name: string, text: string, title: string][] = [
  ['front matter', '---\ntitle: From the front\nlabels: [a, 1, b]\n---\n# A heading\n', 'From the front'],
  ['first heading', '# A *marked* `heading`\n\nText.\n', 'A marked heading'],
  ['underlined heading', 'A heading\n=========\n\nText.\n', 'A heading'],
  ['first line', 'Just a line\nand another.\n\n# Later\n', 'Just a line'],
  ['id when nothing has words', '---\nlabels: []\n---\n\n***\n', 'Issue 42'],
  ['id when the front matter’s title is blank and nothing follows', '---\ntitle: " "\n---\n', 'Issue 42'],
  ['first heading when the front matter’s title is no text', '---\ntitle: [1]\n---\n# Heading\n', 'Heading'],
  ['at most 200 characters', `# ${'x'.repeat(300)}\n`, 'x'.repeat(200)],
];

const CHARACTERS = "aZ09éß ,.:;'()/?+-#*_`[]<&!~|\\".split('');

test('a heading without markup has the title that the parser reads, as one line', () => {
  const words = fc.string({ unit: fc.constantFrom(...CHARACTERS), minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(words, fc.constantFrom('', '\n', '\nText\n===\n', '\n\nText\n'), (heading, rest) => {
      const text = `# ${heading}${rest}`;
      const first = parseMarkdown(text).children[0];
      const expected = first?.type === 'heading' ? plainText(first) : '';
      fc.pre(expected !== '');
      expect(parseIssue(parseItemId('42'), text).title).toBe(oneLine(expected));
    }),
  );
});

test.each(titles)('the title is the %s', (_name, text, title) => {
  expect(parseIssue(parseItemId('42'), text).title).toBe(title);
});

test('labels that are text are kept, and the body has no front matter', () => {
  const issue = parseIssue(parseItemId('42'), '---\ntitle: T\nlabels: [a, 1, b]\n---\n\n# H\n\nBody.\n');
  expect(issue.labels).toEqual(['a', 'b']);
  expect(issue.body).toBe('# H\n\nBody.');
});

test('CRLF, a byte-order mark and blank lines at the end change neither text nor hash', () => {
  const plain = parseIssue(parseItemId('42'), '---\ntitle: T\n---\n# H\n\nBody.\n');
  const windows = parseIssue(parseItemId('42'), '\uFEFF---\r\ntitle: T\r\n---\r\n# H\r\n\r\nBody.\r\n\r\n');
  expect(windows).toMatchObject({ title: 'T', body: plain.body, hash: plain.hash });
  expect(parseIssue(parseItemId('42'), '# H\n\nOther body.\n').hash).not.toBe(plain.hash);
});

test('white space, letter case and front matter say nothing else; a word, or a title in the front matter, does', () => {
  const hashOf = (text: string): string => parseIssue(parseItemId('42'), text).hash;
  const plain = hashOf('# H\n\n- One thing.\n- Another.\n');
  expect(hashOf('---\nlabels: [x]\n---\n#  h\n\n-   ONE\tthing.\n\n- Another.')).toBe(plain);
  expect(hashOf('# H\n\n- One thing.\n- An other.\n')).not.toBe(plain);
  expect(hashOf('---\ntitle: T\n---\n# H\n\n- One thing.\n- Another.\n')).not.toBe(plain);
});

test('ids are the Markdown files whose names are ids, 2 before 10, without the README', async () => {
  const { source, folder } = await sourceOf({
    '10.md': 'x',
    '2.md': 'x',
    'b-1.md': 'x',
    'README.md': 'x',
    'readme.md': 'x',
    'notes.txt': 'x',
    'a b.md': 'x',
    'ü.md': 'x',
    [`${'x'.repeat(65)}.md`]: 'x',
    '.hidden.md': 'x',
  });
  await mkdir(join(folder, 'folder'));
  expect(await source.ids()).toEqual(['2', '10', 'b-1']);
});

test('a folder that is not there is named', async () => {
  const directory = join(await testFolder(), 'issues');
  await expect(createDirectorySource(directory).ids()).rejects.toMatchObject({
    problem: { code: 'source-missing', directory },
  });
});

test('an issue that is not there is refused with those that were probably meant', async () => {
  const { source, folder } = await sourceOf({ '137.md': 'x', '42.md': 'x' });
  const path = join(folder, '138.md');
  expect(await problemOf(source, '138')).toEqual({ code: 'issue-missing', id: '138', path, near: ['137'] });
});

test('an issue is missing, not broken, when there is no folder at all', async () => {
  const source = createDirectorySource(join(await testFolder(), 'issues'));
  expect(await problemOf(source, '1')).toMatchObject({ code: 'issue-missing', near: [] });
});

const unreadable: [what: string, content: string | Uint8Array, reason: string][] = [
  ['empty', '', 'is empty'],
  ['blank', ' \n\t\r\n', 'is empty'],
  ['not UTF-8', Uint8Array.of(0x23, 0x20, 0xe9, 0x0a), 'is not UTF-8 text'],
  ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x23, 0x00), 'is not UTF-8 text'],
  ['binary', Uint8Array.of(0x23, 0x00, 0x41), 'is not UTF-8 text'],
  ['huge', 'x'.repeat(1_000_001), 'is larger than 1 MB'],
];

test.each(unreadable)('an issue that is %s is refused with the reason', async (_what, content, reason) => {
  const { source, folder } = await sourceOf({ '7.md': content });
  expect(await problemOf(source, '7')).toEqual({
    code: 'issue-unreadable',
    id: '7',
    path: join(folder, '7.md'),
    reason,
  });
});

test('a folder in the place of an issue is refused', async () => {
  const { source, folder } = await sourceOf({});
  await mkdir(join(folder, '7.md'));
  expect(await problemOf(source, '7')).toMatchObject({ code: 'issue-unreadable', reason: 'is a folder' });
});

test('a link is followed inside the folder and refused when it leaves it', async () => {
  const { source, folder } = await sourceOf({ '1.md': '# One\n' });
  await writeFile(join(folder, '..', 'secret.md'), '# Secret\n');
  await symlink('1.md', join(folder, '2.md'));
  await symlink('../secret.md', join(folder, '3.md'));
  await symlink('4.md', join(folder, '4.md'));
  expect((await source.read(parseItemId('2'))).title).toBe('One');
  expect(await problemOf(source, '3')).toMatchObject({
    code: 'issue-unreadable',
    reason: 'is a link that leaves the folder',
  });
  expect(await problemOf(source, '4')).toMatchObject({ code: 'issue-unreadable', reason: 'ELOOP' });
});

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
