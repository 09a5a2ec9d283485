import { matchesGlob } from 'node:path';
import type { RunnerName } from './port.ts';

/*
 * The one place that knows what test files are called: by language for the runners, and for all that belongs to the tests.
 */

/** Files that the runners of a language take for tests by default; others beside them are fixtures and support. */
const TESTS = {
  javascript: [
    /(?:^|\/)(?:[^/]*[._-](?:test|spec)(?:-d)?|test|[^/]*Spec)\.[cm]?[jt]sx?$/,
    // Among the sources it may well be a product.
    /^(?!(?:.*\/)?(?:src|source|lib|app)\/)(?:.*\/)?test-[^/]*\.[cm]?[jt]sx?$/,
    /(?:^|\/)__tests__\/(?!(?:.*\/)?(?:__mocks__|__fixtures__|fixtures)\/)(?:.*\/)?[^/]+\.[cm]?[jt]sx?$/,
  ],
  python: [/(?:^|\/)(?:test_[^/]*|[^/]*_test|tests?)\.py$/],
  go: [/^(?!(?:.*\/)?testdata\/).*_test\.go$/],
  /** Integration tests: those inside the library have no file of their own. */
  rust: [/(?:^|\/)tests\/[^/]+(?:\.rs|\/main\.rs)$/],
  ruby: [/(?:^|\/)(?:test_[^/]*|[^/]*_(?:test|spec))\.rb$/],
  php: [/(?:^|\/)[^/]*Test\.php$/],
  jvm: [
    /^(?!(?:.*\/)?src\/main\/)(?:.*\/)?(?:Test[A-Z][^/]*|[^/]*(?:Tests?|TestCase|Spec|IT))\.(?:java|kt|groovy|scala)$/,
  ],
  dotnet: [/(?:^|\/)[^/]*(?:Tests?|Specs?|Facts)\.(?:cs|fs|vb)$/],
} as const;

export type Language = keyof typeof TESTS;

export function isTestOf(language: Language, path: string): boolean {
  return TESTS[language].some((pattern) => pattern.test(path));
}

const IN_TEST_FOLDER = /(?:^|\/)(?:tests?|spec)\/(?:.*\/)?[^/]+\.[cm]?[jt]sx?$/;
const HELPER = /(?:^|\/)(?:helpers?|support|utils?|lib|mocks?|stubs?|data|assets|types)(?:\/|\.[cm]?[jt]sx?$)/;

/** In a folder of tests, many runners of JavaScript take every file for a test, whatever its name. */
export function isInTestFolder(path: string): boolean {
  return IN_TEST_FOLDER.test(path) && !SUPPORT.test(path) && !HELPER.test(path) && !/[._]d\.[cm]?ts$/.test(path);
}

/** Whether a runner can be given this file by name: a fixture or a helper can't. */
export function isRunnableTest(path: string): boolean {
  return (
    isInTestFolder(path) || Object.values(TESTS).some((patterns) => patterns.some((pattern) => pattern.test(path)))
  );
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
/** A project of tests beside the one that they test: `Shop.Tests/`. */
const TEST_PROJECT = /\.(?:Unit|Integration)?Tests?$/;
/** Besides those that a runner takes for tests. */
const NAMES = [/\.(test|spec)(-d)?\.[\w.]+$/, /\.snap$/, /_test\.rs$/, /Spec\.php$/, /^conftest\.py$/];

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt|groovy|cs|fs|swift|scala|sh|bats)$/;
const SUPPORT = /(?:^|\/)(?:__mocks__|__snapshots__|__fixtures__|fixtures?|testdata)\//;

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
    if (parts.slice(0, -1).some((part) => FOLDERS.has(part) || TEST_PROJECT.test(part))) return true;
    if (NAMES.some((pattern) => pattern.test(name)) || isRunnableTest(parts.join('/'))) return true;
    return globs.some((glob) => matchesGlob(parts.join('/'), glob));
  };
}
