import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { installedMajor } from '../project.ts';
import { writeReporter } from '../reports/lines.ts';
import type { Runner, RunPlace } from '../runner.ts';
import { optionsMatching, plainArguments } from '../script.ts';
import { chosenTests, packaged, readLines } from './javascript.ts';

/*
 * Runners that are given a reporter of ours.
 */

const VITEST_FLAGS = /^--(run|coverage|silent|ui|no-[\w-]+)$/;
/** Removed first, because Vitest rejects options such as `--run` given twice. */
const VITEST_OURS = /^(--watch|--no-watch|-w$|--ui|--open|--passWithNoTests|--run(=|$))/;
const VITEST_VALUES = /^--(reporter|outputFile)/;

export const vitest: Runner = {
  ...packaged('vitest', VITEST_FLAGS, { configuration: /^vitest\.(config|workspace)\.[cm]?[jt]s$/ }),
  usualCommand: async () => 'vitest run',

  headAt(names, at) {
    if (names[at] !== 'vitest' && names[at] !== 'vitest.mjs') return null;
    return /^(run|watch|dev)$/.test(names[at + 1] ?? '') ? at + 1 : at;
  },

  select: (call, files) => chosenTests(call, files, VITEST_FLAGS),

  async change(call, index, place) {
    // Keep caches out of the worktree.
    const isCaching = ((await installedMajor(place.worktree, 'vitest')) ?? 0) >= 5;
    const caches = isCaching ? [`--fsModuleCachePath=${join(place.caches, 'vitest')}`, '--no-cache'] : [];
    const verb = call.words[call.head];
    const measuring = place.coverage ? await coverageArguments(place, index) : [];
    const isWatching = verb?.text === 'watch' || verb?.text === 'dev';
    return {
      measures: measuring.length > 0,
      remove: [...optionsMatching(call, VITEST_OURS, VITEST_VALUES), ...(isWatching ? [verb] : [])],
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

const JEST_FLAGS = /^(-i|--(ci|coverage|verbose|silent|runInBand|bail|forceExit|detectOpenHandles))$/;
const JEST_OURS = /^(--json$|--watch|--no-cache$|--onlyChanged$|-o$|--passWithNoTests)/;
const JEST_VALUES = /^--(outputFile|reporters|cacheDirectory|coverageDirectory|coverageReporters)(=|$)/;

export const jest: Runner = {
  ...packaged('jest', JEST_FLAGS, { configuration: /^jest\.config\.([cm]?[jt]s|json)$/ }),

  headAt(names, at) {
    if (names[at] === 'react-scripts') return names[at + 1] === 'test' ? at + 1 : null;
    return names[at] === 'jest' || names[at] === 'jest.js' ? at : null;
  },

  select(call, files) {
    const chosen = chosenTests(call, files, JEST_FLAGS);
    return chosen === null ? null : { ...chosen, last: ['--runTestsByPath', ...files] };
  },

  change: async (call, index, place) => ({
    measures: place.coverage,
    remove: optionsMatching(call, JEST_OURS, JEST_VALUES),
    // An option that takes a list would swallow the files after it, so the last option must not take one.
    first: [
      ...(place.coverage
        ? [
            '--coverageReporters=lcovonly',
            `--coverageDirectory=${join(place.folder, `coverage-${index}`)}`,
            '--coverage',
          ]
        : []),
      '--reporters=default',
      `--reporters=${await writeReporter(place, index, 'cjs', JEST_REPORTER)}`,
      `--cacheDirectory=${join(place.caches, 'jest')}`,
      // Otherwise a run without tests writes no report.
      '--passWithNoTests',
      '--ci',
    ],
  }),
  environment: async () => ({ env: { CI: '1' } }),
};

/** Runs inside the user's Jest, 24 or later. A test that is expected to fail counts as skipped. */
const JEST_REPORTER = `module.exports = class Lines {
  onTestResult(_, { testFilePath: file, testResults, testExecError, failureMessage }) {
    if (testExecError || (failureMessage && testResults.length === 0))
      write({ file, broken: failureMessage || String(testExecError.stack || testExecError.message) });
    for (const { ancestorTitles, title, status, failing, failureMessages } of testResults) {
      const outcome = status === 'failed' ? 'failed' : status === 'passed' && !failing ? 'passed' : 'skipped';
      write({ file, names: [...ancestorTitles, title], outcome, message: (failureMessages || []).join('\\n') });
    }
  }
  onRunComplete() {
    write({ end: true });
  }
};
`;

const MOCHA_FLAGS =
  /^(-[bcpwA]+|--(check-leaks|bail|color|no-colors?|recursive|exit|parallel|full-trace|sort|inline-diffs|forbid-only|forbid-pending|allow-uncaught|async-only|delay))$/;

export const mocha: Runner = {
  ...packaged('mocha', MOCHA_FLAGS, { configuration: /^\.mocharc\./, programs: ['_mocha'] }),

  change: async (call, index, place) => ({
    remove: optionsMatching(call, /^(-w|--watch)$/, /^(-R|--reporter|-O|--reporter-options?)(=|$)/),
    first: [`--reporter=${await writeReporter(place, index, 'cjs', MOCHA_REPORTER)}`],
  }),
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

export const jasmine: Runner = {
  ...packaged('jasmine', /^--(no-color|verbose|fail-fast|parallel=\S+)$/, { configuration: /^jasmine\.(json|mjs)$/ }),

  change: async (call, index, place) => ({
    remove: optionsMatching(call, /^--reporter=/),
    first: [`--reporter=${await writeReporter(place, index, 'cjs', JASMINE_REPORTER)}`],
  }),
};

/** Runs inside the user's Jasmine, 3 or later. */
const JASMINE_REPORTER = `const OUTCOMES = { passed: 'passed', failed: 'failed' };
const textOf = (failures) => failures.map(({ message, stack }) => [message, stack].filter(Boolean).join('\\n')).join('\\n');

module.exports = class Lines {
  names = [];
  broken(result, file) {
    const failures = (result && result.failedExpectations) || [];
    if (failures.length === 0) return;
    console.log(textOf(failures));
    write({ file, broken: textOf(failures) });
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
    write({ file: filename, names, outcome: OUTCOMES[status] || 'skipped', message });
  }
  jasmineDone(result) {
    this.broken(result, null);
    write({ end: true });
  }
};
`;

const UVU_FLAGS = /^(-[bcq]|--(bail|color|quiet))$/;

/** uvu has no reporters and prints no names of passing tests: a module loaded before the tests records them. */
export const uvu: Runner = {
  ...packaged('uvu', UVU_FLAGS),

  select(call, files) {
    const remove = plainArguments(call, UVU_FLAGS);
    const folder = remove[0]?.text.replace(/^\.\//, '').replace(/\/$/, '') ?? '';
    if (folder === '' || !files.every((file) => file.startsWith(`${folder}/`))) return null;
    const names = files.map((file) => file.slice(folder.length + 1).replace(/[.+*?^${}()|[\]\\]/g, '\\$&'));
    return { remove, last: [folder, `^(${names.join('|')})$`] };
  },

  change: async (_, index, place) => ({ last: ['-r', await writeReporter(place, index, 'cjs', UVU_HOOK)] }),

  async read(place, output) {
    // uvu prints paths relative to the folder it is given.
    const folders = place.script.calls.flatMap(({ words, head }) => words.slice(head + 1).map(({ text }) => text));
    const fileOf = (path: string): string | null => {
      const places = ['', 'test', 'tests', ...folders].map((folder) => posix.join(folder, path));
      const found = places.find((file) => existsSync(join(place.worktree, file)));
      return path === '' ? null : place.pathInWorktree(found ?? path);
    };
    return await readLines(place, output, { fileOf });
  },
};

/** uvu stores the current test's name in its state, since 0.4, and prints a mark when the test ends. */
const UVU_HOOK = `// Loaders as old as such a uvu don't know names like node:fs.
const { realpathSync } = require('fs');
const { createRequire } = require('module');
const states = new WeakMap();
let running = null;
let file = null;
let failed = [];

Object.defineProperty(Object.prototype, '__test__', {
  configurable: true,
  get() {
    return states.get(this);
  },
  set(name) {
    states.set(this, name);
    running = name ? [this.__suite__ || '', String(name)] : null;
  },
});

const ofUvu = createRequire(realpathSync(process.argv[1]));
if (/^0\\.[0-3]\\./.test(ofUvu('./package.json').version)) {
  const uvu = ofUvu('.');
  const named = (suite, add) => (name, handler) =>
    add(name, (context) => {
      running = [suite, String(name)];
      return handler(context);
    });
  const wrapped = (suite, test) => Object.assign(named(suite, test), test, { only: named(suite, test.only) });
  const { suite, test } = uvu;
  uvu.test = wrapped('', test);
  uvu.suite = (name, state) => wrapped(name || '', suite(name, state));
}

const print = process.stdout.write;
process.stdout.write = function (chunk, ...rest) {
  const text = String(chunk).replace(/\\u001B\\[[0-9;]*m/g, '');
  if (/^\\S.*\\.[cm]?[jt]sx?\\n$/.test(text)) file = text.trim();
  if (text === '• ' && running) write({ file, names: running, outcome: 'passed' });
  if (text === '✘ ' && running) failed.push({ file, names: running, outcome: 'failed', message: '' });
  if (text.includes(' FAIL ')) {
    const parts = text.split(/^\\s*FAIL\\s+/m);
    for (const test of failed)
      write({ ...test, message: parts.find((part) => part.includes('"' + test.names[1] + '"')) || '' });
    failed = [];
  }
  if (/^ {2}Total: /m.test(text)) write({ end: true });
  return print.call(this, chunk, ...rest);
};
`;
