import { realpath } from 'node:fs/promises';
import { loadMessage } from '../message.ts';
import type { LoadFailure } from '../port.ts';
import { printedReasons } from '../reports/printed-reasons.ts';
import type { Ask, RunOutput, RunPlace } from '../runner.ts';
import { shellQuoted } from '../shell-script.ts';
import { sideReasons } from './node-side-report.ts';

/** Each takes a process. */
const MOST_ASKED = 10;
/** All that node:test says of a file whose process failed. */
const ONLY_FAILED = /(?:^|error: |cause: |\[Error: )'?test failed\b/m;

/** The load failures, with a reason also where the report gives none: from what else is known of the run. */
export async function withReasons(
  failures: readonly LoadFailure[],
  place: RunPlace,
  output: RunOutput,
  ask: Ask,
): Promise<LoadFailure[]> {
  const files = failures.flatMap((failure) => (failure.file !== null && isBare(failure) ? [failure.file] : []));
  if (files.length === 0) return [...failures];
  const reasons = await sideReasons(place);
  const open = [...new Set(files)].filter((file) => !reasons.has(file));
  const roots = [...new Set([place.worktree, await realpath(place.worktree)])];
  for (const [file, reason] of printedReasons(`${withoutReport(place, output)}\n${output.stderr}`, open, roots))
    reasons.set(file, reason);
  for (const file of open.filter((path) => !reasons.has(path) && isOfNode(path, failures)).slice(0, MOST_ASKED)) {
    const alone = await ask(`node ${shellQuoted(file)}`);
    if (alone.exitCode !== 0 && alone.stderr.trim() !== '') reasons.set(file, alone.stderr);
  }
  return failures.map((failure) => {
    const reason = failure.file !== null && isBare(failure) ? reasons.get(failure.file) : undefined;
    return reason === undefined ? failure : { file: failure.file, message: loadMessage(reason) };
  });
}

function isBare({ message }: LoadFailure): boolean {
  return message === '' || ONLY_FAILED.test(message);
}

/** A file that Node itself can be asked about: the run was one of node:test, hidden in the command. */
function isOfNode(file: string, failures: readonly LoadFailure[]): boolean {
  if (!/\.[cm]?[jt]s$/.test(file)) return false;
  return failures.some((failure) => failure.file === file && failure.message.includes('ERR_TEST_FAILURE'));
}

/** JUnit's XML on standard output is the report, and explains nothing that was not read from it. */
function withoutReport(place: RunPlace, { stdout }: RunOutput): string {
  return place.report !== null && stdout.trimStart().startsWith('<?xml') ? '' : stdout.trimEnd();
}
