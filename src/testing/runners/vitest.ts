import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import { installedMajor, signOf } from '../project.ts';
import { lcovIn } from '../reports/coverage.ts';
import { caseMessage, loadMessage, type PathInWorktree, type Reading, textsIn } from '../reports/report.ts';
import { changedCalls, type Runner, type RunPlace } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { chosenTests, isJavaScriptMissing, withPrintedErrors } from './javascript.ts';
import { jestReports } from './jest.ts';

const FLAGS = /^--(run|coverage|silent|ui|no-[\w-]+)$/;
/** Given twice, an option such as `--run` is refused. */
const OUR_FLAGS = /^(--watch|--no-watch|-w$|--ui|--open|--passWithNoTests|--run(=|$))/;
const OUR_VALUES = /^--(reporter|outputFile)/;

export const vitest: Runner = {
  name: 'vitest',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['vitest'], /^vitest\.(config|workspace)\.[cm]?[jt]s$/),
  usualCommand: async () => 'vitest run',

  headAt(names, at) {
    if (names[at] !== 'vitest' && names[at] !== 'vitest.mjs') return null;
    return /^(run|watch|dev)$/.test(names[at + 1] ?? '') ? at + 1 : at;
  },

  select: (call, files) => chosenTests(call, files, FLAGS),

  async instrument(script, place, coverage) {
    // Keeps its caches out of the worktree.
    const isCaching = ((await installedMajor(place.worktree, 'vitest')) ?? 0) >= 5;
    const caches = isCaching ? [`--fsModuleCachePath=${join(place.caches, 'vitest')}`, '--no-cache'] : [];
    let measures = false;
    const changes = await changedCalls(script, 'vitest', async (call, index) => {
      const notes = join(place.folder, `notes-${index}.mjs`);
      await writeFile(notes, VITEST_NOTES_REPORTER);
      const verb = call.words[call.head];
      const measuring = coverage ? await coverageArguments(place, index) : [];
      measures ||= measuring.length > 0;
      const isWatching = verb?.text === 'watch' || verb?.text === 'dev';
      return {
        remove: [...optionsMatching(call, OUR_FLAGS, OUR_VALUES), ...(isWatching ? [verb] : [])],
        last: [
          ...(verb?.text === 'run' ? [] : ['--run']),
          // Without it, older versions write no report where there is no test yet.
          '--passWithNoTests',
          '--reporter=default',
          '--reporter=json',
          `--reporter=${notes}`,
          `--outputFile.json=${join(place.folder, `report-${index}.json`)}`,
          ...caches,
          ...measuring,
        ],
      };
    });
    return { changes, env: { CI: '1' }, measures };
  },

  async read({ folder, pathInWorktree }, output) {
    const reading = withPrintedErrors(await jestReports(folder, pathInWorktree), output, pathInWorktree);
    if (reading === null) return null;
    const notes = (await textsIn(folder, /^notes-.*\.json$/)).map(parseVitestNotes).filter((note) => note !== null);
    const noted = notes.reduce((read, note) => withVitestNotes(read, note, pathInWorktree), reading);
    return { ...noted, coverage: await lcovIn(folder, pathInWorktree) };
  },
};

async function coverageArguments(place: RunPlace, index: number): Promise<string[]> {
  const providers: string[] = [];
  for (const name of ['v8', 'istanbul'])
    if ((await installedMajor(place.worktree, `@vitest/coverage-${name}`)) !== null) providers.push(name);
  if (providers.length === 0) return [];
  return [
    '--coverage.enabled',
    ...(providers.length === 1 ? [`--coverage.provider=${providers[0]}`] : []),
    '--coverage.reporter=lcovonly',
    `--coverage.reportsDirectory=${join(place.folder, `coverage-${index}`)}`,
    '--coverage.reportOnFailure',
  ];
}

/**
 * A reporter that notes what Vitest's JSON leaves out: errors outside of tests, errors of hooks, tests that are expected
 * to fail. It runs inside the user's Vitest, of whatever version: from 3 on it is called with `onTestRunEnd`, before that
 * with `onFinished`. It writes beside itself.
 */
const VITEST_NOTES_REPORTER = `import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const textOf = (error) => {
  const said = (error?.name ? error.name + ': ' : '') + (error?.message ?? String(error));
  const stack = error?.stack ?? '';
  return [stack.includes(error?.message ?? said) ? stack : said + '\\n' + stack, error?.codeFrame ?? error?.frame ?? '']
    .join('\\n').trim();
};

export default class Notes {
  notes = { unhandled: [], suites: [], expected: [] };

  onTestRunEnd(modules, errors) {
    for (const module of modules) {
      this.suite(module.moduleId, '', module.errors());
      for (const suite of module.children.allSuites()) this.suite(module.moduleId, suite.fullName, suite.errors());
      for (const test of module.children.allTests())
        if (test.options?.fails) this.notes.expected.push({ file: module.moduleId, name: test.fullName });
    }
    this.write(errors);
  }

  onFinished(files, errors) {
    for (const file of files ?? []) this.task(file.filepath, '', file);
    this.write(errors);
  }

  task(file, name, task) {
    if (task.tasks) {
      this.suite(file, name, task.result?.errors);
      for (const child of task.tasks) this.task(file, name ? name + ' > ' + child.name : child.name, child);
    } else if (task.fails) this.notes.expected.push({ file, name });
  }

  suite(file, name, errors) {
    if (errors?.length) this.notes.suites.push({ file, name, message: errors.map(textOf).join('\\n\\n') });
  }

  write(errors) {
    if (this.written) return;
    this.written = true;
    for (const error of errors ?? [])
      this.notes.unhandled.push({ file: error?.VITEST_TEST_PATH ?? null, message: textOf(error) });
    writeFileSync(fileURLToPath(import.meta.url).replace(/mjs$/, 'json'), JSON.stringify(this.notes));
  }
}
`;

const notesSchema = z.object({
  unhandled: z.array(z.object({ file: z.string().nullable(), message: z.string() })),
  suites: z.array(z.object({ file: z.string(), name: z.string(), message: z.string() })),
  expected: z.array(z.object({ file: z.string(), name: z.string() })),
});

type VitestNotes = z.infer<typeof notesSchema>;

/** Null where it was cut off. */
export function parseVitestNotes(text: string): VitestNotes | null {
  return notesSchema.safeParse(parseJson(text)).data ?? null;
}

/** The report with the notes worked in. */
export function withVitestNotes(report: Reading, notes: VitestNotes, pathInWorktree: PathInWorktree): Reading {
  const loadFailures = new Map<string, LoadFailure>();
  for (const failure of report.loadFailures) loadFailures.set(failure.file ?? failure.message, failure);
  const isExpected = new Set(notes.expected.map(({ file, name }) => keyOf(pathInWorktree(file), name)));
  let cases = report.cases.map((test): TestCase => {
    const isExcused = test.outcome === 'passed' && isExpected.has(keyOf(test.file, test.name));
    return isExcused ? { ...test, outcome: 'skipped' } : test;
  });
  for (const suite of notes.suites) {
    const file = pathInWorktree(suite.file);
    const inside = cases.filter((test) => test.file === file && isWithin(test.name, suite.name));
    // A hook that fails before the tests leaves all of them out; one that fails after them leaves them as they are.
    const isBefore = inside.length > 0 && inside.every((test) => test.outcome === 'skipped');
    if (isBefore)
      cases = cases.map((test) =>
        inside.includes(test) ? { ...test, outcome: 'failed', message: caseMessage(suite.message) } : test,
      );
    else loadFailures.set(file ?? suite.file, { file, message: loadMessage(suite.message) });
  }
  const unhandled = notes.unhandled.map(({ file, message }) => ({
    file: file === null ? null : pathInWorktree(file),
    message: loadMessage(message),
  }));
  return { cases, loadFailures: [...loadFailures.values(), ...unhandled] };
}

function isWithin(name: string, suite: string): boolean {
  return suite === '' || name.startsWith(`${suite} > `);
}

function keyOf(file: string | null, name: string): string {
  return JSON.stringify([file, name]);
}
