import { CommanderError } from 'commander';
import { toErrorRecord } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import { hideArguments, leaveRemovedDirectory } from '../process/own-process.ts';
import { printProblem, usageProblem } from './print.ts';
import { createProgram } from './program.ts';
import { closedPipeEndsQuietly, endOnSignals } from './signals.ts';

endOnSignals();
closedPipeEndsQuietly();
hideArguments();
leaveRemovedDirectory();
const program = createProgram();
try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    const problem = usageProblem(error, program);
    if (problem) printProblem(problem);
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    const { problem } = toErrorRecord(error);
    printProblem(problem);
    process.exitCode = problem.code === 'internal' ? EXIT.failed : EXIT.usage;
  }
}
