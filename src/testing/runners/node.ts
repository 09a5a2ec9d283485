import { writeFile } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSourceOf } from '../compiled-source.ts';
import { END_LINE, parseNodeLines } from '../reports/node-lines.ts';
import { typescriptFailures } from '../reports/typescript.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching, plainArguments, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { isJavaScriptTest } from './javascript-files.ts';
import { patternsForFolders } from './node-folders.ts';
import { NODE_REPORTER } from './node-reporter.ts';
import { lcovCoverage, textsIn } from './report-files.ts';

const TAKES_VALUE = new Set(
  `-r --require --import --loader --experimental-loader -C --conditions --env-file --test-reporter
  --test-reporter-destination --test-name-pattern --test-skip-pattern --test-timeout --test-concurrency
  --test-shard --test-global-setup --test-coverage-include --test-coverage-exclude --tsconfig
  --env-file-if-exists --experimental-config-file --watch-path --max-old-space-size`.split(/\s+/),
);

export const node: Runner = {
  select(script, files) {
    const [call, ...others] = runnerCalls(script).filter(({ runner }) => runner === 'node');
    if (call === undefined || others.length > 0) return script;
    const remove = plainArguments(call, TAKES_VALUE);
    const patterns = remove.map(({ text }) => text.replace(/^\.\//, ''));
    const chosen = files.filter((file) =>
      patterns.length === 0 ? isJavaScriptTest(file) : patterns.some((pattern) => isNamedBy(pattern, file)),
    );
    return chosen.length === 0 ? script : withCallsChanged(script, new Map([[call, { remove, last: chosen }]]));
  },

  async instrument(script, place, coverage, ask) {
    const reporter = join(place.folder, 'reporter.mjs');
    await writeFile(reporter, NODE_REPORTER);
    const calls = runnerCalls(script).filter(({ runner }) => runner === 'node');
    const changes = calls.map(async (call, index) => {
      const patterns = await patternsForFolders(plainArguments(call, TAKES_VALUE), place.worktree, ask);
      const reporters = [
        ['spec', 'stdout'],
        [pathToFileURL(reporter).href, join(place.folder, `report-${index}.jsonl`)],
        ...(coverage ? [['lcov', join(place.folder, `coverage-${index}.info`)]] : []),
      ];
      const change = {
        remove: [
          ...optionsMatching(call, /^(--test-reporter|--test-reporter-destination|--watch)(=|$)/, TAKES_VALUE),
          ...patterns.keys(),
        ],
        last: [...patterns.values()],
        first: [
          // With source maps, the lines are those of the files that a person wrote.
          ...(coverage ? ['--experimental-test-coverage', '--enable-source-maps'] : []),
          ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
        ],
      };
      return [call, change] as const;
    });
    return { script: withCallsChanged(script, new Map(await Promise.all(changes))) };
  },

  async read(place, output, script) {
    const { pathInWorktree } = place;
    const sourceOf = createSourceOf(place.worktree, pathInWorktree);
    const texts = await textsIn(place.folder, /^report-.*\.jsonl$/);
    // Node 20 then exits without waiting for its reporters.
    const end = script.includes('--test-force-exit') ? `\n${END_LINE}` : '';
    const parsed = texts.map((text) => parseNodeLines(`${text}${end}`, pathInWorktree, sourceOf));
    const readings = parsed.filter((found) => found !== null);
    if (readings.length === 0) return typescriptFailures(output, pathInWorktree);
    if (readings.length < parsed.length) return null;
    return {
      cases: readings.flatMap(({ cases }) => cases),
      loadFailures: readings.flatMap(({ loadFailures }) => loadFailures),
      coverage: await lcovCoverage(place),
    };
  },
};

function isNamedBy(pattern: string, file: string): boolean {
  const folder = pattern.replace(/\/$/, '');
  if (file.startsWith(`${folder}/`)) return isJavaScriptTest(file);
  return file === pattern || matchesGlob(file, pattern);
}
