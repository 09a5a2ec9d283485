import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signOf } from '../project.ts';
import { linesIn } from '../reports/lines.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { optionsMatching, programNamed } from '../script.ts';
import { isJavaScriptMissing, namedTests, withPrintedErrors } from './javascript.ts';

const FLAGS =
  /^(-[bcpwA]+|--(check-leaks|bail|color|no-colors?|recursive|exit|parallel|full-trace|sort|inline-diffs|forbid-only|forbid-pending|allow-uncaught|async-only|delay))$/;

export const mocha: Runner = {
  name: 'mocha',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['mocha'], /^\.mocharc\./),
  usualCommand: async () => 'mocha',
  headAt: programNamed('mocha', '_mocha', 'mocha.js'),
  select: (call, files) => namedTests(call, files, FLAGS),

  async instrument(script, place) {
    const changes = await changedCalls(script, 'mocha', async (call, index) => {
      const reporter = join(place.folder, `reporter-${index}.cjs`);
      await writeFile(reporter, MOCHA_REPORTER);
      return {
        remove: optionsMatching(call, /^(-w|--watch)$/, /^(-R|--reporter|-O|--reporter-options?)(=|$)/),
        first: [`--reporter=${reporter}`],
      };
    });
    return { changes };
  },

  async read({ folder, pathInWorktree }, output) {
    return withPrintedErrors(await linesIn(folder, pathInWorktree), output, pathInWorktree);
  },
};

/** Runs inside of the user's Mocha, of whatever version, and writes beside itself. */
const MOCHA_REPORTER = `const fs = require('fs');

module.exports = function Lines(runner) {
  const write = (line) => fs.appendFileSync(__filename.replace(/cjs$/, 'lines'), JSON.stringify(line) + '\\n');
  const pathOf = (test) => (test ? [...pathOf(test.parent), test.title || ''] : []).filter(Boolean);
  const tell = (outcome, mark) => (test, error) => {
    const message = error ? String(error.stack || error.message || error) : null;
    console.log('  ' + mark + ' ' + pathOf(test).join(' > ') + (message ? '\\n' + message : ''));
    write({ file: test.file || (test.parent && test.parent.file), names: pathOf(test), outcome, message });
  };
  runner.on('pass', tell('passed', 'ok'));
  runner.on('pending', tell('skipped', 'skipped'));
  runner.on('fail', tell('failed', 'FAILED'));
  runner.on('end', () => write({ end: true }));
};
`;
