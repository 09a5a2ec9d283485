import { stripVTControlCharacters } from 'node:util';

/** How package managers, compilers, shells and languages begin the line that says what went wrong. */
const ERROR =
  /^\W{0,4}(?:npm (?:err!|error)\s|(?:fatal|panic|error|err)(?:\[\w+\])?(?::|!|\s)|err_\w+|(?:\w+\.)*\w*(?:error|exception)(?: \[\w+\])?:\s)|:\s(?:command )?not found$|^no such file or directory/i;
/** What is said beside: hints, updates, and where the details are. */
const ASIDE = /^\W{0,4}npm (?:notice|warn)\b|^npm (?:err!|error)\s+(?:A complete log of this run|$)|^Node\.js v\d/i;

/** The lines of a tool's output that say why it failed: its first errors, or its last words where none looks like one. */
export function errorLines(output: string, most: number): string[] {
  const lines = stripVTControlCharacters(output)
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '' && !ASIDE.test(line));
  const errors = lines.filter((line) => ERROR.test(line.trimStart()));
  return errors.length > 0 ? errors.slice(0, most) : lines.slice(-most);
}
