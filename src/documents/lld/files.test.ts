import { describe, expect, test } from 'vitest';
import { edited, withSection } from '../../../test/fixtures/lld/lld-42.ts';
import { type BaseTree, checkLld } from './checks.ts';

function treeOf(...files: string[]): BaseTree {
  return {
    kindOf: (path) => {
      if (files.includes(path)) return 'file';
      return files.some((file) => file.startsWith(`${path}/`)) ? 'directory' : null;
    },
  };
}

function found(rows: string[], tree: BaseTree | null) {
  const table = [
    '| File | Change Type | Description |',
    '|---|---|---|',
    ...rows.map((row) => `| ${row} | text |`),
  ].join('\n');
  return checkLld(withSection('### 2.1 Files Changed', table), { issueId: '42', tree }).findings.map(
    ({ rule, severity }) => `${severity} ${rule}`,
  );
}

const repository = treeOf('src/a.js', 'src/deep/b.js', 'test/a.test.js', 'README.md', 'package.json');

describe('paths that leave the repository are errors, with or without one at hand', () => {
  test.each([
    '/etc/passwd',
    '../outside.js',
    'src/../../outside.js',
    'src/..',
    'C:/windows/x.js',
    'C:\\windows\\x.js',
    '..\\outside.js',
    'src\\a.js',
    '\\\\server\\share',
    '~/.bashrc',
    '~root/x',
    '$HOME/x.js',
    '.git/config',
    '.git/hooks/pre-commit',
    'sub/.git/config',
    '.GIT/config',
    '.agentos/runs/x',
    'https://example.org/x.js',
    'file:///etc/passwd',
    '%2e%2e/x.js',
    '．．/x.js',
  ])('%s', (path) => {
    expect(found([`\`${path}\` | Add`], null)).toEqual(['error path-outside']);
    expect(found([`\`${path}\` | Modify`], repository)).toEqual(['error path-outside']);
  });

  test.each([
    '.github/workflows/ci.yml',
    '.gitignore',
    'app/routes/$id.tsx',
    'app/[id]/page.tsx',
    './src/new.js',
    'src/a..b.js',
    '.gitattributes',
    'docs/~notes.md',
  ])('%s is fine', (path) => {
    expect(found([`\`${path}\` | Add`], null)).toEqual([]);
  });
});

describe('against the repository at the base commit', () => {
  test.each([
    ['`src/a.js` | Modify', []],
    ['`README.md` | Modify', []],
    ['`src/a.js` | Delete', []],
    ['`./src/a.js` | Modify', []],
    ['`src/missing.js` | Modify', ['error path-missing']],
    ['`src/missing.js` | Delete', ['error path-missing']],
    ['`src/a.js` | Add', ['error path-exists']],
    ['`src/deep` | Add', ['error path-exists']],
    ['`src/new.js` | Add', []],
    ['`new.js` | Add', []],
    ['`src/new/x.js` | Add', []],
    ['`src/new/deep/x.js` | Add', []],
    ['`src/new/deep/er/x.js` | Add', []],
    ['`src/a.js/x.js` | Add', ['error path-parent']],
    ['`README.md/deep/x.js` | Add', ['error path-parent']],
    ['`docs/guides/x.md` | Add', []],
    ['`lib/a/b/c/x.js` | Add', []],
    ['`.github/workflows/ci.yml` | Add', []],
    ['`nowhere/x.js` | Add', []],
    ['`nowhere/deep/x.js` | Add', ['error path-parent']],
    ['`srcs/lib/deep/x.js` | Add', ['error path-parent']],
  ])('%s', (row, expected) => {
    expect(found([row], repository)).toEqual(expected);
  });

  test('a new folder with files deep inside it is one mistake', () => {
    expect(
      found(['`nowhere/deep/x.js` | Add', '`nowhere/deep/y.js` | Add', '`nowhere/far/z.js` | Add'], repository),
    ).toEqual(['error path-parent']);
  });

  test('a new folder with a file directly in it is meant', () => {
    expect(found(['`engine/index.js` | Add', '`engine/core/run.js` | Add'], repository)).toEqual([]);
  });
});

describe('the table itself', () => {
  test.each([
    ['`src/x.js` | Rename', ['error files-table']],
    ['`src/x.js` | ', ['error files-table']],
    ['`src/x.js` | Add/Modify', ['error files-table']],
    [' | Add', ['error files-table']],
    ['`src/*.js` | Modify', ['error files-table']],
    ['`src/x.js` | **Create**', []],
    ['`src/x.js` | New', []],
    ['`src/x.js` | Add (new file)', []],
    ['`src/x.js` | ADD', []],
    ['`src/a.js` | Update', []],
    ['`src/a.js` | Modified', []],
    ['`src/a.js` | Edit', []],
    ['`src/a.js` | Remove', []],
    ['src/__init__.py | Add', []],
    ['[src/x.js](src/x.js) | Add', ['error files-table']],
    ['src/x.js (NEW) | Add', ['error files-table']],
    ['**`src/x.js`** (NEW) | Add', []],
  ])('%s', (row, expected) => {
    expect(found([row], repository)).toEqual(expected);
  });

  test('a path that is listed twice', () => {
    expect(found(['`src/x.js` | Add', '`src/x.js` | Add'], repository)).toEqual(['error files-table']);
  });

  test('no rows, and no table', () => {
    expect(found([], repository)).toEqual(['error section-empty', 'error files-table']);
    const list = withSection('### 2.1 Files Changed', '- `src/x.js` is added');
    expect(checkLld(list).findings.map(({ rule }) => rule)).toEqual(['files-table']);
  });

  test('the finding stands at the row', () => {
    const text = edited('| `src/item-42.js` | Add |', '| `../item-42.js` | Add |');
    const line = text.split('\n').findIndex((each) => each.includes('../item-42.js')) + 1;
    expect(checkLld(text).findings.map((finding) => finding.line)).toEqual([line]);
  });
});
