import type { LoadFailure, RunnerName } from './port.ts';
import type { Changes, Runner } from './runner.ts';
import { cargo } from './runners/cargo.ts';
import { go } from './runners/go.ts';
import { jest } from './runners/jest.ts';
import { node } from './runners/node.ts';
import { pytest } from './runners/pytest.ts';
import { vitest } from './runners/vitest.ts';
import { junit, tap } from './runners/written-report.ts';
import { runnerCalls, type TestScript } from './script.ts';

/** In the order in which a project is asked for signs of them. */
export const RUNNERS: readonly Runner[] = [vitest, jest, pytest, go, cargo, node, junit, tap];

export function runnerNamed(name: RunnerName): Runner {
  const found = RUNNERS.find((runner) => runner.name === name);
  if (found === undefined) throw new Error(`no runner ${name}`);
  return found;
}

export function testScript(text: string): TestScript {
  return { text, calls: runnerCalls(text, RUNNERS) };
}

/**
 * Whether tests could not be loaded only because of code that the LLD brings. Whatever is not understood is a failure of its
 * own: a syntax error, a package that is not installed, a misspelt path, several reasons of which one is another.
 */
export function isMissingCode(failure: LoadFailure, changes: Changes, worktree: string): boolean {
  for (const runner of RUNNERS) {
    const answer = runner.isMissingCode?.(failure, changes, worktree) ?? null;
    if (answer !== null) return answer;
  }
  return false;
}
