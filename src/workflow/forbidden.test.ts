import { expect, test } from 'vitest';
import { isProtected } from './forbidden.ts';

test.each([
  '.github/workflows/ci.yml',
  '.GitHub/Workflows/CI.yml',
  '.github/actions/x/action.yml',
  '.gitlab-ci.yml',
  'agentos.yaml',
  'AGENTOS.YAML',
  'agentos/prompts/drafter.md',
  '.gitmodules',
  'packages/a/.npmrc',
  '.yarn/releases/yarn-4.cjs',
  'native/binding.gyp',
  '.husky/pre-commit',
  '.pre-commit-config.yaml',
  '.envrc',
  '.claude/settings.json',
  'packages/a/.mcp.json',
  'AGENTS.md',
  '.cargo/config.toml',
  'app/gradle/wrapper/gradle-wrapper.properties',
  'packages/a/package.json5',
  '.github/instructions/x.instructions.md',
])('%s is for a person', (path) => expect(isProtected(path)).toBe(true));

test.each([
  '.github/ISSUE_TEMPLATE.md',
  'src/agentos.yaml',
  'src/workflows/ci.yml',
  'docs/agents.txt',
  'src/setup.pyc',
  'package.json',
  'build.gradle',
])('%s is like any other file', (path) => expect(isProtected(path)).toBe(false));

test('a link in the place of a folder that holds such files is for a person, too', () => {
  for (const path of ['.github', '.github/workflows', '.Claude', 'agentos/prompts', 'packages/a/.husky']) {
    expect(isProtected(path, true), path).toBe(true);
    expect(isProtected(path), path).toBe(false);
  }
  expect(isProtected('src', true)).toBe(false);
});
