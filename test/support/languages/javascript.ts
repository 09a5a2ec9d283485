import type { LanguageSample } from './sample.ts';

const ADD_TESTS = (imported: string): string => `${imported}
test('010 adds the number', () => {
  assert.equal(add(1), 43);
});

test('020 refuses text', () => {
  assert.throws(() => add('x'), TypeError);
});
`;

const ADD = `function add(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;

const COMMONJS_IMPORTS = (module: string): string => `const assert = require('node:assert/strict');
const { test } = require('node:test');
const { add } = require('${module}');
`;

const MODULE_TESTS = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer } from '../src/main.js';

test('the answer', () => assert.equal(answer, 42));
test.skip('the question', () => assert.fail('nobody knows it'));
`;

export const commonJs: LanguageSample = {
  name: 'JavaScript, CommonJS and node:test',
  needs: [],
  files: {
    'agentos.yaml': 'implement: { coverage: 90 }\n',
    'package.json': '{ "name": "sample", "scripts": { "test": "node --test" } }\n',
    'src/main.js': 'module.exports = { answer: 42 };\n',
    'test/main.test.js': `const assert = require('node:assert/strict');
const { test } = require('node:test');
const { answer } = require('../src/main.js');

test('the answer', () => assert.equal(answer, 42));
`,
  },
  design: [
    ['src/add.js', 'Add'],
    ['test/add.test.js', 'Add'],
  ],
  wrong: { 'test/add.test.js': ADD_TESTS(COMMONJS_IMPORTS('../src/ad.js')) },
  tests: { 'test/add.test.js': ADD_TESTS(COMMONJS_IMPORTS('../src/add.js')) },
  code: { 'src/add.js': `${ADD}\nmodule.exports = { add };\n` },
  command: 'npm test',
  refusal: /test\/add\.test\.js can't be loaded, for another reason than the missing code: .*Cannot find module/,
  isMeasured: true,
};

/** The tests go into a file that is there, beside one that was skipped before; with it the whole file can't be loaded yet. */
const MORE_MODULE_TESTS = ADD_TESTS(MODULE_TESTS.replace('{ answer }', '{ add, answer }'));

export const withoutPackageJson: LanguageSample = {
  name: 'JavaScript without package.json',
  needs: [],
  files: {
    'agentos.yaml': 'implement: { coverage: 90 }\n',
    'src/main.js': 'export const answer = 42;\n',
    'test/main.test.js': MODULE_TESTS,
  },
  design: [
    ['src/main.js', 'Modify'],
    ['test/main.test.js', 'Modify'],
  ],
  wrong: { 'test/main.test.js': `import 'never-installed';\n${MORE_MODULE_TESTS}` },
  tests: { 'test/main.test.js': MORE_MODULE_TESTS },
  code: { 'src/main.js': `export const answer = 42;\n\nexport ${ADD}` },
  command: 'node --test',
  refusal: /test\/main\.test\.js can't be loaded, for another reason than the missing code: .*never-installed/,
  isMeasured: true,
};

const ownPackage = (folder: string): Record<string, string> => ({
  [`${folder}/package.json`]: `{ "name": "${folder}", "version": "1.0.0", "scripts": { "test": "node --test" } }\n`,
  [`${folder}/src/main.js`]: commonJs.files['src/main.js'] ?? '',
  [`${folder}/test/main.test.js`]: commonJs.files['test/main.test.js'] ?? '',
});
/** Each package has the test of one scenario. */
const SPLIT = (module: string): Record<string, string> => {
  const [first = '', second = ''] = ADD_TESTS('').trim().split('\n\n');
  const tests = (path: string, own: string): string => `${COMMONJS_IMPORTS(path)}\n${own}\n`;
  return {
    'core/test/add.test.js': tests(`../src/${module}.js`, first),
    'web/test/add.test.js': tests(`../../core/src/${module}.js`, second),
  };
};

export const twoPackages: LanguageSample = {
  name: 'two packages of a monorepo whose top has no script that is understood',
  needs: [],
  files: {
    'agentos.yaml': 'implement: { coverage: 90 }\n',
    'package.json':
      '{ "private": true, "workspaces": ["core", "web"], "scripts": { "test": "npm test --workspaces" } }\n',
    ...ownPackage('core'),
    ...ownPackage('web'),
  },
  design: [
    ['core/src/add.js', 'Add'],
    ['core/test/add.test.js', 'Add'],
    ['web/test/add.test.js', 'Add'],
  ],
  wrong: SPLIT('ad'),
  tests: SPLIT('add'),
  code: { 'core/src/add.js': commonJs.code['src/add.js'] ?? '' },
  command: '(cd core && npm test) && (cd web && npm test)',
  refusal: /web\/test\/add\.test\.js can't be loaded, for another reason than the missing code: .*Cannot find module/,
  isMeasured: true,
};

export const packageOfItsOwn: LanguageSample = {
  name: 'a package with dependencies of its own, below a top without any manifest',
  needs: [],
  files: {
    '.gitignore': 'node_modules\n',
    'agentos.yaml': 'implement: { coverage: 90 }\n',
    'api/pom.xml': '<project/>\n',
    ...ownPackage('web'),
    'web/package.json':
      '{ "scripts": { "test": "node --test \'test/*.test.js\'" }, "dependencies": { "answer": "file:./answer" } }\n',
    'web/answer/package.json': '{ "name": "answer", "version": "1.0.0" }\n',
    'web/answer/index.js': 'module.exports = 42;\n',
    'web/src/main.js': "module.exports = { answer: require('answer') };\n",
  },
  design: [
    ['web/src/add.js', 'Add'],
    ['web/test/add.test.js', 'Add'],
  ],
  wrong: { 'web/test/add.test.js': commonJs.wrong['test/add.test.js'] ?? '' },
  tests: { 'web/test/add.test.js': commonJs.tests['test/add.test.js'] ?? '' },
  code: { 'web/src/add.js': commonJs.code['src/add.js'] ?? '' },
  command: 'cd web && npm test',
  refusal: /web\/test\/add\.test\.js can't be loaded, for another reason than the missing code: .*Cannot find module/,
  isMeasured: true,
};
