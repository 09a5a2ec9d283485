import { expect, test } from 'vitest';
import { configJsonSchema } from './config-file.ts';
import { parseConfigFile } from './config-reader.ts';
import { AgentosError } from './errors.ts';

function problemOf(text: string): unknown {
  try {
    parseConfigFile(text, 'agentos.yaml');
  } catch (error) {
    if (error instanceof AgentosError) return error.problem;
    throw error;
  }
  return null;
}

test.each(['', '# nothing\n', 'models:\n', 'models:\nbounds:\n  # maxRounds: 3\n', '\uFEFF{}\r\n'])(
  '%j says nothing',
  (text) => {
    expect(parseConfigFile(text, 'agentos.yaml')).toEqual({});
  },
);

test('every setting is read', () => {
  const text = `
models: { drafter: "command:./draft.sh --fast", reviewer: offline }
bounds: { maxRounds: 5, maxRetries: 0, timeout: 30m, maxCostUsd: 1.5 }
keys: { anthropic: [A, B_2] }
endpoints: { openai-compatible: "http://127.0.0.1:11434/v1" }
prices: { "openai:x": { input: 0, output: 1.5, cacheRead: 0.1 } }
context: { maxTokens: 0, exclude: [vendor] }
passEnvironment: [NPM_TOKEN]
`;
  expect(parseConfigFile(text, 'agentos.yaml')).toMatchObject({
    models: { drafter: 'command:./draft.sh --fast' },
    bounds: { maxRetries: 0 },
    context: { maxTokens: 0 },
    passEnvironment: ['NPM_TOKEN'],
  });
});

const bad: [text: string, line: number, path: string, reason: string | RegExp][] = [
  ['models:\n  drafter: [\n', 3, '', /Flow sequence/],
  ['a: "\n', 2, '', /quote/i],
  ['bounds: {}\nbounds: {}\n', 2, '', /unique/],
  ['models: {}\n---\nbounds: {}\n', 2, '', 'a second document (---) begins here'],
  ['\nmodles:\n  drafter: x\n', 2, 'modles', 'is not a setting; did you mean models?'],
  ['bounds:\n\n  maxRound: 3\n', 3, 'bounds.maxRound', 'is not a setting; did you mean maxRounds?'],
  ['nonsense: 1\n', 1, 'nonsense', 'is not a setting'],
  ['nonsense:\n', 1, 'nonsense', 'is not a setting'],
  ['# a\r\nbounds:\r\n  maxRounds: three\r\n', 3, 'bounds.maxRounds', 'must be a number, not text'],
  ['bounds:\n  maxRounds: 2.5\n', 2, 'bounds.maxRounds', 'must be a whole number, not a fraction'],
  ['bounds:\n  maxRounds: 0\n', 2, 'bounds.maxRounds', 'must be at least 1'],
  ['bounds:\n  maxRounds: 21\n', 2, 'bounds.maxRounds', 'must be at most 20'],
  ['bounds:\n  maxCostUsd: 0\n', 2, 'bounds.maxCostUsd', 'must be above 0'],
  ['bounds:\n  timeout: 5\n', 2, 'bounds.timeout', 'must be text, not a number'],
  ['bounds:\n  timeout: 5x\n', 2, 'bounds.timeout', /is not a duration such as/],
  ['implement:\n  coAuthor: Claude\n', 2, 'implement.coAuthor', /is not a name and an address such as Claude </],
  ['implement:\n  coAuthor: "A <a@b.c>\\nX: y <a@b.c>"\n', 2, 'implement.coAuthor', /is not a name and an address/],
  ['bounds: 3\n', 1, 'bounds', 'must be a group of settings, not a number'],
  ['models:\n  drafter:\n', 2, 'models.drafter', 'must be text, not nothing'],
  ['models:\n  drafter: ""\n', 2, 'models.drafter', 'must not be empty'],
  ['hello\n', 1, '', 'must be a group of settings, not text'],
  ['- a\n', 1, '', 'must be a group of settings, not a list'],
  ['endpoints:\n  openai: nowhere\n', 2, 'endpoints.openai', /is not a URL/],
  ['endpoints:\n  openai: file:///etc/passwd\n', 2, 'endpoints.openai', /is not a URL/],
  ['context:\n  exclude:\n    - a\n    - 5\n', 4, 'context.exclude.1', 'must be text, not a number'],
];

test.each(bad)('%j is refused with its line', (text, line, path, reason) => {
  expect(problemOf(text)).toEqual({
    code: 'config-invalid',
    file: 'agentos.yaml',
    line,
    path,
    reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
  });
});

test('an alias that leads nowhere, or unfolds without end, is refused too', () => {
  const lists = ['b', 'c', 'd', 'e', 'f'].map((name, at) => {
    const before = `*${'abcdef'.charAt(at)}`;
    return `${name}: &${name} [${Array(9).fill(before).join(', ')}]`;
  });
  expect(problemOf('models: *nobody\n')).toMatchObject({
    code: 'config-invalid',
    reason: expect.stringContaining('nobody'),
  });
  expect(problemOf(`a: &a [x]\n${lists.join('\n')}\n`)).toMatchObject({ code: 'config-invalid' });
});

test('a key in the place of a variable’s name is never repeated', () => {
  for (const text of ['keys:\n  anthropic: sk-ant-0123\n', 'keys:\n  anthropic: [sk-ant-0123]\n']) {
    const problem = problemOf(text);
    expect(problem).toMatchObject({ code: 'config-invalid', line: 2 });
    expect(JSON.stringify(problem)).not.toContain('0123');
  }
});

test('the schema for editors knows every section and refuses others', () => {
  const schema = configJsonSchema();
  expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
  expect(Object.keys(schema['properties'] as object)).toEqual([
    'models',
    'agents',
    'bounds',
    'keys',
    'limits',
    'endpoints',
    'prices',
    'context',
    'explore',
    'tests',
    'implement',
    'sandbox',
    'passEnvironment',
    'lineage',
    'source',
    'forge',
    'select',
    'comment',
    'pr',
    'github',
    'gitlab',
  ]);
});
