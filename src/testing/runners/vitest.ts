import { join } from 'node:path';
import { installedMajor } from '../project.ts';
import { writeReporter } from '../reports/lines.ts';
import type { Runner, RunPlace } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { chosenTests, packaged, readLines } from './javascript.ts';

const FLAGS = /^--(run|coverage|silent|ui|no-[\w-]+)$/;
/** Removed first, because Vitest rejects options such as `--run` given twice. */
const OUR_FLAGS = /^(--watch|--no-watch|-w$|--ui|--open|--passWithNoTests|--run(=|$))/;
const OUR_VALUES = /^--(reporter|outputFile)/;

export const vitest: Runner = {
  ...packaged('vitest', FLAGS, { configuration: /^vitest\.(config|workspace)\.[cm]?[jt]s$/ }),
  usualCommand: async () => 'vitest run',

  headAt(names, at) {
    if (names[at] !== 'vitest' && names[at] !== 'vitest.mjs') return null;
    return /^(run|watch|dev)$/.test(names[at + 1] ?? '') ? at + 1 : at;
  },

  select: (call, files) => chosenTests(call, files, FLAGS),

  async change(call, index, place, { coverage }) {
    // Keep caches out of the worktree.
    const isCaching = ((await installedMajor(place.worktree, 'vitest')) ?? 0) >= 5;
    const caches = isCaching ? [`--fsModuleCachePath=${join(place.caches, 'vitest')}`, '--no-cache'] : [];
    const verb = call.words[call.head];
    const measuring = coverage ? await coverageArguments(place, index) : [];
    const isWatching = verb?.text === 'watch' || verb?.text === 'dev';
    return {
      measures: measuring.length > 0,
      remove: [...optionsMatching(call, OUR_FLAGS, OUR_VALUES), ...(isWatching ? [verb] : [])],
      last: [
        ...(verb?.text === 'run' ? [] : ['--run']),
        // Otherwise older versions write no report if there are no tests.
        '--passWithNoTests',
        '--reporter=default',
        `--reporter=${await writeReporter(place, index, 'mjs', VITEST_REPORTER)}`,
        ...caches,
        ...measuring,
      ],
    };
  },

  environment: async () => ({ env: { CI: '1' } }),
  read: (place, output) => readLines(place, output),
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
 * Runs inside the user's Vitest, any version: from 3 on it calls `onTestRunEnd`, before that `onFinished`. If a hook fails
 * before the tests, all of them count as failed; if it fails after them, their results stay. A test that is expected to
 * fail counts as skipped.
 */
const VITEST_REPORTER = `const textOf = (error) => {
  const said = (error?.name ? error.name + ': ' : '') + (error?.message ?? String(error));
  const stack = error?.stack ?? '';
  return [stack.includes(error?.message ?? said) ? stack : said + '\\n' + stack, error?.codeFrame ?? error?.frame ?? '']
    .join('\\n').trim();
};
const messageOf = (errors) => errors.map(textOf).join('\\n\\n');

const fromEntity = (entity) => {
  if (entity.children) return { name: entity.name, errors: entity.errors(), inside: [...entity.children].map(fromEntity) };
  const { state, errors } = entity.result();
  return { name: entity.name, errors: errors ?? [], state, isExpected: entity.options?.fails };
};
const fromTask = ({ name, tasks, result, fails }) => {
  const errors = result?.errors ?? [];
  if (tasks) return { name, errors, inside: tasks.map(fromTask) };
  return { name, errors, state: { pass: 'passed', fail: 'failed' }[result?.state], isExpected: fails };
};
const testsIn = (node) => (node.inside ? node.inside.flatMap(testsIn) : [node]);

const tell = (node, file, names) => {
  if (!node.inside) {
    const isPassed = node.state === 'passed' && !node.isExpected;
    const outcome = node.state === 'failed' ? 'failed' : isPassed ? 'passed' : 'skipped';
    return write({ file, names, outcome, message: messageOf(node.errors) });
  }
  const tests = testsIn(node);
  const isBefore = tests.length > 0 && tests.every(({ state }) => state !== 'passed' && state !== 'failed');
  if (node.errors.length > 0 && isBefore)
    for (const test of tests) Object.assign(test, { state: 'failed', errors: node.errors });
  else if (node.errors.length > 0) write({ file, broken: messageOf(node.errors) });
  for (const inner of node.inside) tell(inner, file, [...names, inner.name]);
};

export default class Lines {
  onTestRunEnd(modules, errors) {
    for (const module of modules) tell(fromEntity(module), module.moduleId, []);
    this.end(errors);
  }

  onFinished(files, errors) {
    if (this.isEnded) return;
    for (const file of files ?? []) tell(fromTask(file), file.filepath, []);
    this.end(errors);
  }

  end(errors) {
    this.isEnded = true;
    for (const error of errors ?? []) write({ file: error?.VITEST_TEST_PATH ?? null, broken: textOf(error) });
    write({ end: true });
  }
}
`;
