import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadFailure } from '../port.ts';
import { hasFile } from '../project.ts';
import { junitReports } from '../reports/junit.ts';
import { createPathInWorktree, loadMessage, type Reading, textsIn, withUnexplained } from '../reports/report.ts';
import type { Changes, Runner, RunOutput, RunPlace } from '../runner.ts';
import { optionsMatching, plainArguments, programNamed } from '../script.ts';
import { isTestOf } from '../test-files.ts';
import { chosenTests, saysWhy, withPrintedErrors } from './javascript.ts';

/** For any command that writes JUnit XML. */
export const junit: Runner = {
  name: 'junit',
  read: async (place, output) => completed(junitReports((await place.report?.()) ?? [], place), place, output),
};

const TAIL_LINES = 200;
/** The only message that node:test has for a file whose process failed. */
const ONLY_FAILED = /(?:^|error: |cause: |\[Error: )'?test failed\b/m;

/** A report of any tool, with what it printed about files that can't be loaded: reports mostly lack the reason. */
export function completed(reading: Reading | null, place: RunPlace, output: RunOutput): Reading | null {
  const printed = withPrintedErrors(reading, output, place.pathInWorktree, true);
  if (reading === null || printed === null) return printed;
  const { cases, loadFailures } = withUnexplained(printed, output);
  const isBare = ({ file, message }: LoadFailure): boolean =>
    file !== null && (message === '' || (ONLY_FAILED.test(message) && !saysWhy(message)));
  // With several of them, there is no telling which one the output is about.
  if (loadFailures.filter(isBare).length !== 1) return { cases, loadFailures };
  // If the output is the report itself, it was read already.
  const isReport = place.report !== null && output.stdout.trimStart().startsWith('<?xml');
  const said = `${isReport ? '' : output.stdout.trimEnd()}\n${output.stderr}`.trim();
  const message = loadMessage(said.split('\n').slice(-TAIL_LINES).join('\n'));
  return {
    cases,
    loadFailures: loadFailures.map((failure) =>
      isBare(failure) && message !== '' ? { ...failure, message } : failure,
    ),
  };
}

/** Its report omits files that can't be loaded. */
export const bun: Runner = {
  name: 'bun',
  sign: (project) => /['"]bun:test['"]/.test(project.samples) || hasFile(project, /^bunfig\.toml$/),
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

export const phpunit: Runner = {
  name: 'phpunit',
  sign: (project) =>
    hasFile(project, /^phpunit\.xml(\.dist)?$/) || project.texts['composer.json'].includes('"phpunit/phpunit"'),
  usualCommand: async (directory) =>
    existsSync(join(directory, 'vendor/bin/phpunit')) ? 'vendor/bin/phpunit' : 'phpunit',
  headAt: programNamed('phpunit', 'phpunit.phar', 'simple-phpunit'),

  select(call, files) {
    // PHPUnit accepts a single file.
    if (files.length !== 1 || !files.every((file) => isTestOf('php', file))) return null;
    return { remove: plainArguments(call, /^--(colors|testdox|verbose|debug|no-[\w-]+|stop-on-\w+)$/), last: files };
  },

  change: (call, index, { folder }) => ({
    remove: optionsMatching(call, /^$/, /^--log-junit(=|$)/),
    first: ['--log-junit', join(folder, `report-${index}.xml`)],
  }),

  async read(place, output) {
    const reading = junitReports(await textsIn(place.folder, /^report-.*\.xml$/), place, true);
    const failure = reading === null ? fatalError(output, place) : null;
    return failure === null ? reading : { cases: [], loadFailures: [failure] };
  },
};

const FATAL = /^.*(?:Failed opening required|Class ["'][^"']+["'] not found|Call to undefined function).*$/m;

/** PHP exits at the first file that can't be loaded. */
function fatalError({ stdout, stderr }: RunOutput, { pathInWorktree }: RunPlace): LoadFailure | null {
  const text = `${stderr}\n${stdout}`;
  const found = FATAL.exec(text);
  if (found === null) return null;
  const file = / in (\/\S+?\.php)(?::\d+| on line \d+)/.exec(text.slice(found.index))?.[1] ?? '';
  return { file: pathInWorktree(file), message: loadMessage(text.slice(found.index)) };
}

export function isPhpMissing({ file, message }: LoadFailure, changes: Changes, worktree: string): boolean | null {
  if (!file?.endsWith('.php') && !FATAL.test(message)) return null;
  const required = /Failed opening required ["']([^"']+)["']/.exec(message)?.[1];
  const path = required === undefined ? null : createPathInWorktree(worktree)(required);
  if (path !== null) return changes.added.includes(path);
  const name = /Class ["'](?:[^"']*\\)?(\w+)["'] not found/.exec(message)?.[1];
  return name !== undefined && changes.added.some((added) => added.endsWith(`/${name}.php`) || added === `${name}.php`);
}
