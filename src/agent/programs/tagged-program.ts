import { randomUUID } from 'node:crypto';
import { endStrays } from '../../process/other-processes.ts';
import { processStat } from '../../process/process-state.ts';
import { type ProgramEnd, type ProgramOptions, runProgram } from '../../process/program.ts';
import { endLeftovers } from '../../process/tagged-processes.ts';

/**
 * A program whose every descendant carries a value of its own in this variable. What is left of them when it ends is ended
 * too, also what made itself independent of the process group, or even of its environment: it would go on changing files
 * that are being looked at.
 */
export async function runTaggedProgram(options: ProgramOptions & { tagVariable: string }): Promise<ProgramEnd> {
  const { tagVariable, ...program } = options;
  const tag = randomUUID();
  let began: number | null = null;
  const onGroup = (leader: number, ended: boolean): void => {
    if (!ended) began = processStat(leader)?.start ?? null;
    program.onGroup?.(leader, ended);
  };
  try {
    return await runProgram({ ...program, onGroup, env: { ...program.env, [tagVariable]: tag } });
  } finally {
    await endLeftovers(tag, tagVariable);
    if (began !== null) await endStrays(program.cwd, began);
  }
}
