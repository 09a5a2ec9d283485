import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isMissingCode } from './runners.ts';

const worktree = mkdtempSync(join(tmpdir(), 'agentos-not-there-'));
const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(worktree, path)), { recursive: true });
  writeFileSync(join(worktree, path), text);
};
write('go.mod', 'module example.com/m\n\ngo 1.22\n');
write('cmd/c_test.go', 'package cmd\n\nimport (\n\t"strings"\n\n\tf "example.com/m/field"\n)\n');
write('pkg/a.py', '');
write('test/n.test.ts', "import { K } from '../src/a';\n");
write('test/o.test.ts', "import { K } from '../src/other';\n");
afterAll(() => rmSync(worktree, { recursive: true }));

type Case = [what: string, message: string, added: string[], modified: string[], expected: boolean];

function check(file: string | null, cases: Case[]): void {
  test.each(cases)('%s', (_, message, added, modified, expected) => {
    const text = message.replaceAll('$W', worktree);
    expect(isMissingCode({ file, message: text }, { added, modified }, worktree)).toBe(expected);
  });
}

describe('Node, ES modules', () => {
  const missing = `node:internal/modules/esm/resolve:272
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module '$W/src/b.js' imported from $W/test/m.test.js
    at finalizeResolution (node:internal/modules/esm/resolve:272:11) {
  code: 'ERR_MODULE_NOT_FOUND',
  url: 'file://$W/src/b.js'
}`;
  const noExport = `file://$W/test/m.test.js:1
import {nope} from '../src/a.js';
        ^^^^
SyntaxError: The requested module '../src/a.js' does not provide an export named 'nope'
    at #asyncInstantiate (node:internal/modules/esm/module_job:455:21)`;
  check('test/m.test.js', [
    ['a module that the LLD adds', missing, ['src/b.js'], [], true],
    ['a module that it adds in TypeScript', missing, ['src/b.ts'], [], true],
    ['a module that it does not add', missing, ['src/c.js'], ['src/b.js'], false],
    ['an ending that Node does not add', missing.replaceAll('src/b.js', 'src/b'), ['src/b.js'], [], false],
    ['the same in a compiled test', missing.replaceAll('src/b.js', 'dist/src/b.js'), ['src/b.ts'], [], true],
    ['a name in a module that it modifies', noExport, [], ['src/a.js'], true],
    ['a name in a module that it adds', noExport, ['src/a.js'], [], true],
    ['a name in a module that it does not touch', noExport, ['src/b.js'], ['src/c.js'], false],
    [
      'a package that is not installed',
      "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nopkg' imported from $W/test/m.test.js\n    at x",
      ['src/nopkg.js'],
      [],
      false,
    ],
    ['a syntax error', 'file://$W/test/m.test.js:2\n\nSyntaxError: Unexpected end of input', ['src/b.js'], [], false],
    ['an error at the top', 'ReferenceError: undefinedFn is not defined\n    at x', ['src/b.js'], ['src/a.js'], false],
    ['nothing that is known', 'test failed (exit code 3)', ['src/b.js'], [], false],
    [
      'two reasons of which one is another',
      `${missing}\n${missing.replaceAll('src/b', 'src/z')}`,
      ['src/b.js'],
      [],
      false,
    ],
  ]);
});

describe('Yarn’s Plug’n’Play', () => {
  const missing = `Error: Qualified path resolution failed: we looked for the following paths, but none could be accessed.

Source path: $W/src/b.js
Not found: $W/src/b.js
Not found: $W/src/b.js.json

Require stack:
- $W/test/m.test.js
    at require$$0.Module._resolveFilename ($W/.pnp.cjs:6733:13)`;
  check('test/m.test.js', [
    ['a module that the LLD adds', missing, ['src/b.js'], [], true],
    ['a module that it does not add', missing, ['src/c.js'], ['src/b.js'], false],
  ]);
});

describe('Node, CommonJS', () => {
  const missing = `Error: Cannot find module '../src/b'
Require stack:
- $W/test/m.test.cjs
    at Module._resolveFilename (node:internal/modules/cjs/loader:1564:15) {
  code: 'MODULE_NOT_FOUND',`;
  check('test/m.test.cjs', [
    ['a file', missing, ['src/b.js'], [], true],
    ['an index file', missing, ['src/b/index.js'], [], true],
    ['another folder', missing, ['lib/b.js'], [], false],
    ['a package', missing.replace('../src/b', 'lodash'), ['src/lodash.js'], [], false],
  ]);
});

describe('Vitest', () => {
  check('test/m.test.ts', [
    [
      'as written',
      "Error: Cannot find module '../src/b' imported from $W/test/m.test.ts\n    at x",
      ['src/b.ts'],
      [],
      true,
    ],
    [
      'in quotes',
      "Error: Cannot find module '../src/b.js' imported from '$W/test/m.test.ts'\n  at",
      ['src/b.ts'],
      [],
      true,
    ],
    ['from the root', "Error: Cannot find module '/src/b.js' imported from $W/test/m.test.ts", ['src/b.js'], [], true],
    [
      'Vite',
      'Error: Failed to resolve import "../src/b" from "test/m.test.ts". Does the file exist?',
      ['src/b.tsx'],
      [],
      true,
    ],
    [
      'an alias',
      'Error: Failed to resolve import "@/deep/b" from "test/m.test.ts". Does it?',
      ['src/deep/b.ts'],
      [],
      true,
    ],
    [
      'older ones',
      'Error: Failed to load url ../src/b.js (resolved id: ../src/b.js) in $W/test/m.test.ts. Does the file exist?',
      ['src/b.js'],
      [],
      true,
    ],
    [
      'misspelt',
      'Error: Failed to resolve import "../src/bb" from "test/m.test.ts". Does it?',
      ['src/b.ts'],
      [],
      false,
    ],
    ['a package', "Error: Cannot find package 'nopkg' imported from $W/test/m.test.ts", ['src/nopkg.ts'], [], false],
    [
      'invalid',
      'Error: Failed to parse source for import analysis because the content contains invalid JS',
      ['src/b.ts'],
      [],
      false,
    ],
  ]);
});

describe('Jest', () => {
  const heading = '● Test suite failed to run\n\n    ';
  check('test/m.test.js', [
    ['added', `${heading}Cannot find module '../src/b' from 'test/m.test.js'\n\n    > 1 | x`, ['src/b.js'], [], true],
    ['not added', `${heading}Cannot find module '../src/b' from 'test/m.test.js'`, ['src/c.js'], [], false],
    ['a package', `${heading}Cannot find module 'nopkg' from 'test/m.test.js'`, ['nopkg.js'], [], false],
    ['a syntax error', `${heading}Jest encountered an unexpected token\n\nSyntaxError: x`, ['src/b.js'], [], false],
  ]);
});

describe('TypeScript', () => {
  const at = (file: string, code: number, text: string): string =>
    `    \u001B[96mtest/${file}\u001B[0m:\u001B[93m1\u001B[0m:\u001B[93m9\u001B[0m - \u001B[91merror\u001B[0m\u001B[90m TS${code}: \u001B[0m${text}\n`;
  const module = at('n.test.ts', 2307, "Cannot find module '../src/b' or its corresponding type declarations.");
  const member = at('n.test.ts', 2305, `Module '"../src/a"' has no exported member 'nope'.`);
  const consequence = at('n.test.ts', 7006, "Parameter 'r' implicitly has an 'any' type.");
  const property = at('n.test.ts', 2339, "Property 'zz' does not exist on type 'K'.");
  check('test/n.test.ts', [
    ['a module', module, ['src/b.ts'], [], true],
    ['a module, and what follows from it', module + consequence, ['src/b.ts'], [], true],
    ['only what would follow', consequence, ['src/b.ts'], [], false],
    ['a module that is not added', module, [], ['src/b.ts'], false],
    ['a member', module + member, ['src/b.ts'], ['src/a.ts'], true],
    ['a member of another module', member, ['src/b.ts'], [], false],
    ['a property of something imported', property, [], ['src/a.ts'], true],
    ['a property of something else', property.replace('n.test', 'o.test'), [], ['src/a.ts'], false],
    ['a wrong type beside it', module + at('n.test.ts', 2322, "Type 'A' is not B."), ['src/b.ts'], [], false],
    [
      'without a terminal',
      "test/n.test.ts(1,9): error TS2307: Cannot find module '../src/b.js' or",
      ['src/b.ts'],
      [],
      true,
    ],
  ]);
});

describe('Python', () => {
  const collected = (error: string): string =>
    `collection failure\nImportError while importing test module '$W/tests/test_x.py'.\nTraceback:\ntests/test_x.py:1: in <module>\n    from pkg.b import y\nE   ${error}`;
  const noModule = (name: string): string => collected(`ModuleNotFoundError: No module named '${name}'`);
  const noName = collected("ImportError: cannot import name 'y' from 'pkg.a' ($W/pkg/a.py)");
  check('tests/test_x.py', [
    ['a module', noModule('pkg.b'), ['pkg/b.py'], [], true],
    ['a module below src', noModule('pkg.b'), ['src/pkg/b.py'], [], true],
    ['a package', noModule('pkg.b'), ['pkg/b/__init__.py'], [], true],
    ['a package without a file of its own', noModule('newpkg'), ['newpkg/b.py'], [], true],
    ['a package that is there, and not on the path', noModule('pkg'), ['pkg/b.py'], [], false],
    ['a module that is not added', noModule('pkg.c'), ['pkg/b.py'], [], false],
    ['something that is not installed', noModule('requests'), ['pkg/requests.py'], [], false],
    ['a name in a modified module', noName, [], ['pkg/a.py'], true],
    ['a name in another module', noName, ['pkg/b.py'], [], false],
    ['a submodule', collected("ImportError: cannot import name 'b' from 'pkg' (x)"), ['pkg/b.py'], [], true],
    [
      'a circle',
      collected("ImportError: cannot import name 'y' from partially initialized module 'pkg.a'"),
      [],
      ['pkg/a.py'],
      false,
    ],
    ['a syntax error', collected('SyntaxError: invalid syntax'), ['pkg/b.py'], [], false],
    ['another error after it', `${noModule('pkg.b')}\nE   RuntimeError: x`, ['pkg/b.py'], [], false],
  ]);
});

describe('Go', () => {
  const undefinedNames = 'undef/b_test.go:3:28: undefined: Missing\nundef/b_test.go:3:39: undefined: Other\n';
  const outside =
    'field/b_test.go:3:45: v.Go undefined (type field.T has no field or method Go)\nfield/b_test.go:3:57: undefined: field.New';
  const missing =
    'missing/b_test.go:2:20: no required module provides package example.com/m/newpkg; to add it:\n\tgo get example.com/m/newpkg';
  check('undef', [
    ['names of the package', undefinedNames, ['undef/new.go'], [], true],
    ['names of a modified package', undefinedNames, [], ['undef/b.go'], true],
    ['names of another package', undefinedNames, ['other/new.go'], [], false],
    ['only a test file is added', undefinedNames, ['undef/new_test.go'], [], false],
    ['methods and qualified names', outside, [], ['field/b.go'], true],
    ['a test of another package', outside.replaceAll('field/b_test', 'cmd/b_test'), [], ['field/b.go'], true],
    [
      'a field of a struct',
      'a/a_test.go:3:1: unknown field Timeout in struct literal of type Config',
      [],
      ['a/a.go'],
      true,
    ],
    ['a package under another name', 'cmd/c_test.go:3:57: undefined: f.New', [], ['field/b.go'], true],
    ['a misspelt name of the standard library', 'cmd/c_test.go:3:57: undefined: strings.Nwe', ['cmd/b.go'], [], false],
    ['a package', missing, ['newpkg/a.go'], [], true],
    [
      'a package in the standard library’s place',
      'a/b_test.go:2:8: package example.com/m/newpkg is not in std (/x)',
      ['newpkg/a.go'],
      [],
      true,
    ],
    [
      'a package that has only tests',
      'go build example.com/m/newpkg: no non-test Go files in $W/newpkg',
      ['newpkg/a.go'],
      [],
      true,
    ],
    [
      'another package that has only tests',
      'go build example.com/m/newpkg: no non-test Go files in $W/newpkg',
      ['cmd/a.go'],
      [],
      false,
    ],
    ['a package of somebody else', missing.replaceAll('example.com/m/newpkg', 'github.com/x/y'), ['y/a.go'], [], false],
    ['a syntax error', "bad/b_test.go:3:34: expected operand, found 'EOF'", ['bad/a.go'], [], false],
    [
      'another error beside it',
      `${undefinedNames}undef/b_test.go:5:1: "fmt" imported and not used`,
      ['undef/a.go'],
      [],
      false,
    ],
    ['more than the compiler tells', `${undefinedNames}undef/b_test.go:9:1: too many errors`, ['undef/a.go'], [], true],
  ]);
});

describe('Rust', () => {
  const block = (code: string, text: string, said: string): string =>
    `error[${code}]: ${text}\n --> tests/newt.rs:1:11\n  |\n1 | use x;\n  |     ^^^^^^ ${said}\n\n`;
  const imported = block('E0432', 'unresolved import `my_m::newmod`', 'could not find `newmod` in `my_m`');
  const called = block('E0425', 'cannot find function `sub` in crate `my_m`', 'not found in `my_m`');
  const method = block('E0599', 'no method named `go` found for struct `T`', 'method not found in `T`');
  const crate = block('E0432', 'unresolved import `serde`', 'use of unresolved module or unlinked crate `serde`');
  check('tests/newt.rs', [
    ['a module', imported, ['src/newmod.rs'], ['src/lib.rs'], true],
    ['functions and methods', called + method, [], ['src/lib.rs'], true],
    ['nothing of Rust is changed', imported, ['README.md', 'tests/newt.rs'], [], false],
    ['a crate that is no dependency', crate, ['src/newmod.rs'], ['src/lib.rs'], false],
    ['a module beside the test', crate.replaceAll('serde', 'helper'), ['tests/helper/mod.rs', 'src/a.rs'], [], true],
    ['a file of a module', block('E0583', 'file not found for module `inner`', ''), ['src/inner.rs'], [], true],
    ['a wrong type', block('E0308', 'mismatched types', 'expected `i32`'), ['src/a.rs'], [], false],
    ['a wrong type beside it', imported + block('E0308', 'mismatched types', ''), ['src/a.rs'], [], false],
    [
      'a syntax error',
      'error: this file contains an unclosed delimiter\n --> tests/syn.rs:4:8\n',
      ['src/a.rs'],
      [],
      false,
    ],
  ]);
});
