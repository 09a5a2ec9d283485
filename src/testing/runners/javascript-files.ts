/** Names of files that JavaScript's runners take for tests by default; others beside them are fixtures and support. */
const TEST_NAME = /(?:^|\/)(?:[^/]*[._-](?:test|spec)|test|test-[^/]*)\.[cm]?[jt]sx?$/;
const TESTS_FOLDER = /(?:^|\/)__tests__\/(?:.*\/)?[^/]+\.[cm]?[jt]sx?$/;

export function isJavaScriptTest(path: string): boolean {
  return TEST_NAME.test(path) || (TESTS_FOLDER.test(path) && !/\/(?:__mocks__|__fixtures__|fixtures)\//.test(path));
}
