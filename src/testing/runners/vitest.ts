import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installedMajor, isInstalled } from '../installed-package.ts';
import { type JestReading, parseJestJson } from '../reports/jest-json.ts';
import { typescriptFailures } from '../reports/typescript.ts';
import type { Runner, RunPlace } from '../runner.ts';
import { optionsMatching, plainArguments, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { isJavaScriptTest } from './javascript-files.ts';
import { lcovCoverage, textsIn } from './report-files.ts';
import { parseVitestNotes, VITEST_NOTES_REPORTER, withVitestNotes } from './vitest-notes.ts';

const TAKES_VALUE = new Set(
  `-c --config -r --root --dir -t --testNamePattern --reporter --outputFile --project --environment --pool
  --maxWorkers --minWorkers --testTimeout --hookTimeout --teardownTimeout --mode --exclude --shard --bail
  --retry --workspace --maxConcurrency --slowTestThreshold`.split(/\s+/),
);

export const vitest: Runner = {
  select(script, files) {
    const [call, ...others] = runnerCalls(script).filter(({ runner }) => runner === 'vitest');
    const chosen = files.filter(isJavaScriptTest);
    if (call === undefined || others.length > 0 || chosen.length === 0) return script;
    const remove = plainArguments(call, TAKES_VALUE);
    return withCallsChanged(script, new Map([[call, { remove, last: chosen }]]));
  },

  async instrument(script, place, coverage) {
    const calls = runnerCalls(script).filter(({ runner }) => runner === 'vitest');
    const shared = await sharedArguments(place);
    const changes = calls.map(async (call, index) => {
      const notes = join(place.folder, `notes-${index}.mjs`);
      await writeFile(notes, VITEST_NOTES_REPORTER);
      const verb = call.words[call.head];
      const isWatching = verb?.text === 'watch' || verb?.text === 'dev';
      const change = {
        remove: [
          ...optionsMatching(call, /^(--reporter|--outputFile|--watch|-w$|--ui|--open|--passWithNoTests)/, TAKES_VALUE),
          ...(isWatching ? [verb] : []),
        ],
        last: [
          ...(verb?.text === 'run' ? [] : ['--run']),
          // Without it, older versions write no report where there is no test yet.
          '--passWithNoTests',
          '--reporter=default',
          '--reporter=json',
          `--reporter=${notes}`,
          `--outputFile.json=${join(place.folder, `report-${index}.json`)}`,
          ...shared,
          ...(coverage ? coverageArguments(place, index) : []),
        ],
      };
      return [call, change] as const;
    });
    return { script: withCallsChanged(script, new Map(await Promise.all(changes))), env: { CI: '1' } };
  },

  async read(place, output) {
    const reports = await textsIn(place.folder, /^report-.*\.json$/);
    const readings = reports.map((text) => parseJestJson(text, place.pathInWorktree)).filter((found) => found !== null);
    if (readings.length === 0) return typescriptFailures(output, place.pathInWorktree);
    const together: JestReading = {
      cases: readings.flatMap(({ cases }) => cases),
      loadFailures: readings.flatMap(({ loadFailures }) => loadFailures),
    };
    const notes = (await textsIn(place.folder, /^notes-.*\.json$/))
      .map(parseVitestNotes)
      .filter((note) => note !== null);
    const noted = notes.reduce((reading, note) => withVitestNotes(reading, note, place.pathInWorktree), together);
    return { ...noted, coverage: await lcovCoverage(place) };
  },
};

/** Keeps its caches out of the worktree. */
async function sharedArguments(place: RunPlace): Promise<string[]> {
  const major = await installedMajor(place.worktree, 'vitest');
  return major !== null && major >= 5 ? [`--fsModuleCachePath=${join(place.caches, 'vitest')}`, '--no-cache'] : [];
}

function coverageArguments(place: RunPlace, index: number): string[] {
  const providers = ['v8', 'istanbul'].filter((name) => isInstalled(place.worktree, `@vitest/coverage-${name}`));
  if (providers.length === 0) return [];
  return [
    '--coverage.enabled',
    ...(providers.length === 1 ? [`--coverage.provider=${providers[0]}`] : []),
    '--coverage.reporter=lcovonly',
    `--coverage.reportsDirectory=${join(place.folder, `coverage-${index}`)}`,
    '--coverage.reportOnFailure',
  ];
}
