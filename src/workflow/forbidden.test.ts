import { expect, test } from 'vitest';
import { filesNamed, isProtected, namesFile } from './forbidden.ts';

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

test.each([
  ['src/a.js', 'In src/a.js:12 the bound is wrong.', true],
  ['src/a.js', 'See `./src/a.js`.', true],
  ['src/a.js', '(src/a.js)', true],
  ['src/a.js', 'lib/src/a.js is wrong', false],
  ['src/a.js', 'src/a.js.map and src/a.json', false],
  ['a.js', 'src/a.js', false],
  ['docs/two words.md', 'docs/two words.md is outdated', true],
  ['run', 'run the tests again', false],
  ['run', 'the script `run` fails', true],
])('%s in "%s": %s', (path, text, expected) => {
  expect(namesFile(text, path)).toBe(expected);
});

const among = {
  paths: ['src/main.js', 'src/item.js', 'src/x/index.js', 'src/y/index.js', 'lib/other.js'],
  changed: ['src/item.js', 'src/x/index.js', 'src/y/index.js'],
};

test.each([
  ['a path, changed before or not', ['src/main.js forgets it, and src/item.js too'], ['src/item.js', 'src/main.js']],
  ['a name that only one changed file has', ['`item.js` throws'], ['src/item.js']],
  ['a name that two have: all that was changed', ['index.js throws'], among.changed],
  ['a name of a file that was not changed: all that was', ['other.js throws'], among.changed],
  ['no file in one of two findings', ['src/main.js throws', 'Nothing is logged.'], [...among.changed, 'src/main.js']],
  ['no finding at all', [], among.changed],
])('%s', (_, findings, expected) => {
  expect(filesNamed({ findings, suggestions: [] }, among)).toEqual([...expected].sort());
});

test('a suggestion may be followed in the file that it names, and opens no other', () => {
  const findings = ['src/main.js throws'];
  const suggestions = ['Simplify item.js.', 'Write more comments.'];
  expect(filesNamed({ findings, suggestions }, among)).toEqual(['src/item.js', 'src/main.js']);
});
