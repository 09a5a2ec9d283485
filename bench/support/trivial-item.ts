import { posix } from 'node:path';
import type { RunnerName } from '../../src/testing/port.ts';

/** A pure function and its tests in the style of a repository: what an honest implementer would write. */
export interface TrivialItem {
  tests: Record<string, string>;
  code: Record<string, string>;
}

/** A test and a source file of the repository, beside which the new ones go. */
export interface Examples {
  test: string;
  testText: string;
  source: string;
}

const JAVASCRIPT = `function addFortyTwo(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;

const EXPECTED = `  it('010 adds the number', () => {
    expect(addFortyTwo(1)).toBe(43);
  });
  it('020 refuses text', () => {
    expect(() => addFortyTwo('x')).toThrow();
  });
`;
const described = (cases: string): string => `describe('addFortyTwo', () => {\n${cases}});\n`;
const asserted = (test: string, indent = ''): string => `${indent}${test}('010 adds the number', () => {
${indent}  assert.equal(addFortyTwo(1), 43);
${indent}});
${indent}${test}('020 refuses text', () => {
${indent}  assert.throws(() => addFortyTwo('x'), TypeError);
${indent}});
`;
const withT = (equal: string): string => `test('010 adds the number', (t) => {
  t.${equal}(addFortyTwo(1), 43);
  ENDS
});
test('020 refuses text', (t) => {
  t.throws(() => addFortyTwo('x'));
  ENDS
});
`;

/** What each runner of JavaScript imports, and its tests. */
const STYLES: Partial<Record<RunnerName, readonly [imports: Readonly<Record<string, string>>, tests: string]>> = {
  vitest: [{ vitest: '{ describe, expect, it }' }, described(EXPECTED)],
  jest: [{}, described(EXPECTED)],
  jasmine: [{}, described(EXPECTED)],
  bun: [{ 'bun:test': '{ describe, expect, it }' }, described(EXPECTED)],
  mocha: [{ assert: 'assert' }, described(asserted('it', '  '))],
  node: [{ 'node:assert': 'assert', 'node:test': '{ test }' }, asserted('test')],
  borp: [{ 'node:assert': 'assert', 'node:test': '{ test }' }, asserted('test')],
  uvu: [
    { uvu: '{ test }', 'uvu/assert': '* as assert' },
    `${asserted('test').replaceAll('equal', 'is').replaceAll(', TypeError', '')}test.run();\n`,
  ],
  ava: [{ ava: 'test' }, withT('is').replaceAll('  ENDS\n', '')],
  tap: [{ tap: '{ test }' }, withT('equal').replaceAll('ENDS', 't.end();')],
  qunit: [{}, withT('equal').replaceAll('test(', 'QUnit.test(').replaceAll('  ENDS\n', '')],
};

/** Null where no example of that runner's style is known. */
export function trivialItem(runner: RunnerName, { test, testText, source }: Examples): TrivialItem | null {
  if (runner === 'pytest' || runner === 'unittest') return inPython(runner, test, source);
  if (runner === 'go') return inGo(test, testText);
  const style = STYLES[runner];
  if (style === undefined) return null;
  const [imports, cases] = style;
  const isModule = /^import\s/m.test(testText) || /\.m[jt]s$/.test(test);
  const [, ending = '.js'] = /((?:[._-](?:test|spec)(?:-d)?|Spec)?\.[cm]?[jt]sx?)$/.exec(test) ?? [];
  const extension = posix.extname(source);
  const code = posix.join(posix.dirname(source), `add-forty-two${extension}`);
  // A lone `test.js` has no folder that would make a test of its neighbour.
  const stem = /^test\.[cm]?[jt]s$/.test(posix.basename(test)) ? 'test-add-forty-two' : 'add-forty-two';
  const file = posix.join(posix.dirname(test), `${stem}${ending.replace('-d', '')}`);
  const relative = posix.relative(posix.dirname(file), code);
  const path = relative.startsWith('.') ? relative : `./${relative}`;
  const asImported = /\.tsx?$/.test(code)
    ? path.replace(/\.tsx?$/, /from\s+['"]\.[^'"]*\.js['"]/.test(testText) ? '.js' : '')
    : path;
  const bring = (names: string, from: string): string =>
    isModule ? `import ${names} from '${from}';\n` : `const ${names.replace('* as ', '')} = require('${from}');\n`;
  const typed = extension.startsWith('.ts') ? JAVASCRIPT.replace('value)', 'value: unknown): number') : JAVASCRIPT;
  const lines = Object.entries(imports).map(([from, names]) => bring(names, from));
  return {
    tests: { [file]: `${[...lines, bring('{ addFortyTwo }', asImported)].join('')}\n${cases}` },
    code: {
      [code]:
        isModule || extension.startsWith('.ts') ? `export ${typed}` : `${typed}\nmodule.exports = { addFortyTwo };\n`,
    },
  };
}

function inPython(runner: RunnerName, test: string, source: string): TrivialItem {
  const code = posix.join(posix.dirname(source), 'add_forty_two.py');
  const module = code
    .replace(/^src\//, '')
    .replace(/\.py$/, '')
    .replaceAll('/', '.');
  const file = posix.join(
    posix.dirname(test),
    test.endsWith('_test.py') ? 'add_forty_two_test.py' : 'test_add_forty_two.py',
  );
  const cases =
    runner === 'pytest'
      ? `import pytest\n\nfrom ${module} import add_forty_two\n\n\ndef test_010_adds_the_number():\n    assert add_forty_two(1) == 43\n\n\ndef test_020_refuses_text():\n    with pytest.raises(TypeError):\n        add_forty_two("x")\n`
      : `import unittest\n\nfrom ${module} import add_forty_two\n\n\nclass AddFortyTwoTest(unittest.TestCase):\n    def test_010_adds_the_number(self):\n        self.assertEqual(add_forty_two(1), 43)\n\n    def test_020_refuses_text(self):\n        self.assertRaises(TypeError, add_forty_two, "x")\n`;
  const body = `def add_forty_two(value):\n    if not isinstance(value, int):\n        raise TypeError("not a number")\n    return value + 42\n`;
  return { tests: { [file]: cases }, code: { [code]: body } };
}

function inGo(test: string, testText: string): TrivialItem {
  const folder = posix.dirname(test);
  const name = (/^package (\w+)/m.exec(testText)?.[1] ?? 'main').replace(/_test$/, '');
  const cases = `package ${name}\n\nimport "testing"\n\nfunc Test010AddsTheNumber(t *testing.T) {\n\tif addFortyTwo(1) != 43 {\n\t\tt.Fatal("not added")\n\t}\n}\n\nfunc Test020AddsToLess(t *testing.T) {\n\tif addFortyTwo(-1) != 41 {\n\t\tt.Fatal("not added")\n\t}\n}\n`;
  const body = `package ${name}\n\nfunc addFortyTwo(value int) int {\n\treturn value + 42\n}\n`;
  return {
    tests: { [posix.join(folder, 'add_forty_two_test.go')]: cases },
    code: { [posix.join(folder, 'add_forty_two.go')]: body },
  };
}
