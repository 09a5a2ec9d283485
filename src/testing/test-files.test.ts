import { expect, test } from 'vitest';
import { createIsTestFile } from './test-files.ts';

const isTestFile = createIsTestFile(['e2e/**/*.ts', 'checks/']);

test.each([
  'src/a.test.ts',
  'src/a.spec.tsx',
  'src/a-test.js',
  'src/__tests__/a.js',
  'test.js',
  'test-a.mjs',
  'src/test/java/org/x/ATest.java',
  'src/__mocks__/fs.js',
  'src/__snapshots__/a.test.ts.snap',
  'test/support/server.ts',
  'tests/data/input.json',
  'spec/models/user_spec.rb',
  'pkg/testdata/golden.txt',
  'test_a.py',
  'pkg/test_a.py',
  'pkg/a_test.py',
  'conftest.py',
  'pkg/conftest.py',
  'pkg/a_test.go',
  'tests/integration.rs',
  'crates/x/tests/common/mod.rs',
  'e2e/flows/login.ts',
  'checks/deep/a.txt',
])('%s belongs to the tests', (path) => {
  expect(isTestFile(path)).toBe(true);
});

test.each([
  'src/testing/port.ts',
  'src/test-utils/render.ts',
  'src/testing/test-files.ts',
  'src/main/java/org/x/TestPlan.java',
  'src/latest.ts',
  'src/contest.py',
  'src/attest_go.go',
  'src/spec.ts',
  'src/protest/a.ts',
  'pkg/testdata.go',
  'e2e/readme.md',
  'src/test.rs.md',
  'packages/vitest/src/index.ts',
])('%s does not', (path) => {
  expect(isTestFile(path)).toBe(false);
});
