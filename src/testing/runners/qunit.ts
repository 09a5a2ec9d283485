import { signOf } from '../project.ts';
import { parseTap } from '../reports/tap.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { optionsMatching, programNamed } from '../script.ts';
import { isJavaScriptMissing, namedTests, withPrintedErrors } from './javascript.ts';

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
    const isLoading = ({ name }: { name: string }): boolean => name === 'global failure';
    const reading =
      tap === null
        ? null
        : {
            cases: tap.cases.filter((test) => !isLoading(test)),
            loadFailures: tap.cases.filter(isLoading).map(({ message }) => ({
              file: pathInWorktree(/Failed to load (?:the test )?file (\S+)/.exec(message ?? '')?.[1] ?? ''),
              message: message ?? '',
            })),
          };
    const found = withPrintedErrors(reading, { ...output, stdout: '' }, pathInWorktree);
    return found === null ? null : { ...found, coverage: null };
  },
};
