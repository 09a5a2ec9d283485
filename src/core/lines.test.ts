import { expect, test } from 'vitest';
import { errorLines } from './lines.ts';

test.each([
  [
    'npm',
    `npm warn deprecated x@1
npm error code E404
npm error 404 Not Found - GET https://registry/never
npm error 404
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log
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
])('%s', (_, output, lines) => {
  expect(errorLines(output, 3)).toEqual(lines);
});
