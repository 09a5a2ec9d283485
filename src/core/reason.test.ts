import { expect, test } from 'vitest';
import { createOutputKeeper, cutMiddle, errorLine, errorLines, errorMessage } from './reason.ts';

test.each([
  [
    'npm',
    `npm warn deprecated x@1
npm error code E404
npm error 404 Not Found - GET https://registry/never
npm error 404
npm error A complete log of this run can be found in: /home/me/.npm/_logs/x.log
npm notice
npm notice New minor version of npm available! 11.1.0 -> 11.2.0`,
    ['npm error code E404', 'npm error 404 Not Found - GET https://registry/never', 'npm error 404'],
  ],
  ['an older npm', 'npm ERR! code ERESOLVE\nnpm ERR!\nnpm notice x', ['npm ERR! code ERESOLVE']],
  [
    'pnpm',
    'Scope: all\n ERR_PNPM_OUTDATED_LOCKFILE  Cannot install\n\nThis error happened',
    [' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install'],
  ],
  [
    'yarn',
    'info No lockfile\nerror An unexpected error occurred: "x".\ninfo If you think',
    ['error An unexpected error occurred: "x".'],
  ],
  [
    'pip',
    'Collecting x\n\u001b[31mERROR: No matching distribution found for x\u001b[0m',
    ['ERROR: No matching distribution found for x'],
  ],
  [
    'ESLint',
    '/w/lib/a.js\n  3:1   error    Expected a function expression  func-style\n  9:5   warning  Unexpected use of continue  no-continue\n\n✖ 2 problems (1 error, 1 warning)',
    ['  3:1   error    Expected a function expression  func-style'],
  ],
  [
    'XO',
    '  index.js:3:1\n  ✖  3:1  Strings must use singlequote.  quotes\n\n  1 error',
    ['  ✖  3:1  Strings must use singlequote.  quotes'],
  ],
  ['a shell', 'sh: 1: uv: not found', ['sh: 1: uv: not found']],
  ['cargo', '  Compiling x\nerror[E0432]: unresolved import\n --> src/a.rs:1:1', ['error[E0432]: unresolved import']],
  [
    'Node',
    "throw err;\nError: Cannot find module 'x'\n    at f\n}\n\nNode.js v24.1.0",
    ["Error: Cannot find module 'x'"],
  ],
  [
    'Python',
    'Traceback (most recent call last):\n  x\nModuleNotFoundError: No module named y',
    ['ModuleNotFoundError: No module named y'],
  ],
  ['a tool that says it in its own way', 'one\ntwo\nthree\nfour\nnpm notice x', ['two', 'three', 'four']],
  ['silence', '\n', []],
  [
    'a test framework that ends with brackets, a version and a banner',
    'Starting\nthe port is taken\n    at listen (net.js:1:2)\n  })\n}\nNode.js v24.21.0\n╭─────╮\n│ Update available! 1.0 → 2.0 │\n╰─────╯',
    ['Starting', 'the port is taken'],
  ],
  [
    'tsc and pnpm',
    "> tsc\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.\n ELIFECYCLE  Command failed with exit code 2.",
    ["src/a.ts(3,1): error TS2304: Cannot find name 'x'."],
  ],
  [
    'Maven',
    '[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal x:test on project calc: Plugin y could not be resolved -> [Help 1]\n[ERROR] \n[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n[ERROR] [Help 1] http://cwiki.apache.org/x',
    ['[ERROR] Failed to execute goal x:test on project calc: Plugin y could not be resolved -> [Help 1]'],
  ],
  [
    'Gradle',
    "* What went wrong:\nExecution failed for task ':compileTestJava'.\n> Could not resolve junit:junit:4.13.2.\n\n* Try:\nRun with --stacktrace option\n\nBUILD FAILED in 32s\n2 actionable tasks: 2 executed",
    ["Execution failed for task ':compileTestJava'.", '> Could not resolve junit:junit:4.13.2.'],
  ],
  [
    'turbo',
    ' WARNING  No lock file\n  x IO error: no such folder\n  |-> no such folder',
    ['  x IO error: no such folder'],
  ],
  ['go', '# example.org/a\n./a.go:3:1: undefined: Add\nFAIL', ['./a.go:3:1: undefined: Add']],
])('%s', (_, output, lines) => {
  expect(errorLines(output, 3)).toEqual(lines);
});

const PYTEST = `ImportError while importing test module '/x/tests/test_a.py'.
Traceback:
tests/test_a.py:3: in <module>
    from calc.ading import add
E   ModuleNotFoundError: No module named 'calc.ading'`;

test('an error is told before the heading over it', () => {
  expect(errorLine(PYTEST)).toBe("ModuleNotFoundError: No module named 'calc.ading'");
});

test('without an error in its own form, the first line that speaks of one is told, or the first of all', () => {
  expect(errorLine('# a package\na_test.go:3:1: undefined: Add')).toBe('a_test.go:3:1: undefined: Add');
  expect(errorLine('\nnothing of note\n')).toBe('nothing of note');
  expect(errorLine('')).toBe('');
});

test('of several reasons the first one is told that is not excused, by line or by paragraph', () => {
  const lines = 'a_test.go:3:1: undefined: calc.Add\na_test.go:4:1: undefined: strings.Nwe';
  expect(errorLine(lines, (part) => part.endsWith('calc.Add'))).toContain('strings.Nwe');
  const paragraphs = 'error[E0432]: unresolved import `a`\n --> tests/a.rs:1\n\nerror: expected `;`\n --> tests/a.rs:2';
  expect(errorLine(paragraphs, (part) => part.includes('a.rs:1'))).toBe('error: expected `;`');
});

test('the whole of what was said follows where it is more than that line', () => {
  expect(errorMessage('SyntaxError: no')).toBe('SyntaxError: no');
  expect(errorMessage('x.js:1\nSyntaxError: no')).toBe('SyntaxError: no\nx.js:1\nSyntaxError: no');
});

test('of a long output the first error is kept, and its end', () => {
  const keeper = createOutputKeeper();
  keeper.push('Error: the first');
  for (let n = 0; n < 1_000; n++) keeper.push(`line ${n}`);
  expect(errorLines(keeper.text(), 1)).toEqual(['Error: the first']);
  expect(keeper.text()).toMatch(/^Error: the first\nline 940\n[^]*line 999$/);
});

test('a long message keeps what is said first and last', () => {
  expect(cutMiddle(`first${'-'.repeat(100)}last`, 20)).toMatch(/^first-+\n…\n-+last$/);
  expect(cutMiddle('short', 20)).toBe('short');
});
