import { stripVTControlCharacters } from 'node:util';
import { cutMiddle, errorLines } from './reason.ts';

const MOST_CHARS = 8_000;
const LONGEST_LINE = 500;
/** How many lines to show around the line that says that a step failed. */
const LINES_BEFORE = 80;
const LINES_AFTER = 5;
const LAST_LINES = 100;
const FIRST_ERRORS = 10;

/** CI runners put these in front of each line, and around groups of lines. */
const STAMP = /^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z(?: \d+[EO]\+?)? ?/;
const SECTION = /section_(?:start|end):\d+:[^\r\n]*\r?/g;
const FAILED_STEP = /^##\[error\]/;

/**
 * The part of a CI job's log that says why it failed, with a maximum length: the lines before the first failed step; without one, the
 * first errors and the last lines.
 */
export function failingPart(log: string): string {
  const lines = stripVTControlCharacters(log.replace(SECTION, ''))
    .split(/\r?\n/)
    .map((line) => line.replace(STAMP, '').trimEnd())
    // Of a line that was overwritten, only the last version is shown.
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line));
  const failed = lines.findIndex((line) => FAILED_STEP.test(line));
  const shown =
    failed < 0
      ? [...errorsBefore(lines), ...lines.slice(-LAST_LINES)]
      : lines.slice(Math.max(0, failed - LINES_BEFORE), failed + LINES_AFTER);
  return cutMiddle(shown.join('\n').trim(), MOST_CHARS);
}

/** Errors that are not among the last lines. */
function errorsBefore(lines: readonly string[]): string[] {
  const before = lines.slice(0, -LAST_LINES).join('\n');
  const errors = before === '' ? [] : errorLines(before, FIRST_ERRORS);
  return errors.length === 0 ? [] : [...errors, '…'];
}
