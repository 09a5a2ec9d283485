import { matchesGlob } from 'node:path';
import type { RunnerName } from './port.ts';

/*
 * The one place that knows what test files are called: by language for the runners, and for all that belongs to the tests.
 */

/** Files that the runners of a language take for tests by default; others beside them are fixtures and support. */
const TESTS = {
  javascript: [
    /(?:^|\/)(?:[^/]*[._-](?:test|spec)|test|test-[^/]*)\.[cm]?[jt]sx?$/,
    /(?:^|\/)__tests__\/(?!(?:.*\/)?(?:__mocks__|__fixtures__|fixtures)\/)(?:.*\/)?[^/]+\.[cm]?[jt]sx?$/,
  ],
  python: [/(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/],
  go: [/^(?!(?:.*\/)?testdata\/).*_test\.go$/],
  /** Integration tests: those inside the library have no file of their own. */
  rust: [/(?:^|\/)tests\/[^/]+(?:\.rs|\/main\.rs)$/],
} as const;

type Language = keyof typeof TESTS;

export function isTestOf(language: Language, path: string): boolean {
  return TESTS[language].some((pattern) => pattern.test(path));
}

/** Whether a runner can be given this file by name: a fixture or a helper can't. */
export function isRunnableTest(path: string): boolean {
  return Object.values(TESTS).some((patterns) => patterns.some((pattern) => pattern.test(path)));
}

/** Which runner test files with these names are for, where nothing else in a repository tells; null: none is known. */
export function runnerOfFiles(paths: readonly string[]): RunnerName | null {
  if (paths.some((path) => isTestOf('python', path))) return 'pytest';
  if (paths.some((path) => isTestOf('go', path))) return 'go';
  if (paths.some((path) => isTestOf('rust', path))) return 'cargo';
  return paths.some(isTestOfNode) ? 'node' : null;
}

/** Node's own runner takes every file of a folder of that name too, and no JSX. */
function isTestOfNode(path: string): boolean {
  return /\.[cm]?[jt]s$/.test(path) && (isTestOf('javascript', path) || /(?:^|\/)tests?\//.test(path));
}

/** Folders whose whole content belongs to the tests. Only the exact names: `src/testing/` may well be a product. */
const FOLDERS = new Set('__tests__ __mocks__ __snapshots__ __fixtures__ test tests spec testdata'.split(' '));
const NAMES = [
  /[._-](test|spec)\.[cm]?[jt]sx?$/,
  /\.(test|spec)\.[\w.]+$/,
  /\.snap$/,
  /^test_[^/]*\.py$/,
  /_test\.(py|go|rs)$/,
  /^conftest\.py$/,
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
