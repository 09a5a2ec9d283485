import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { boundedDiff } from './bounded-diff.ts';

/** What git prints for a repository that had the first files and has the second ones. */
function gitDiff(before: Record<string, string>, after: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'agentos-diff-'));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'core.quotepath=true', '-c', 'init.defaultBranch=main', ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
  const write = (files: Record<string, string>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  };
  git('init', '-q');
  write(before);
  git('add', '-A');
  const tree = git('write-tree').trim();
  for (const path of Object.keys(before)) if (!(path in after)) rmSync(join(folder, path));
  write(after);
  git('add', '-A');
  const diff = git('diff', '--cached', tree);
  rmSync(folder, { recursive: true });
  return diff;
}

const lines = (word: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join('');

test('a diff that fits is shown as it is, an empty one in words', () => {
  const diff = gitDiff({ a: 'one\n' }, { a: 'two\n' });
  expect(boundedDiff(diff, 10_000)).toBe(diff);
  expect(boundedDiff('\n', 10_000)).toBe('Nothing was changed.');
});

test('files that do not fit are named, and later ones that fit are shown', () => {
  const diff = gitDiff(
    { 'gone away.txt': lines('gone', 900), 'bin.dat': 'a\0b' },
    {
      'bin.dat': 'a\0c',
      'lock.json': lines('lock', 3_000),
      'süß.txt': lines('sweet', 900),
      'z.ts': 'export const z = 1;\n+++ b/not-a-path\ndiff --git in the text\n',
    },
  );
  const shown = boundedDiff(diff, 1_500);
  expect(shown.length).toBeLessThan(2_000);
  expect(shown).toContain('+export const z = 1;');
  expect(shown).toContain('Binary files a/bin.dat and b/bin.dat differ');
  expect(shown).not.toContain('+lock 1');
  expect(shown).toContain('Left out: gone away.txt, lock.json, s\\303\\274\\303\\237.txt.');
});

test('a single file that is too long is shown as far as there is room, in whole lines', () => {
  const shown = boundedDiff(gitDiff({}, { 'long.txt': lines('word', 2_000), 'other.txt': lines('x', 2_000) }), 5_000);
  expect(shown.length).toBeLessThan(5_300);
  expect(shown).toMatch(/\+word \d+\n\[the rest of long\.txt is left out\]/);
  expect(shown).toContain('Shown in part: long.txt. Left out: other.txt.');
});
