import { matchesGlob } from 'node:path';

/** Folders whose whole content belongs to the tests. Only the exact names: `src/testing/` may well be a product. */
const FOLDERS = new Set([
  '__tests__',
  '__mocks__',
  '__snapshots__',
  '__fixtures__',
  'test',
  'tests',
  'spec',
  'testdata',
]);
const NAMES = [
  /[._-](test|spec)\.[cm]?[jt]sx?$/,
  /\.(test|spec)\.[\w.]+$/,
  /\.snap$/,
  /^test_[^/]*\.py$/,
  /_test\.py$/,
  /^conftest\.py$/,
  /_test\.go$/,
  /_test\.rs$/,
];

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt|cs|swift|scala|sh|bats)$/;
const SUPPORT = /(?:^|\/)(?:__mocks__|__snapshots__|__fixtures__|fixtures|testdata)\//;

/** Whether a file that belongs to the tests may hold some itself: what they only use does not. */
export function mayHoldTests(path: string): boolean {
  return CODE.test(path) && !SUPPORT.test(path);
}

/** Whether a path, relative to the worktree, is a test or belongs to the tests alone. */
export function createIsTestFile(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.map((pattern) => pattern.replace(/^\.\//, '').replace(/\/$/, '/**'));
  return (path) => {
    const parts = path.replaceAll('\\', '/').replace(/^\.\//, '').split('/');
    const name = parts.at(-1) ?? '';
    if (parts.slice(0, -1).some((part) => FOLDERS.has(part))) return true;
    if (NAMES.some((pattern) => pattern.test(name))) return true;
    return globs.some((glob) => matchesGlob(parts.join('/'), glob));
  };
}
