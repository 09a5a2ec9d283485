import { posix } from 'node:path';
import type { RunnerName } from '../../../src/testing/port.ts';
import { type Examples, fileName, isTestOfName, type TrivialItem, WORDS } from './item.ts';

const CODE = `function addFortyTwo(value) {
  if (typeof value !== 'number') {
    throw new TypeError('Not a number');
  }

  return value + 42;
}
`;

const DOCUMENTED = `/**
 * Adds 42.
 *
 * @param {unknown} value
 * @returns {number}
 */
`;

const EXPECTED = `describe('addFortyTwo', () => {
  it('010 adds the number', () => {
    expect(addFortyTwo(1)).toBe(43);
  });

  it('020 refuses text', () => {
    expect(() => addFortyTwo('x')).toThrow(TypeError);
  });
});
`;
const asserted = (test: string): string => `${test}('010 adds the number', () => {
  assert.equal(addFortyTwo(1), 43);
});

${test}('020 refuses text', () => {
  assert.throws(() => addFortyTwo('x'), TypeError);
});
`;
const described = (cases: string): string =>
  `describe('addFortyTwo', () => {\n${cases.trimEnd().replace(/^(?=.)/gm, '  ')}\n});\n`;
const withT = (equal: string, end = ''): string => `test('010 adds the number', (t) => {
  t.${equal}(addFortyTwo(1), 43);${end}
});

test('020 refuses text', (t) => {
  t.throws(() => addFortyTwo('x'));${end}
});
`;

type Style = readonly [imports: Readonly<Record<string, string>>, tests: string];

/** What the tests of each runner import, unless the neighbour has it as globals, and how they are written. */
function styleOf(runner: RunnerName, neighbour: string): Style | null {
  const imports = (pattern: string): boolean => new RegExp(`['"]${pattern}['"]`).test(neighbour);
  switch (runner) {
    case 'vitest':
      return [imports('vitest') ? { vitest: '{ describe, expect, it }' } : {}, EXPECTED];
    case 'jest':
      return [imports('@jest/globals') ? { '@jest/globals': '{ describe, expect, it }' } : {}, EXPECTED];
    case 'bun':
      return [{ 'bun:test': '{ describe, expect, it }' }, EXPECTED];
    case 'jasmine':
      return [{}, EXPECTED.replace('toThrow(', 'toThrowError(')];
    case 'mocha':
      return [
        { ...(imports('mocha') ? { mocha: '{ describe, it }' } : {}), [assertIn(neighbour)]: 'assert' },
        described(asserted('it')),
      ];
    case 'node':
    case 'borp': {
      const [, names = 'test'] =
        /(?:import|const)\s+(.+?)\s+(?:from|=\s*require\()\s*['"]node:test['"]/.exec(neighbour) ?? [];
      const isIt = /\bit\b/.test(names) && !/\btest\b/.test(names);
      return [
        { [assertIn(neighbour)]: 'assert', 'node:test': isIt ? '{ it }' : '{ test }' },
        asserted(isIt ? 'it' : 'test'),
      ];
    }
    case 'uvu':
      return [
        { uvu: '{ test }', 'uvu/assert': '* as assert' },
        `${asserted('test').replaceAll('equal', 'is').replaceAll(', TypeError', '')}\ntest.run();\n`,
      ];
    case 'ava':
      return [{ ava: 'test' }, withT('is')];
    case 'tap': {
      const tests = withT('equal', '\n  t.end();');
      if (imports('tape')) return [{ tape: 'test' }, tests];
      return /\b(?:const|import) t\b/.test(neighbour)
        ? [{ tap: 't' }, tests.replaceAll('test(', 't.test(')]
        : [{ tap: '{ test }' }, tests];
    }
    case 'qunit':
      return [
        imports('qunit') ? { qunit: 'QUnit' } : {},
        withT('equal')
          .replaceAll('test(', 'QUnit.test(')
          .replaceAll('(t)', '(assert)')
          .replaceAll('t.', 'assert.')
          .replaceAll('QUniassert.', 'QUnit.'),
      ];
    default:
      return null;
  }
}

function assertIn(neighbour: string): string {
  return /['"]((?:node:)?assert(?:\/strict)?)['"]/.exec(neighbour)?.[1] ?? 'node:assert';
}

/** Null where no style of that runner is known. */
export function itemInJavaScript(runner: RunnerName, examples: Examples, isListed: boolean): TrivialItem | null {
  const { test, testText, source, sourceText } = examples;
  const style = styleOf(runner, testText);
  if (style === null) return null;
  const [imports, cases] = style;
  const isModule = /^import\s/m.test(testText) || /\.m[jt]s$/.test(test);
  const isTyped = /\.[cm]?tsx?$/.test(source);
  const extension = posix.extname(source).replace('x', '');
  const code = posix.join(posix.dirname(source), `${fileName(posix.basename(source), WORDS)}${extension}`);
  const stem = posix.basename(code, extension);
  const file = isListed ? test : posix.join(posix.dirname(test), testName(examples, stem));
  const isExported =
    isTyped ||
    // Flow's types are no modules.
    /^(?:export|import)\s(?!type\b)/m.test(sourceText) ||
    source.endsWith('.mjs') ||
    (isModule && sourceText.trim() === '');
  const bring = (names: string, from: string): string =>
    isModule ? `import ${names} from '${from}';\n` : `const ${names.replace('* as ', '')} = require('${from}');\n`;
  // Where the compiler checks JavaScript, types are in comments.
  const isChecked = examples.paths.includes('tsconfig.json') && /"checkJs": true/.test(examples.read('tsconfig.json'));
  const typed = isChecked || /@(?:param|returns|type) \{/.test(sourceText) ? DOCUMENTED : '';
  const body = isTyped ? CODE.replace('(value)', '(value: unknown): number') : CODE;
  const written = isExported ? `${typed}export ${body}` : `${typed}${body}\nmodule.exports = { addFortyTwo };\n`;
  const path = importPath(file, code, examples);
  const directives = /^\/\* *(?:eslint-env|globals?)\b[^]*?\*\/\n+/m.exec(testText)?.[0] ?? '';
  const strict = /^(['"])use strict\1;?\n+/.exec(testText)?.[0] ?? '';
  const own = bring('{ addFortyTwo }', path);
  const header = [...Object.entries(imports).map(([from, names]) => bring(names, from)), own].join('');
  const tests = isListed
    ? withImport(testText, own, isModule) + inStyle(`\n${cases}`, testText)
    : directives + strict + inStyle(`${header}\n${cases}`, testText);
  // Linters that still mind reserved words as names of properties.
  const isOld = examples.paths.some((path) => path.endsWith(extension) && examples.read(path).includes("t['throws']("));
  return {
    tests: { [file]: isOld ? tests.replaceAll('t.throws(', "t['throws'](") : tests },
    code: { [code]: (isExported ? '' : strict && `${strict.trim()}\n\n`) + inStyle(written, sourceText) },
  };
}

function withImport(text: string, statement: string, isModule: boolean): string {
  const last = [
    ...text.matchAll(isModule ? /^import\s[^;]*?['"][^'"]+['"];?\n/gm : /^(?:const|var|let)\s.*require\(.*\n/gm),
  ].at(-1);
  const at = last === undefined ? 0 : last.index + last[0].length;
  return `${text.slice(0, at)}${inStyle(statement, text)}${text.slice(at)}`;
}

/** `x.test.ts` for `x.ts`, `test_x.js`, or a name by itself where the folder says that it is a test. */
function testName({ test, source }: Examples, stem: string): string {
  const name = posix.basename(test);
  const old = posix.basename(source).replace(/\.[cm]?[jt]sx?$/, '');
  if (old !== 'index' && isTestOfName(name, old)) return name.replace(old, stem).replace(/\.tsx$/, '.ts');
  const [, ending = '.js'] = /((?:[._-](?:test|spec|unit)|Spec|Test)?\.[cm]?[jt]sx?)$/.exec(name) ?? [];
  // A lone `test.js` has no folder that would make a test of its neighbour.
  if (/^test\.[cm]?[jt]s$/.test(name)) return `test-${stem}${ending}`;
  return `${stem}${ending.replace(/x$/, '')}`;
}

/** As the test imports its subject; a folder is imported by the name of the new file. */
function importPath(file: string, code: string, examples: Examples): string {
  const { specifier, source } = examples;
  const ending = /\.[cm]?[jt]sx?$/;
  const stem = posix.basename(code).replace(ending, '');
  const own = ending.exec(specifier ?? '')?.[0] ?? '';
  if (specifier !== null && posix.basename(specifier, own) === posix.basename(source).replace(ending, ''))
    return `${specifier.slice(0, specifier.lastIndexOf('/') + 1)}${stem}${own.replace('x', '')}`;
  const relative = posix.relative(posix.dirname(file), code);
  const path = relative.startsWith('.') ? relative : `./${relative}`;
  if (own !== '' || specifier === null) return path;
  return path.replace(ending, namesEndings(examples) ? '.js' : '');
}

/** Whether modules of the same folder, or the test, import each other with an ending. */
function namesEndings({ source, testText, paths, read }: Examples): boolean {
  const folder = posix.dirname(source);
  const others = paths.filter((path) => posix.dirname(path) === folder && /\.[cm]?tsx?$/.test(path));
  return [testText, ...others.map(read)].some((text) => /\bfrom\s*['"]\.[^'"]*\.[cm]?js['"]/.test(text));
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Quotes, semicolons, indentation and spaces as in the neighbour, as far as linters look at them. */
function inStyle(text: string, neighbour: string): string {
  let styled = text;
  const bare = neighbour.replace(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
  if (count(bare, /;\s*$/gm) < count(bare, /[\w)'"]\s*$/gm)) styled = styled.replace(/;$/gm, '');
  if (count(neighbour, /"/g) > count(neighbour, /'/g)) styled = styled.replaceAll("'", '"');
  if (count(neighbour, /(?<!\$)\{\w.*\}/g) > count(neighbour, /(?<!\$)\{ \w.*\}/g))
    styled = styled.replace(/\{ (\w[^{}\n]*) \}/g, '{$1}');
  if (/[(, ]\w+ => /.test(neighbour) && !/\(\w+\) => /.test(neighbour))
    styled = styled.replace(/\((\w+)\) =>/g, '$1 =>');
  if (/\bfunction \w+ \(/.test(neighbour)) styled = styled.replace(/\bfunction (\w+)\(/g, 'function $1 (');
  if (/^(?:var|const|let) \w+ = function\b/m.test(neighbour) && !/^function\b/m.test(neighbour))
    styled = styled.replace(/^function (\w+)( ?\([^]*?\n\})$/gm, 'const $1 = function $1$2;');
  // A linter may take everything that is newer for an error.
  const newer = count(neighbour, /^\s*(?:const|let|import|export)\b|=>/gm);
  if (newer === 0 || count(neighbour, /^\s*var\b/gm) > newer)
    styled = styled
      .replace(/^(\s*)const \{ (\w+) \} = (require\(.*?\))(;?)$/gm, '$1var $2 = $3.$2$4')
      .replace(/\bconst\b/g, 'var')
      .replace(/\(\) => (\w+\(.*?\))(?=[,)])/g, 'function () { $1; }')
      .replace(/\((\w*)\) => \{$/gm, 'function ($1) {')
      .replace(/module\.exports = \{( ?)(\w+) ?\}/, 'module.exports = {$1$2: $2$1}');
  const indent = /^(\t| {2,8})\S/m.exec(neighbour.replace(/\/\*[^]*?\*\//g, ''))?.[1] ?? '  ';
  return styled.replace(/^(?: {2})+/gm, (spaces) => indent.repeat(spaces.length / 2));
}
