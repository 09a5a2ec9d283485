import type { Writable } from 'node:stream';

/** A stream that people read. Colour only where it is shown: on a terminal, or when forced. */
export interface Terminal {
  line(text: string): void;
  readonly colour: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function wantsColour(env: Environment, isTerminal: boolean): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false;
  return isTerminal && env['TERM'] !== 'dumb';
}

export function createTerminal(
  stream: Writable & { isTTY?: boolean },
  env: Environment,
  mask: (text: string) => string,
): Terminal {
  return {
    colour: wantsColour(env, stream.isTTY === true),
    line: (text) => {
      stream.write(`${mask(text)}\n`);
    },
  };
}

const CODES = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, bold: 1 } as const;

export function paint(terminal: { colour: boolean }, style: keyof typeof CODES, text: string): string {
  return terminal.colour ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text;
}

/** Control characters of outside text could move the cursor or rewrite what was printed. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '');
}
