import type { LoadFailure, TestCase } from '../port.ts';
import { parseTap } from '../reports/tap.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { packaged, withPrintedErrors } from './javascript.ts';

/** The first line of an error about a file that can't be loaded. Old versions make a test of it, and print the error below its name. */
const LOADING = /^.*Failed to load (?:the test )?file (\S+)\n?/m;
const LOADING_IN_NAME = /^(\S+) > Failed to load the test file with error:$/;

export const qunit: Runner = {
  ...packaged('qunit', /^--(watch|trace-deprecation)$/, { packages: ['qunit', 'qunitjs'] }),
  readsStdout: true,

  change: (call) => ({
    remove: optionsMatching(call, /^(-w|--watch)$/, /^--reporter(=|$)/),
    first: ['--reporter', 'tap'],
  }),

  async read({ pathInWorktree }, output) {
    const tap = parseTap(output.stdout, () => null);
    const named = ({ name }: TestCase): string | undefined => LOADING_IN_NAME.exec(name)?.[1];
    const isGlobal = (test: TestCase): boolean => test.name === 'global failure' || named(test) !== undefined;
    const failureOf = (test: TestCase): LoadFailure => ({
      file: pathInWorktree(named(test) ?? LOADING.exec(test.message ?? '')?.[1] ?? ''),
      message: named(test) === undefined ? (test.message ?? '').replace(LOADING, '') : '',
    });
    const isPrinted = tap?.cases.some((test) => named(test) !== undefined) ?? false;
    const reading =
      tap === null
        ? null
        : {
            cases: tap.cases.filter((test) => !isGlobal(test)),
            // "No tests were run" isn't a failure of a file.
            loadFailures: tap.cases
              .filter((test) => isGlobal(test) && !/^message: No tests were run/m.test(test.message ?? ''))
              .map(failureOf),
          };
    return withPrintedErrors(reading, { ...output, stdout: isPrinted ? output.stdout : '' }, pathInWorktree);
  },
};
