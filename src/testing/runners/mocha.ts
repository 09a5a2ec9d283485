import { writeReporter } from '../reports/lines.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { packaged, readLines } from './javascript.ts';

const FLAGS =
  /^(-[bcpwA]+|--(check-leaks|bail|color|no-colors?|recursive|exit|parallel|full-trace|sort|inline-diffs|forbid-only|forbid-pending|allow-uncaught|async-only|delay))$/;

export const mocha: Runner = {
  ...packaged('mocha', FLAGS, { configuration: /^\.mocharc\./, programs: ['_mocha'] }),

  change: async (call, index, place) => ({
    remove: optionsMatching(call, /^(-w|--watch)$/, /^(-R|--reporter|-O|--reporter-options?)(=|$)/),
    first: [`--reporter=${await writeReporter(place, index, 'cjs', MOCHA_REPORTER)}`],
  }),
  read: (place, output) => readLines(place, output),
};

/** Runs inside the user's Mocha, any version. */
const MOCHA_REPORTER = `module.exports = function Lines(runner) {
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
