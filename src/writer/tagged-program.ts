import { randomUUID } from 'node:crypto';
import { endLeftovers } from '../workspace/leftovers.ts';
import { type ProgramEnd, type ProgramOptions, runProgram } from '../workspace/program.ts';

/**
 * A program whose every descendant carries a value of its own in this variable. What is left of them when it ends is ended
 * too, also what made itself independent of the process group: it would go on changing files that are being looked at.
 */
export async function runTaggedProgram(options: ProgramOptions & { tagVariable: string }): Promise<ProgramEnd> {
  const { tagVariable, ...program } = options;
  const tag = randomUUID();
  try {
    return await runProgram({ ...program, env: { ...program.env, [tagVariable]: tag } });
  } finally {
    await endLeftovers(tag, tagVariable);
  }
}
