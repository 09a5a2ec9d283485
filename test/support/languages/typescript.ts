import { join } from 'node:path';
import { PROJECT } from '../program.ts';
import type { LanguageSample } from './sample.ts';

const ADD = `export function add(value: number): number {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;

const VITEST = (module: string): string => `import { describe, expect, it } from 'vitest';
import { add } from '${module}';

describe('add', () => {
  it('010 adds the number', () => {
    expect(add(1)).toBe(43);
  });

  it('020 refuses text', () => {
    expect(() => add('x' as never)).toThrow(TypeError);
  });
});
`;

/** The packages are ours, so that nothing has to be fetched. */
export const vitest: LanguageSample = {
  name: 'TypeScript with Vitest',
  needs: [],
  files: {
    '.gitignore': 'node_modules\n',
    'agentos.yaml': `implement: { setup: "ln -s '${join(PROJECT, 'node_modules')}' node_modules" }\n`,
    'package.json': `${JSON.stringify({
      name: 'sample',
      type: 'module',
      scripts: { test: 'vitest run' },
      devDependencies: { vitest: '*' },
    })}\n`,
    'src/main.ts': 'export const answer: number = 42;\n',
    'src/main.test.ts': `import { expect, it } from 'vitest';
import { answer } from './main.ts';

it('knows the answer', () => expect(answer).toBe(42));
`,
  },
  design: [
    ['src/add.ts', 'Add'],
    ['src/add.test.ts', 'Add'],
  ],
  wrong: { 'src/add.test.ts': VITEST('./ad.ts') },
  tests: { 'src/add.test.ts': VITEST('./add.ts') },
  code: { 'src/add.ts': ADD },
  command: 'npm test',
  refusal: /src\/add\.test\.ts can't be loaded, for another reason than the missing code: .*\.\/ad\.ts/,
  isMeasured: false,
};

const NODE_TESTS = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add } from '../src/add.ts';

test('010 adds the number', (): void => {
  const given: number = 1;
  assert.equal(add(given), 43);
});

test('020 refuses text', (): void => {
  assert.throws(() => add('x' as never), TypeError);
});
`;

export const nodeTypes: LanguageSample = {
  name: 'TypeScript with node --test alone',
  needs: [],
  files: {
    'agentos.yaml': 'implement: { coverage: 90 }\n',
    'package.json': '{ "name": "sample", "type": "module", "scripts": { "test": "node --test" } }\n',
    'src/main.ts': 'export const answer: number = 42;\n',
    'test/main.test.ts': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer } from '../src/main.ts';

test('the answer', (): void => assert.equal(answer, 42));
`,
  },
  design: [
    ['src/add.ts', 'Add'],
    ['test/add.test.ts', 'Add'],
  ],
  wrong: { 'test/add.test.ts': NODE_TESTS.replace('given: number = 1;', 'given: number = ;') },
  tests: { 'test/add.test.ts': NODE_TESTS },
  code: { 'src/add.ts': ADD },
  command: 'npm test',
  refusal: /test\/add\.test\.ts can't be loaded, for another reason than the missing code/,
  isMeasured: true,
};
