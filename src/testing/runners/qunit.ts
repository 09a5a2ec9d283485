import type { LoadFailure, TestCase } from '../port.ts';
import { parseTap } from '../reports/tap.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { packaged, withPrintedErrors } from './javascript.ts';

/** The first line of an error about a file that can't be loaded. */
const LOADING = /^.*Failed to load (?:the test )?file (\S+)\n?/m;

export const qunit: Runner = {
  ...packaged('qunit', /^--(watch|trace-deprecation)$/, { packages: ['qunit', 'qunitjs'] }),
  readsStdout: true,

  change: (call) => ({
    remove: optionsMatching(call, /^(-w|--watch)$/, /^--reporter(=|$)/),
    first: ['--reporter', 'tap'],
  }),

  async read({ pathInWorktree }, output) {
    const tap = parseTap(output.stdout, () => null);
    const isGlobal = ({ name }: TestCase): boolean => name === 'global failure';
    const failureOf = ({ message }: TestCase): LoadFailure => ({
      file: pathInWorktree(LOADING.exec(message ?? '')?.[1] ?? ''),
      message: (message ?? '').replace(LOADING, ''),
    });
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
    return withPrintedErrors(reading, { ...output, stdout: '' }, pathInWorktree);
  },
};
