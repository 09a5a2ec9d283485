import { EXIT } from '../../core/exit-code.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { wordingOf } from '../../output/wording.ts';
import { examine } from '../../workspace/examination.ts';
import type { PlaceFlags } from '../place-flags.ts';

const MARKS = { ok: ['green', 'ok  '], warn: ['yellow', 'note'], bad: ['red', 'BAD '] } as const;

export async function doctorCommand(flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const { repo, baseDir, config } = flags;
  const examined = await examine({ cwd: process.cwd(), env: process.env, repo, baseDir, config, flags: {} });
  const checks = examined.map(({ name, state, found, todo }) => {
    if (typeof found === 'string') return { name, state, detail: found, todo };
    const { message, hint } = wordingOf(found);
    return { name, state, detail: message, todo: hint };
  });
  const healthy = checks.every((check) => check.state !== 'bad');
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ healthy, checks }, null, 2)}\n`);
    return healthy ? EXIT.ok : EXIT.failed;
  }
  const terminal = createTerminal(process.stdout, process.env, (text) => text);
  for (const { name, state, detail, todo } of checks) {
    const [style, mark] = MARKS[state];
    terminal.line(`${paint(terminal, style, mark)}  ${name.padEnd(14)}  ${printable(detail)}`);
    if (todo) terminal.line(`      ${' '.repeat(14)}  ${printable(todo)}`);
  }
  terminal.line(
    healthy
      ? 'Ready. Try: agentos lld --all'
      : 'Mend what is BAD, or try it without any key: agentos lld --all --offline',
  );
  return healthy ? EXIT.ok : EXIT.failed;
}
