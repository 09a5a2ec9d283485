import { writeReporter } from '../reports/lines.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { packaged, readLines } from './javascript.ts';

export const jasmine: Runner = {
  ...packaged('jasmine', /^--(no-color|verbose|fail-fast|parallel=\S+)$/, { configuration: /^jasmine\.(json|mjs)$/ }),

  change: async (call, index, place) => ({
    remove: optionsMatching(call, /^--reporter=/),
    first: [`--reporter=${await writeReporter(place, index, 'cjs', JASMINE_REPORTER)}`],
  }),
  read: (place, output) => readLines(place, output),
};

/** Runs inside the user's Jasmine, 3 or later. */
const JASMINE_REPORTER = `const OUTCOMES = { passed: 'passed', failed: 'failed' };
const textOf = (failures) => failures.map(({ message, stack }) => [message, stack].filter(Boolean).join('\\n')).join('\\n');

module.exports = class Lines {
  names = [];
  broken(result, file) {
    const failures = (result && result.failedExpectations) || [];
    if (failures.length === 0) return;
    console.log(textOf(failures));
    write({ file, broken: textOf(failures) });
  }
  suiteStarted({ description }) {
    this.names.push(description);
  }
  suiteDone(result) {
    this.broken(result, result.filename);
    this.names.pop();
  }
  specDone({ description, status, failedExpectations, filename }) {
    const names = [...this.names, description];
    const message = status === 'failed' ? textOf(failedExpectations || []) : null;
    console.log('  ' + status + ' ' + names.join(' > ') + (message ? '\\n' + message : ''));
    write({ file: filename, names, outcome: OUTCOMES[status] || 'skipped', message });
  }
  jasmineDone(result) {
    this.broken(result, null);
    write({ end: true });
  }
};
`;
