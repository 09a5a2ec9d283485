import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestText } from '../../process/files.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import { dependsOn, installedMajor } from '../project.ts';
import { fileOfWorktree } from '../reports/junit.ts';
import { loadMessage, type Reading, together } from '../reports/report.ts';
import { parseTap } from '../reports/tap.ts';
import type { Runner, RunPlace } from '../runner.ts';
import { optionsMatching, type RunnerCall } from '../script.ts';
import { isInTestFolder, isTestOf } from '../test-files.ts';
import { packaged, withPrintedErrors } from './javascript.ts';
import { completed } from './junit.ts';

/** The version in which node-tap renamed its options. */
const TAP_RENAMED = 17;

/** For any command that writes TAP to a file or to stdout. tape does so by default; node-tap gets an option for it. */
export const tap: Runner = {
  ...packaged('tap', /^(-[bc]|--(bail|no-[\w-]+|allow-[\w-]+|disable-coverage|color|strict))$/, {
    packages: ['tap', 'tape'],
    configuration: /^\.taprc$/,
    programs: ['tape'],
  }),
  readsStdout: true,
  usualCommand: async (_, project) => (dependsOn(project, ['tape']) ? "tape 'test/**/*.js'" : 'tap'),

  async change(call, _, { worktree }) {
    if (isTape(call)) return {};
    const isRenamed = ((await installedMajor(worktree, 'tap')) ?? TAP_RENAMED) >= TAP_RENAMED;
    return {
      remove: optionsMatching(
        call,
        /^(-w|--watch|--100|--(no-)?(check-)?coverage|--disable-coverage|--show-full-coverage)$/,
        /^(-R|--reporter|--coverage-report|--(lines|branches|functions|statements))(=|$)/,
      ),
      // Coverage is turned off, because too little of it makes node-tap fail.
      first: ['--reporter=tap', isRenamed ? '--disable-coverage' : '--no-coverage'],
    };
  },

  async read(place, output) {
    const { calls } = place.script;
    const texts = place.report === null ? [output.stdout] : await place.report();
    const readings = texts.map((text) => parseTap(text, (name) => fileNamed(name, place), calls.some(isTape)));
    const reading = together(readings);
    return calls.some(({ runner }) => runner === 'tap')
      ? withPrintedErrors(reading, output, place.pathInWorktree)
      : completed(reading, place, output);
  },
};

function isTape({ words, head }: RunnerCall): boolean {
  return /\btape$/.test(words[head]?.text ?? '');
}

function fileNamed(name: string, place: RunPlace): string | null {
  return /\.\w+$/.test(name) ? fileOfWorktree(name, place) : null;
}

/** The first line of an error about a file that can't be loaded. Old versions make a test of it, and print the error below its name. */
const LOADING = /^.*Failed to load (?:the test )?file (\S+)\n?/m;
const LOADING_IN_NAME = /^(\S+) > Failed to load the test file with error:$/;

export const qunit: Runner = {
  ...packaged('qunit', /^--(watch|trace-deprecation)$/, { packages: ['qunit', 'qunitjs'] }),
  readsStdout: true,

  change: (call) => ({
    remove: optionsMatching(call, /^(-w|--watch)$/, /^--reporter(=|$)/),
    first: ['--reporter', 'tap'],
  }),

  async read({ pathInWorktree }, output) {
    const tap = parseTap(output.stdout, () => null);
    const named = ({ name }: TestCase): string | undefined => LOADING_IN_NAME.exec(name)?.[1];
    const isGlobal = (test: TestCase): boolean => test.name === 'global failure' || named(test) !== undefined;
    const failureOf = (test: TestCase): LoadFailure => ({
      file: pathInWorktree(named(test) ?? LOADING.exec(test.message ?? '')?.[1] ?? ''),
      message: named(test) === undefined ? (test.message ?? '').replace(LOADING, '') : '',
    });
    const isPrinted = tap?.cases.some((test) => named(test) !== undefined) ?? false;
    const reading =
      tap === null
        ? null
        : {
            cases: tap.cases.filter((test) => !isGlobal(test)),
            // "No tests were run" isn't a failure of a file.
            loadFailures: tap.cases
              .filter((test) => isGlobal(test) && !/^message: No tests were run/m.test(test.message ?? ''))
              .map(failureOf),
          };
    return withPrintedErrors(reading, { ...output, stdout: isPrinted ? output.stdout : '' }, pathInWorktree);
  },
};

export const ava: Runner = {
  ...packaged('ava', /^(-[svu]|--(serial|verbose|fail-fast|no-worker-threads|tap))$/, {
    configuration: /^ava\.config\./,
  }),
  readsStdout: true,

  change: (call) => ({
    remove: optionsMatching(call, /^(-[vtw]|--(tap|verbose|no-verbose|watch|color|no-color))$/),
    first: ['--tap'],
  }),

  async read(place, output) {
    const tap = parseTap(output.stdout, () => null);
    const reading = tap === null ? null : withFiles(withoutCrashes(tap), await testFiles(place), place);
    return withPrintedErrors(reading, output, place.pathInWorktree);
  },
};

const ENDED =
  /^(\S+\.[cm]?[jt]sx?) exited (?:with|due)|^No tests found in (\S+?),|^(\S+) did not exit|^Couldn.t find any/;

/** AVA reports a file that crashes, and its errors, as extra failed tests outside the plan: turn these into load failures. */
function withoutCrashes({ cases }: Reading): Reading {
  const reading: Reading = { cases: [], loadFailures: [] };
  let said: TestCase[] = [];
  for (const test of cases) {
    const ended = test.outcome === 'failed' ? ENDED.exec(test.name) : null;
    const isError = test.outcome === 'failed' && /^(?:\w*Error|Uncaught|Unhandled)\b/.test(test.name);
    if (ended !== null) {
      const message = [test.name, ...said.flatMap(({ name, message: text }) => [name, text ?? ''])].join('\n');
      reading.loadFailures.push({ file: ended[1] ?? ended[2] ?? ended[3] ?? null, message: loadMessage(message) });
      said = [];
    } else if (isError) said.push(test);
    else reading.cases.push(test);
  }
  const left: LoadFailure[] = said.map(({ name, message }) => ({
    file: null,
    message: loadMessage(`${name}\n${message}`),
  }));
  return { ...reading, loadFailures: [...reading.loadFailures, ...left] };
}

/** The files given as arguments, or else all files that may be tests. */
async function testFiles({ worktree, script: { calls } }: RunPlace): Promise<string[]> {
  const words = calls.flatMap((call) => call.words.slice(call.head + 1).map(({ text }) => text.replace(/^\.\//, '')));
  const given = words.filter((word) => /\.[cm]?[jt]sx?$/.test(word) && existsSync(join(worktree, word)));
  if (given.length > 0) return given;
  const found: string[] = [];
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|\.git)$/.test(path);
  for await (const path of glob('**/*.{js,cjs,mjs,ts,cts,mts,jsx,tsx}', { cwd: worktree, exclude }))
    if ((isTestOf('javascript', path) || isInTestFolder(path)) && !/-d\.[cm]?ts$/.test(path)) found.push(path);
  return found;
}

/**
 * If several files run, AVA prefixes each test's name with its file; if only one runs, it doesn't. This moves the prefix
 * into `file`, so that a test has the same name in both cases. Without a prefix, the file is the one that contains the name.
 */
function withFiles({ cases, loadFailures }: Reading, files: readonly string[], { worktree }: RunPlace): Reading {
  const called = files.map((file) => ({ file, parts: partsOf(file) }));
  const texts =
    files.length === 1 ? [] : files.map((file) => ({ file, text: manifestText(join(worktree, file), worktree) }));
  const ofName = (name: string): string | null => {
    const found = files.length === 1 ? files : texts.filter(({ text }) => text.includes(name)).map(({ file }) => file);
    return found.length === 1 ? (found[0] ?? null) : null;
  };
  return {
    loadFailures,
    cases: cases.map((test) => {
      const parts = test.name.split(' › ');
      for (let count = parts.length - 1; count > 0; count -= 1) {
        const prefix = parts.slice(0, count).join('/');
        const named = called.filter((one) => `/${one.parts.join('/')}`.endsWith(`/${prefix}`));
        const [found] = named;
        if (found !== undefined && named.length === 1)
          return { ...test, file: found.file, name: parts.slice(count).join(' › ') };
      }
      return { ...test, file: ofName(test.name) };
    }),
  };
}

function partsOf(file: string): string[] {
  const parts = file.split('/').filter((part) => !/^(__tests__|tests?)$/.test(part));
  const name = parts.pop() ?? '';
  return [
    ...parts,
    name
      .replace(/\.[cm]?[jt]sx?$/, '')
      .replace(/\.(test|spec)$/, '')
      .replace(/^test-/, ''),
  ];
}
