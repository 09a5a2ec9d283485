import { isRead, type TestSuite } from '../testing/port.ts';
import { traced } from './tracer.ts';

/** Every run of the tests as a span. Tests that fail are an answer; a run that can't tell is an error. */
export function tracedTests(suite: TestSuite): TestSuite {
  return {
    runner: suite.runner,
    command: suite.command,
    isTestFile: (path) => suite.isTestFile(path),
    run: (options) =>
      traced('test run', { attributes: { 'agentos.tests.runner': suite.runner } }, async (span) => {
        const run = await suite.run(options);
        const count = (outcome: string): number => run.cases.filter((test) => test.outcome === outcome).length;
        span.set({
          'agentos.tests.command': run.command,
          'agentos.tests.outcome': run.outcome,
          'agentos.tests.passed': count('passed'),
          'agentos.tests.failed': count('failed'),
          'agentos.tests.skipped': count('skipped'),
          'agentos.tests.not_loaded': run.loadFailures.length,
          'process.exit.code': run.exitCode,
        });
        if (!isRead(run)) span.fail(`tests-${run.outcome}`);
        return run;
      }),
  };
}
