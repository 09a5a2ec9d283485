import { matchesGlob } from 'node:path';
import type { RunnerName } from './port.ts';

/*
 * The naming rules of test files: by language for the runners, and for everything that belongs to the tests.
 */

/** Files that the runners of a language treat as tests by default; other files next to them are fixtures and support. */
const TESTS = {
  javascript: [
    /(?:^|\/)(?:[^/]*[._-](?:test|spec)(?:-d)?|test|[^/]*Spec)\.[cm]?[jt]sx?$/,
    // Not in a source folder, where `test-x.js` may be product code.
    /^(?!(?:.*\/)?(?:src|source|lib|app)\/)(?:.*\/)?test-[^/]*\.[cm]?[jt]sx?$/,
    /(?:^|\/)__tests__\/(?!(?:.*\/)?(?:__mocks__|__fixtures__|fixtures)\/)(?:.*\/)?[^/]+\.[cm]?[jt]sx?$/,
  ],
  python: [/(?:^|\/)(?:test_[^/]*|[^/]*_test|tests?)\.py$/],
  go: [/^(?!(?:.*\/)?testdata\/).*_test\.go$/],
  /** Integration tests only: unit tests are inside source files. */
  rust: [/(?:^|\/)tests\/[^/]+(?:\.rs|\/main\.rs)$/],
  ruby: [/(?:^|\/)(?:tests?|test_[^/]*|spec_(?!helper\.)[^/]*|[^/]*_(?:test|spec))\.rb$/],
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

/** Many JavaScript runners treat every file in a test folder as a test, whatever its name. */
export function isInTestFolder(path: string): boolean {
  return IN_TEST_FOLDER.test(path) && !SUPPORT.test(path) && !HELPER.test(path) && !/[._]d\.[cm]?ts$/.test(path);
}

/** Whether a runner accepts this file as an argument; fixtures and helpers are not accepted. */
export function isRunnableTest(path: string): boolean {
  return (
    isInTestFolder(path) || Object.values(TESTS).some((patterns) => patterns.some((pattern) => pattern.test(path)))
  );
}

/** Guesses the runner from the names of test files alone, for a repository without any other sign. */
export function runnerOfFiles(paths: readonly string[]): RunnerName | null {
  if (paths.some((path) => isTestOf('python', path))) return 'pytest';
  if (paths.some((path) => isTestOf('go', path))) return 'go';
  if (paths.some((path) => isTestOf('rust', path))) return 'cargo';
  return paths.some(isTestOfNode) ? 'node' : null;
}

/** Node's runner also accepts every file in a `test` folder, but no JSX. */
function isTestOfNode(path: string): boolean {
  return /\.[cm]?[jt]s$/.test(path) && (isTestOf('javascript', path) || /(?:^|\/)tests?\//.test(path));
}

/** Folders whose whole content belongs to the tests. Exact names only: `src/testing/` may be product code. */
const FOLDERS = new Set('__tests__ __mocks__ __snapshots__ __fixtures__ test tests spec testdata'.split(' '));
/** A .NET test project next to the tested one: `Shop.Tests/`. */
const TEST_PROJECT = /\.(?:Unit|Integration)?Tests?$/;
/** In addition to `TESTS`. */
const NAMES = [/\.(test|spec)(-d)?\.[\w.]+$/, /\.snap$/, /_test\.rs$/, /Spec\.php$/, /^conftest\.py$/];

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt|groovy|cs|fs|swift|scala|sh|bats)$/;
const SUPPORT = /(?:^|\/)(?:__mocks__|__snapshots__|__fixtures__|fixtures?|testdata)\//;

/** Whether a file that belongs to the tests may contain tests itself, unlike fixtures. */
export function mayHoldTests(path: string): boolean {
  return CODE.test(path) && !SUPPORT.test(path);
}

/** Whether a path, relative to the worktree, is a test or a file that only tests use. */
export function createIsTestFile(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.map((pattern) => pattern.replace(/^\.\//, '').replace(/\/$/, '/**'));
  return (path) => {
    const parts = path.replace(/^\.\//, '').split('/');
    const name = parts.at(-1) ?? '';
    if (parts.slice(0, -1).some((part) => FOLDERS.has(part) || TEST_PROJECT.test(part))) return true;
    if (NAMES.some((pattern) => pattern.test(name)) || isRunnableTest(parts.join('/'))) return true;
    return globs.some((glob) => matchesGlob(parts.join('/'), glob));
  };
}
