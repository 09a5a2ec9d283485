import { CommanderError } from 'commander';
import { systemCode, toErrorRecord } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import { endOnSignals } from './interrupt.ts';
import { printProblem, usageProblem } from './problem.ts';
import { createProgram } from './program.ts';

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

/** The arguments of a process are for all users of the machine to read: a token, or an address with a password in it. */
function hideArguments(): void {
  const hasPassword = (url: URL | null): boolean =>
    Boolean(url?.password) || url?.searchParams.has('password') === true;
  const isSecret = (word: string): boolean =>
    /^--token(?:=|$)/.test(word) || hasPassword(URL.parse(word.replace(/^--[a-z-]+=/, '')));
  if (process.argv.some(isSecret)) process.title = 'agentos';
}

/** In a directory that was removed, every call that asks for the current one would fail. */
function leaveRemovedDirectory(): void {
  try {
    process.cwd();
  } catch {
    process.chdir('/');
  }
}

/**
 * A reader that goes away (`| head`) is no error of ours: nothing more is shown to it, and the work continues or ends. If
 * stdout can't take what is written for another reason (a full disk), what was asked for is not there: that is a failure.
 */
function closedPipeEndsQuietly(): void {
  const isGone = (error: unknown): boolean => ['EPIPE', 'EIO'].includes(systemCode(error) ?? '');
  // When stderr fails, there is nowhere to report it.
  process.stderr.on('error', () => undefined);
  let failed = false;
  process.stdout.on('error', (error) => {
    if (failed || isGone(error)) return;
    failed = true;
    printProblem({ code: 'output-unwritable', path: 'stdout', reason: systemCode(error) ?? String(error) });
    process.once('exit', () => {
      process.exitCode = EXIT.failed;
    });
  });
}
