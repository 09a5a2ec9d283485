import type { Problem } from '../core/errors.ts';
import { readKeys } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import { createTerminal, paint, printable } from '../output/terminal.ts';
import { wordingOf } from '../output/wording.ts';

/** One clear line that says what is wrong, and one that says what to do. */
export function printProblem(problem: Problem): void {
  const mask = createMask(readKeys(process.env, {}).map((key) => key.secret));
  const terminal = createTerminal(process.stderr, process.env, mask);
  const { message, hint } = wordingOf(problem);
  terminal.line(`${paint(terminal, 'red', 'error:')} ${printable(message)}`);
  if (hint) terminal.line(printable(hint));
}
