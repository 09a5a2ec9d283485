import type { LanguageSample } from './sample.ts';

/** How the tests of one runner are written: `test` is the whole file, for a path to import. */
interface Style {
  type: 'module' | 'commonjs';
  script: string;
  file: string;
  /** Of a test that is there already. */
  known: string;
  tests: (module: string) => string;
  /** Further files of the project. */
  more?: Record<string, string>;
}

const CODE = `function add(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;

const expected = (bring: string): Pick<Style, 'known' | 'tests'> => ({
  known: `${bring}it('knows the answer', () => {\n  expect(42).toBe(42);\n});\n`,
  tests: (module) => `${bring}${module}
describe('add', () => {
  it('010 adds the number', () => {
    expect(add(1)).toBe(43);
  });
  it('020 refuses text', () => {
    expect(() => add('x')).toThrow();
  });
});
`,
});
const asserted = (bring: string, test = 'test', end = ''): Pick<Style, 'known' | 'tests'> => ({
  known: `${bring}${test}('knows the answer', () => {\n  assert.equal(42, 42);\n});\n${end}`,
  tests: (module) => `${bring}${module}
${test}('010 adds the number', () => {
  assert.equal(add(1), 43);
});
${test}('020 refuses text', () => {
  assert.throws(() => add('x'));
});
${end}`,
});
const withT = (bring: string, test: string, equal: string, end = ''): Pick<Style, 'known' | 'tests'> => ({
  known: `${bring}${test}('knows the answer', (t) => {\n  t.${equal}(42, 42);${end}\n});\n`,
  tests: (module) => `${bring}${module}
${test}('010 adds the number', (t) => {
  t.${equal}(add(1), 43);${end}
});
${test}('020 refuses text', (t) => {
  t.throws(() => add('x'));${end}
});
`,
});

const ASSERT = "const assert = require('node:assert');\n";
const plain = { type: 'commonjs', file: 'test/add.test.js' } as const;
const modern = { type: 'module', file: 'test/add.test.js' } as const;
const JEST: Style = { ...plain, script: 'jest', ...expected('') };
const VITEST: Style = {
  ...modern,
  script: 'vitest run',
  ...expected("import { describe, expect, it } from 'vitest';\n"),
};
const TAP: Style = {
  ...plain,
  script: 'tap',
  ...withT("const t = require('tap');\n", 't.test', 'equal', '\n  t.end();'),
};

/** Each with the packages that it needs. */
const RUNNERS: readonly (readonly [packages: Readonly<Record<string, string>>, style: Style])[] = [
  ...['8', '11'].map(
    (version) => [{ mocha: version }, { ...plain, script: 'mocha', ...asserted(ASSERT, 'it') }] as const,
  ),
  [{ ava: '6' }, { ...modern, script: 'ava', ...withT("import test from 'ava';\n", 'test', 'is') }],
  ...['16', '18', '21'].map((version) => [{ tap: version }, TAP] as const),
  ...['0.3', '0.5'].map(
    (version) =>
      [
        { uvu: version },
        {
          ...plain,
          script: 'uvu test',
          ...asserted(`const { test } = require('uvu');\n${ASSERT}`, 'test', 'test.run();\n'),
        },
      ] as const,
  ),
  ...['3', '5'].map(
    (version) =>
      [
        { jasmine: version },
        {
          ...plain,
          file: 'spec/add.spec.js',
          script: 'jasmine',
          ...expected(''),
          more: { 'spec/support/jasmine.json': '{ "spec_dir": "spec", "spec_files": ["**/*.spec.js"] }\n' },
        },
      ] as const,
  ),
  [
    { tape: '5' },
    {
      ...plain,
      script: "tape 'test/*.js'",
      ...withT("const test = require('tape');\n", 'test', 'equal', '\n  t.end();'),
    },
  ],
  [{ qunit: '2' }, { ...plain, script: 'qunit', ...withT('', 'QUnit.test', 'equal') }],
  [{ bun: '1' }, { ...modern, script: 'bun test', ...expected("import { describe, expect, it } from 'bun:test';\n") }],
  [{ borp: '0.20' }, { ...plain, script: 'borp', ...asserted(`const { test } = require('node:test');\n${ASSERT}`) }],
  ...['24', '25', '26', '27', '28', '29', '30'].map((version) => [{ jest: version }, JEST] as const),
  ...['1', '2', '3', '4'].map((version) => [{ vitest: version }, VITEST] as const),
];

function sampleOf(packages: Readonly<Record<string, string>>, style: Style, note = ''): LanguageSample {
  const [name = '', version = ''] = Object.entries(packages)[0] ?? [];
  const isModule = style.type === 'module';
  const folder = style.file.split('/')[0] ?? '';
  const bring = (path: string): string =>
    isModule ? `import { add } from '${path}';\n` : `const { add } = require('${path}');\n`;
  return {
    name: `${name} ${version}${note}`,
    needs: [],
    files: {
      '.gitignore': 'node_modules\n.tap\n',
      'package.json': `${JSON.stringify({ name: 'sample', private: true, type: style.type, scripts: { test: style.script }, devDependencies: packages }, null, 2)}\n`,
      [style.file.replace('add', 'main')]: style.known,
      ...style.more,
    },
    design: [
      ['src/add.js', 'Add'],
      [style.file, 'Add'],
    ],
    wrong: { [style.file]: style.tests(bring('../src/ad.js')) },
    tests: { [style.file]: style.tests(bring('../src/add.js')) },
    code: { 'src/add.js': isModule ? `export ${CODE}` : `${CODE}\nmodule.exports = { add };\n` },
    command: 'npm test',
    refusal: new RegExp(
      `${folder}/add\\.\\w+\\.js can't be loaded, for another reason than the missing code: .*ad\\.js`,
    ),
    isMeasured: false,
  };
}

export const JAVASCRIPT_RUNNERS: readonly LanguageSample[] = [
  ...RUNNERS.map(([packages, style]) => sampleOf(packages, style)),
  sampleOf(
    { vitest: '4' },
    {
      ...VITEST,
      more: {
        'vitest.config.js':
          "export default { test: { projects: [{ test: { name: 'a', include: ['test/**/*.test.js'] } }] } };\n",
      },
    },
    ' with projects',
  ),
  sampleOf(
    { vitest: '4', typescript: '5' },
    {
      ...VITEST,
      more: {
        'vitest.config.js': 'export default { test: { typecheck: { enabled: true } } };\n',
        'tsconfig.json':
          '{ "compilerOptions": { "allowJs": true, "noEmit": true, "skipLibCheck": true, "module": "nodenext" } }\n',
        'test/types.test-d.ts':
          "import { expectTypeOf, test } from 'vitest';\n\ntest('types', () => expectTypeOf(42).toBeNumber());\n",
      },
    },
    ' with typecheck.enabled',
  ),
];
