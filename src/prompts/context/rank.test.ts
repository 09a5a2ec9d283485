import { expect, test } from 'vitest';
import { factsOf } from './file-facts.ts';
import type { PastCommit } from './git-objects.ts';
import { queryOf } from './query.ts';
import { type IndexedFile, rankFiles, termValues, testsOf } from './rank.ts';

function filesOf(texts: Record<string, string>): IndexedFile[] {
  return Object.entries(texts).map(([path, text]) => ({ path, facts: factsOf(Buffer.from(text)) }));
}

const REPOSITORY = {
  'src/quota.ts': "import { clock } from './clock.ts';\nexport function waitForQuota() {}\n",
  'src/clock.ts': 'export const clock = Date;\n',
  'src/colours.ts': 'export const red = 1;\n',
  'src/quota.test.ts': "import { waitForQuota } from './quota.ts';\n",
  'package-lock.json': '"quota": "quota quota quota quota"',
  'CHANGELOG.md': '# Changes\n',
};
const commit = (message: string, ...paths: string[]): PastCommit => ({ hash: message, message, paths });

function order(text: string, history: PastCommit[] = [], named: string[] = []): string[] {
  const files = filesOf(REPOSITORY);
  const query = queryOf(text, '');
  return rankFiles(files, { query, values: termValues(files, query), named, history }).map(({ path }) => path);
}

test('the file that a text describes by its words comes first, then its test and what it imports; a lock file is last', () => {
  const [first, ...rest] = order('Waiting for quotas is too slow');
  expect(first).toBe('src/quota.ts');
  expect(rest.slice(0, 2)).toContain('src/quota.test.ts');
  expect(rest).toContain('src/clock.ts');
  expect(rest).not.toContain('src/colours.ts');
  expect(rest.indexOf('package-lock.json')).toBeGreaterThan(rest.indexOf('src/quota.test.ts'));
});

test('history finds what no word of the text names: files of similar commits, and files that change together', () => {
  const history = [
    commit('Palette: softer shades', 'src/colours.ts', 'CHANGELOG.md'),
    commit('Something else', 'src/clock.ts'),
  ];
  expect(order('Wrong shades in the palette', history).slice(0, 2).sort()).toEqual(['CHANGELOG.md', 'src/colours.ts']);
});

test('a file that is named comes before all others', () => {
  expect(order('Waiting for quotas', [], ['src/colours.ts'])[0]).toBe('src/colours.ts');
});

test('tests belong to a file by import, by name, or by changing with it', () => {
  const files = filesOf({
    ...REPOSITORY,
    'test/waiting.test.ts': "import { waitForQuota } from '../src/quota.ts';\n",
    'test/often.test.ts': '',
    'test/other.test.ts': '',
  });
  const together = [1, 2].map((at) => commit(`Change ${at}`, 'src/quota.ts', 'test/often.test.ts'));
  expect(testsOf(files, ['src/quota.ts'], together)).toEqual([
    'src/quota.test.ts',
    'test/waiting.test.ts',
    'test/often.test.ts',
  ]);
});

test('private keys and binary files are recognised by their content', () => {
  expect(factsOf(Buffer.from('x\n-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n')).kind).toBe('secret');
  expect(factsOf(Buffer.from([1, 0, 2])).kind).toBe('binary');
});
