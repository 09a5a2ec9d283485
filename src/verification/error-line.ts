/** How an error begins that a language or its compiler reports. */
const ERROR = /^(?:E\s+)?(?:error(?:\[E\d+\])?|(?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?): /;
const TELLING = /error|cannot|can't|failed|unexpected|undefined|expected|no module/i;
const MOST_LINE = 300;
const MOST_MESSAGE = 1_500;

/** Whether a line, or the paragraph around it, only reports code that is still missing. */
type IsExcused = (part: string) => boolean;

/** The line that says what is wrong; compilers and runners put headings, paths and rulers around it. */
export function errorLine(text: string, isExcused: IsExcused = () => false): string {
  const lines = text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.split('\n').map((line) => ({ line: line.trim(), paragraph })));
  const matching = (pattern: RegExp) => lines.filter(({ line }) => pattern.test(line));
  const errors = matching(ERROR);
  const candidates = errors.length > 0 ? errors : matching(TELLING);
  const blamed = candidates.find(({ line, paragraph }) => !isExcused(line) && !isExcused(paragraph));
  const found = blamed ?? candidates[0] ?? lines.find(({ line }) => line !== '');
  return (found?.line ?? '').replace(/^E\s+/, '').slice(0, MOST_LINE);
}

/** What is wrong in one line, then all that was said where that is more. */
export function errorMessage(text: string, isExcused?: IsExcused): string {
  const line = errorLine(text, isExcused);
  const whole = shortened(text);
  return whole === line ? line : `${line}\n${whole}`;
}

/** Enough of the message to fix it. */
export function shortened(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > MOST_MESSAGE ? `${trimmed.slice(0, MOST_MESSAGE)} …` : trimmed;
}
