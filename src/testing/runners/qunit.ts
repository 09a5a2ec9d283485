import type { LoadFailure, TestCase } from '../port.ts';
import { signOf } from '../project.ts';
import { parseTap } from '../reports/tap.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { optionsMatching, programNamed } from '../script.ts';
import { isJavaScriptMissing, namedTests, withPrintedErrors } from './javascript.ts';

/** The heading of the error that kept a file from loading. */
const LOADING = /^.*Failed to load (?:the test )?file (\S+)\n?/m;

export const qunit: Runner = {
  name: 'qunit',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['qunit', 'qunitjs']),
  usualCommand: async () => 'qunit',
  headAt: programNamed('qunit', 'qunit.js'),
  select: (call, files) => namedTests(call, files, /^--(watch|trace-deprecation)$/),

  async instrument(script) {
    const changes = await changedCalls(script, 'qunit', (call) => ({
      remove: optionsMatching(call, /^(-w|--watch)$/, /^--reporter(=|$)/),
      first: ['--reporter', 'tap'],
    }));
    return { changes };
  },

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
            // That there was nothing to run is no failure of a file.
            loadFailures: tap.cases
              .filter((test) => isGlobal(test) && !/^message: No tests were run/m.test(test.message ?? ''))
              .map(failureOf),
          };
    return withPrintedErrors(reading, { ...output, stdout: '' }, pathInWorktree);
  },
};
