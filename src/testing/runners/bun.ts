import { join } from 'node:path';
import { signOf } from '../project.ts';
import { junitReports } from '../reports/junit.ts';
import { textsIn } from '../reports/report.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { chosenTests, isJavaScriptMissing, withPrintedErrors } from './javascript.ts';

/** Its report omits files that can't be loaded. */
export const bun: Runner = {
  name: 'bun',
  isMissingCode: isJavaScriptMissing,
  sign: (project) => (/['"]bun:test['"]/.test(project.samples) ? 'named' : signOf([], /^bunfig\.toml$/)(project)),
  usualCommand: async () => 'bun test',
  headAt: (names, at) => (names[at] === 'bun' && names[at + 1] === 'test' ? at + 1 : null),

  select(call, files) {
    const chosen = chosenTests(call, files, /^--(bail|only|todo|coverage|watch|ci|concurrent|randomize)$/);
    // Without `./`, bun treats the argument as a substring filter.
    return chosen === null ? null : { ...chosen, last: files.map((file) => `./${file}`) };
  },

  change: (call, index, place) => ({
    remove: optionsMatching(call, /^--(watch|hot)$/, /^--reporter(-outfile)?(=|$)/),
    first: ['--reporter=junit', `--reporter-outfile=${join(place.folder, `report-${index}.xml`)}`],
  }),

  async read(place, output) {
    const report = junitReports(await textsIn(place.folder, /^report-.*\.xml$/), place);
    return withPrintedErrors(report, output, place.pathInWorktree);
  },
};
