import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadFailure } from '../port.ts';
import { hasFile } from '../project.ts';
import { junitReports } from '../reports/junit.ts';
import { createPathInWorktree, loadMessage, textsIn } from '../reports/report.ts';
import type { Changes, Runner, RunOutput, RunPlace } from '../runner.ts';
import { optionsMatching, plainArguments, programNamed } from '../script.ts';
import { isTestOf } from '../test-files.ts';

export const phpunit: Runner = {
  name: 'phpunit',
  isMissingCode: isPhpMissing,
  sign: (project) =>
    hasFile(project, /^phpunit\.xml(\.dist)?$/) || project.texts['composer.json'].includes('"phpunit/phpunit"')
      ? 'named'
      : null,
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
    const reading = junitReports(await textsIn(place.folder, /^report-.*\.xml$/), place, { byClass: true });
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

function isPhpMissing({ file, message }: LoadFailure, changes: Changes, worktree: string): boolean | null {
  if (!file?.endsWith('.php') && !FATAL.test(message)) return null;
  const required = /Failed opening required ["']([^"']+)["']/.exec(message)?.[1];
  const path = required === undefined ? null : createPathInWorktree(worktree)(required);
  if (path !== null) return changes.added.includes(path);
  const name = /Class ["'](?:[^"']*\\)?(\w+)["'] not found/.exec(message)?.[1];
  return name !== undefined && changes.added.some((added) => added.endsWith(`/${name}.php`) || added === `${name}.php`);
}
