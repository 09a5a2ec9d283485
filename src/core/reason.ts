import { stripVTControlCharacters } from 'node:util';
import { withoutSequences } from './lines.ts';
import { createMask } from './mask.ts';
import { Secret } from './secret.ts';

/*
 * Finds out from its output why a tool failed. Tools print the reason first, then stack frames, brackets, versions and banners, so the
 * last line alone is not enough.
 */

/** The error lines of package managers, compilers, test runners, shells and languages. */
const ERROR =
  /^\W{0,4}(?:E\s+)?(?:npm (?:err!|error)\s|(?:fatal|panic|error|err)(?:\[\w+\]|\])?(?::|!|\s)|err_\w+|execution failed for task\b|could not (?:resolve|find|get|download)\b|(?:\w+ ){1,2}error:\s|(?:\w+\.)*\w*(?:error|exception)(?: \[\w+\])?:\s)|^\d+:\d+\s+error\s|^✖\s+\d+:\d+\s|:\s(?:fatal )?error(?: TS\d+)?:\s|:\d+:\d+: (?:undefined|cannot|could not|syntax error)\b|:\s(?:command )?not found$|(?:^|:\s)no such file or directory|^Cannot find (?:module|package)\b/i;
/** For a message without such a line. */
const TELLING = /error|cannot|can't|failed|unexpected|undefined|expected|no module/i;
/** Lines to skip: hints, update notices, stack frames, and lines of brackets or rulers only. */
const ASIDE =
  /^\W{0,4}npm (?:notice|warn)\b|^npm (?:err!|error)\s+(?:A complete log of this run|$)|^Node\.js v\d|^\[ERROR\]\s*(?:To see the full|Re-run Maven|For more information|After correcting|\[Help \d|$)|^(?:\* Try|Run with --|\* Get more help|BUILD FAILED)|actionable tasks?:|^\W*(?:update available|new (?:major|minor|patch) version|changelog:|to update run)|ELIFECYCLE|^\s*at .+(?::\d+|\))$|^\s*node:internal\/|^[^\p{L}\p{N}]*$/iu;

function linesOf(output: string): string[] {
  return withoutSequences(output)
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => !ASIDE.test(line));
}

const isError = (line: string): boolean => ERROR.test(line.trimStart());

/** The lines that say why a tool failed: its first errors, or without any, its last lines. */
export function errorLines(output: string, most: number): string[] {
  const lines = linesOf(output);
  const errors = lines.filter(isError);
  return errors.length > 0 ? errors.slice(0, most) : lines.slice(-most);
}

const MOST_REASON = 3;

/** The same in one line. */
export function reasonIn(output: string): string {
  return errorLines(output, MOST_REASON)
    .map((line) => line.trim())
    .join(' | ');
}

const MOST_LINE = 300;
const MOST_MESSAGE = 1_500;

/** Whether a line or its paragraph only reports code that does not exist yet. */
type IsExcused = (part: string) => boolean;

/** The line of a failure's message that says what is wrong. */
export function errorLine(text: string, isExcused: IsExcused = () => false): string {
  const lines = text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => linesOf(paragraph).map((line) => ({ line: line.trim(), paragraph })));
  const errors = lines.filter(({ line }) => isError(line));
  const candidates = errors.length > 0 ? errors : lines.filter(({ line }) => TELLING.test(line));
  const blamed = candidates.find(({ line, paragraph }) => !isExcused(line) && !isExcused(paragraph));
  const found = blamed ?? candidates[0] ?? lines[0];
  return (found?.line ?? '').replace(/^E\s+/, '').slice(0, MOST_LINE);
}

/** That line, then the whole message if it is longer. */
export function errorMessage(text: string, isExcused?: IsExcused): string {
  const line = errorLine(text, isExcused);
  const whole = cutMiddle(text.trim(), MOST_MESSAGE);
  return whole.startsWith(line) ? whole : `${line}\n${whole}`;
}

/** Cuts the middle out of a long text: some runners say what is wrong first, others last. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}\n…\n${text.slice(-half)}`;
}

const LAST_LINES = 60;
const FIRST_ERRORS = 20;

/** Keeps the first errors and the last lines of an output. */
export function createOutputKeeper() {
  const errors: string[] = [];
  const last: string[] = [];
  return {
    push(line: string): void {
      last.push(line);
      if (last.length <= LAST_LINES) return;
      const gone = last.shift() ?? '';
      if (errors.length < FIRST_ERRORS && isError(withoutSequences(gone))) errors.push(gone);
    },
    text: (): string => [...errors, ...last].join('\n'),
  };
}

const MAX_DETAIL_CHARS = 300;

/** One short line without the key and control characters. */
export function detailOf(text: string, secret = ''): string {
  const clean = secret === '' ? text : createMask([new Secret(secret)])(text.replaceAll(secret, '[secret]'));
  const line = clean.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_DETAIL_CHARS ? `${line.slice(0, MAX_DETAIL_CHARS - 1)}…` : line;
}

const MOST_LOG_CHARS = 8_000;
const LONGEST_LOG_LINE = 500;
/** How many lines to show around the line that says that a step failed. */
const LINES_BEFORE = 80;
const LINES_AFTER = 5;
const LAST_LOG_LINES = 100;
const FIRST_LOG_ERRORS = 10;

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
    .map((line) => (line.length > LONGEST_LOG_LINE ? `${line.slice(0, LONGEST_LOG_LINE)}…` : line));
  const failed = lines.findIndex((line) => FAILED_STEP.test(line));
  const shown =
    failed < 0
      ? [...errorsBefore(lines), ...lines.slice(-LAST_LOG_LINES)]
      : lines.slice(Math.max(0, failed - LINES_BEFORE), failed + LINES_AFTER);
  return cutMiddle(shown.join('\n').trim(), MOST_LOG_CHARS);
}

/** Errors that are not among the last lines. */
function errorsBefore(lines: readonly string[]): string[] {
  const before = lines.slice(0, -LAST_LOG_LINES).join('\n');
  const errors = before === '' ? [] : errorLines(before, FIRST_LOG_ERRORS);
  return errors.length === 0 ? [] : [...errors, '…'];
}
