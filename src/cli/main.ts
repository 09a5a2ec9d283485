import { toErrorRecord } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import { closedPipeEndsQuietly } from './closed-pipe.ts';
import { printProblem } from './problem.ts';
import { createProgram, usageExitCode } from './program.ts';

closedPipeEndsQuietly();
try {
  await createProgram().parseAsync(process.argv);
} catch (error) {
  const exitCode = usageExitCode(error);
  if (exitCode !== null) {
    process.exitCode = exitCode;
  } else {
    const { problem } = toErrorRecord(error);
    printProblem(problem);
    process.exitCode = problem.code === 'internal' ? EXIT.failed : EXIT.usage;
  }
}
