import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import type { LoadFailure } from '../port.ts';
import { loadMessage } from '../reports/report.ts';
import type { Ask, RunOutput, RunPlace } from '../runner.ts';
import { shellQuoted } from '../shell-script.ts';

/** Each takes a process. */
const MOST_ASKED = 10;
/** All that node:test says of a file whose process failed. */
const ONLY_FAILED = /(?:^|error: |cause: |\[Error: )'?test failed\b/m;

/**
 * The load failures, with a reason also where the report gives none: one that is known, what was printed, or what Node says
 * of the file alone.
 */
export async function withReasons(
  failures: readonly LoadFailure[],
  known: ReadonlyMap<string, string>,
  place: RunPlace,
  output: RunOutput,
  ask: Ask,
): Promise<LoadFailure[]> {
  const files = failures.flatMap((failure) => (failure.file !== null && isBare(failure) ? [failure.file] : []));
  if (files.length === 0) return [...failures];
  const reasons = new Map(known);
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

const TAIL_LINES = 200;
const RESULT = /^\s*(?:(?:not )?ok\b|[✔✖✓✗×])/;
const SUBTEST = /^\s*# Subtest\b/;

/**
 * What a command printed about each of some files that could not be loaded. What can't be told apart – a part that names
 * several of them – explains none; only where a single file is looked for, the end of the output is about it anyway.
 */
export function printedReasons(
  output: string,
  files: readonly string[],
  roots: readonly string[],
): ReadonlyMap<string, string> {
  const clean = stripVTControlCharacters(output).trimEnd();
  if (clean.trim() === '') return new Map();
  const names = files.map((file) => ({ file, name: nameOf(file, roots) }));
  const reasons = new Map<string, string>();
  for (const part of partsOf(clean.split(/\r?\n/))) {
    const [named, ...others] = names.filter(({ name }) => name.test(part));
    if (named === undefined || others.length > 0) continue;
    const before = reasons.get(named.file);
    reasons.set(named.file, before === undefined ? part : `${before}\n${part}`);
  }
  const [only, ...more] = files;
  if (only !== undefined && more.length === 0 && !reasons.has(only))
    reasons.set(only, clean.split('\n').slice(-TAIL_LINES).join('\n'));
  return reasons;
}

/** However a tool writes the path. */
function nameOf(file: string, roots: readonly string[]): RegExp {
  const absolute = roots.map((root) => join(root, file));
  const spellings = [file, `./${file}`, ...absolute, ...absolute.map((path) => pathToFileURL(path).href)];
  const escaped = spellings.map((spelling) => spelling.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(String.raw`(?<![\w./-])(?:${escaped.join('|')})(?![\w/-]|\.\w)`);
}

/** A test's result stands below what the test printed; Node's last words end what a file printed. */
function partsOf(lines: readonly string[]): string[] {
  const parts: string[][] = [[]];
  let isOver = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const end = /^\s*---\s*$/.test(line) && RESULT.test(lines[at - 1] ?? '') ? endOfDiagnostics(lines, at) : -1;
    if (end >= 0) {
      at = end;
      continue;
    }
    const isResult = RESULT.test(line);
    if (isOver && !isResult && !SUBTEST.test(line) && line.trim() !== '') {
      parts.push([]);
      isOver = false;
    }
    const said = SUBTEST.test(line) ? line : line.replace(/^\s*# /, '').replaceAll('\\#', '#');
    parts.at(-1)?.push(said);
    if (/^Node\.js v\d/.test(said)) isOver = true;
    if (isResult) {
      parts.push([]);
      isOver = false;
    }
  }
  return parts.map((part) => part.join('\n').trim()).filter((part) => part !== '');
}

/** They name the file of the result above them, and say nothing that the report doesn't. */
function endOfDiagnostics(lines: readonly string[], start: number): number {
  return lines.findIndex((line, at) => at > start && /^\s*\.\.\.$/.test(line));
}
