import type { RunnerName } from './port.ts';

const BY_NAME: readonly (readonly [pattern: RegExp, runner: RunnerName])[] = [
  [/(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/, 'pytest'],
  [/_test\.go$/, 'go'],
  [/(?:^|\/)tests\/[^/]+\.rs$/, 'cargo'],
  [/\.(?:test|spec)\.[cm]?[jt]s$|(?:^|\/)tests?\/.*\.[cm]?[jt]s$/, 'node'],
];

/** Which runner test files with these names are for, where nothing else in a repository tells; null: none is known. */
export function runnerOfFiles(paths: readonly string[]): RunnerName | null {
  return BY_NAME.find(([pattern]) => paths.some((path) => pattern.test(path)))?.[1] ?? null;
}
