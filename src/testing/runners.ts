import { posix } from 'node:path';
import type { LoadFailure, RunnerName } from './port.ts';
import type { Changes, Runner } from './runner.ts';
import { cargo, isRustMissing } from './runners/cargo.ts';
import { dotnet, gradle, isDotnetMissing, isJvmMissing, maven } from './runners/compiled.ts';
import { go, isGoMissing } from './runners/go.ts';
import { isJavaScriptMissing } from './runners/javascript.ts';
import { bun, isPhpMissing, junit, phpunit } from './runners/junit.ts';
import { borp, node } from './runners/node.ts';
import { jasmine, jest, mocha, uvu, vitest } from './runners/own-reporters.ts';
import { isPythonMissing, pytest, unittest } from './runners/python.ts';
import { isRubyMissing, minitest, rspec, testUnit } from './runners/ruby.ts';
import { ava, qunit, tap } from './runners/tap.ts';
import { runnerCalls, type TestScript } from './script.ts';

/** In order of precedence: of equally strong signs, the first wins. */
export const RUNNERS: readonly Runner[] = [
  vitest,
  jest,
  unittest,
  pytest,
  go,
  cargo,
  borp,
  mocha,
  ava,
  uvu,
  jasmine,
  qunit,
  bun,
  tap,
  node,
  maven,
  gradle,
  phpunit,
  rspec,
  minitest,
  testUnit,
  dotnet,
  junit,
];

export function runnerNamed(name: RunnerName): Runner {
  const found = RUNNERS.find((runner) => runner.name === name);
  if (found === undefined) throw new Error(`no runner ${name}`);
  return found;
}

export function testScript(text: string): TestScript {
  return { text, calls: runnerCalls(text, RUNNERS) };
}

/** Each answers for the errors of its language, and null for others. */
const LANGUAGES = [
  isJavaScriptMissing,
  isPythonMissing,
  isGoMissing,
  isRustMissing,
  isJvmMissing,
  isPhpMissing,
  isRubyMissing,
  isDotnetMissing,
];

/**
 * Whether tests fail to load only because a file that the LLD adds, or a name in a file that it modifies, doesn't exist yet.
 * False for any other reason: a syntax error, a package that isn't installed, a misspelt path, or several reasons of which one
 * is different. `folder`: where the tests ran.
 */
export function isMissingCode(failure: LoadFailure, changes: Changes, worktree: string, folder = ''): boolean {
  // Tools print paths relative to their working directory.
  const inFolder = (path: string): string => (folder === '' ? path : posix.relative(folder, path));
  const there = { ...failure, file: failure.file === null ? null : inFolder(failure.file) };
  const changed = { added: changes.added.map(inFolder), modified: changes.modified.map(inFolder) };
  for (const isMissing of LANGUAGES) {
    const answer = isMissing(there, changed, posix.join(worktree, folder));
    if (answer !== null) return answer;
  }
  return false;
}
