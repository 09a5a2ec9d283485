import { CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { usageProblem } from './print.ts';
import { createProgram } from './program.ts';

async function problemOf(...args: string[]): Promise<unknown> {
  const program = createProgram();
  for (const command of [program, ...program.commands]) {
    command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined, outputError: () => undefined });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return usageProblem(error, program);
    throw error;
  }
  throw new Error('nothing is wrong with that');
}

const mistakes: [args: string[], reason: string, hint: string][] = [
  [['ldl'], "Unknown command 'ldl'.", 'Did you mean lld? See: agentos --help'],
  [['impl'], "Unknown command 'impl'.", 'Did you mean implement? See: agentos --help'],
  [['plan'], "Unknown command 'plan'.", 'See: agentos --help'],
  [['zzz'], "Unknown command 'zzz'.", 'See: agentos --help'],
  [['lld', '--al'], "Unknown option '--al'.", 'Did you mean --all? See: agentos lld --help'],
  [['logs'], "Missing required argument 'id'.", 'See: agentos logs --help'],
  [['lld', '--timeout'], "Option '--timeout <duration>' argument missing.", 'See: agentos lld --help'],
  [
    ['lld', '1', '--max-rounds', '0'],
    "Option '--max-rounds <n>' argument '0' is invalid.",
    'Write a whole number from 1 to 20. See: agentos lld --help',
  ],
  [
    ['lld', '1', '--max-cost', 'is invalid. x'],
    "Option '--max-cost <usd>' argument 'is invalid. x' is invalid.",
    'Write an amount in USD above zero, such as 2.50. See: agentos lld --help',
  ],
  [
    ['completion', 'tcsh'],
    "Command-argument value 'tcsh' is invalid for argument 'shell'.",
    'Allowed choices are bash, zsh, fish. See: agentos completion --help',
  ],
];

test.each(mistakes)('%j is told with what to do', async (args, reason, hint) => {
  expect(await problemOf(...args)).toEqual({ code: 'usage', reason, hint });
});

test.each([['--help'], ['--version'], ['lld', '--help'], ['help'], ['help', 'lld'], []])(
  'help and version are no mistakes: %j',
  async (...args) => {
    expect(await problemOf(...args)).toBeNull();
  },
);
