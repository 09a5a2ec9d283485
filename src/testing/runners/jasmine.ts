import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signOf } from '../project.ts';
import { linesIn } from '../reports/lines.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { optionsMatching, programNamed } from '../script.ts';
import { isJavaScriptMissing, namedTests, withPrintedErrors } from './javascript.ts';

export const jasmine: Runner = {
  name: 'jasmine',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['jasmine'], /^jasmine\.(json|mjs)$/),
  usualCommand: async () => 'jasmine',
  headAt: programNamed('jasmine', 'jasmine.js'),
  select: (call, files) => namedTests(call, files, /^--(no-color|verbose|fail-fast|parallel=\S+)$/),

  async instrument(script, place) {
    const changes = await changedCalls(script, 'jasmine', async (call, index) => {
      const reporter = join(place.folder, `reporter-${index}.cjs`);
      await writeFile(reporter, JASMINE_REPORTER);
      return { remove: optionsMatching(call, /^--reporter=/), first: [`--reporter=${reporter}`] };
    });
    return { changes };
  },

  async read({ folder, pathInWorktree }, output) {
    return withPrintedErrors(await linesIn(folder, pathInWorktree), output, pathInWorktree);
  },
};

/** Runs inside of the user's Jasmine, from 3 on, and writes beside itself. */
const JASMINE_REPORTER = `const fs = require('fs');

const OUTCOMES = { passed: 'passed', failed: 'failed' };
const textOf = (failures) => failures.map(({ message, stack }) => [message, stack].filter(Boolean).join('\\n')).join('\\n');

module.exports = class Lines {
  names = [];
  write(line) {
    fs.appendFileSync(__filename.replace(/cjs$/, 'lines'), JSON.stringify(line) + '\\n');
  }
  broken(result, file) {
    const failures = (result && result.failedExpectations) || [];
    if (failures.length === 0) return;
    console.log(textOf(failures));
    this.write({ file, broken: textOf(failures) });
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
    this.write({ file: filename, names, outcome: OUTCOMES[status] || 'skipped', message });
  }
  jasmineDone(result) {
    this.broken(result, null);
    this.write({ end: true });
  }
};
`;
