import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { LoadFailure, RunnerName, TestCase } from '../port.ts';
import { hasFile, type Project } from '../project.ts';
import { junitReports, parseXml, type XmlElement } from '../reports/junit.ts';
import { caseMessage, loadMessage, type Reading, textsIn, together, withUnexplained } from '../reports/report.ts';
import type { Changes, Runner, RunOutput, RunPlace } from '../runner.ts';
import { type CallChange, optionsMatching, type RunnerCall } from '../script.ts';
import { isRunnableTest, isTestOf } from '../test-files.ts';

/*
 * Runners of languages whose tests are compiled first, and whose reports name classes instead of files.
 */

const MAVEN_GOAL = /^(test|verify|package|install|surefire:test)$/;
const GRADLE_TASK = /^(?::?[\w-]+)*:?(test|check|build)$/;

export const maven: Runner = {
  ...jvm('maven', /^pom\.xml$/, { wrapper: 'mvnw', program: 'mvn', goal: MAVEN_GOAL }),
  writes: '**/target/{surefire,failsafe}-reports/TEST-*.xml',
  select: (_, files) =>
    selectedClasses(files, (classes) => [
      `-Dtest=${classes.join(',')}`,
      // In a multi-module build, not every module has one of these classes.
      '-DfailIfNoTests=false',
      '-Dsurefire.failIfNoSpecifiedTests=false',
    ]),
  change: (call) => atEnd(call, '-B', '-fae'),
};

export const gradle: Runner = {
  ...jvm('gradle', /^(build|settings)\.gradle(\.kts)?$/, { wrapper: 'gradlew', program: 'gradle', goal: GRADLE_TASK }),
  writes: '**/build/test-results/**/TEST-*.xml',
  select: (call, files) =>
    /^(:?[\w-]+)*:?test$/.test(call.words.at(-1)?.text ?? '')
      ? selectedClasses(files, (classes) => classes.flatMap((name) => ['--tests', name]))
      : null,
  change: (call) => atEnd(call, '--continue', '--console=plain'),
};

function jvm(
  name: RunnerName,
  manifest: RegExp,
  { wrapper, program, goal }: { wrapper: string; program: string; goal: RegExp },
) {
  return {
    name,
    sign: (project: Project) => hasFile(project, manifest),
    usualCommand: async (directory: string) =>
      existsSync(join(directory, wrapper)) ? `./${wrapper} test` : `${program} test`,
    headAt(names: readonly string[], at: number) {
      if (names[at] !== wrapper && names[at] !== program) return null;
      const found = names.findLastIndex((word, index) => index > at && goal.test(word));
      return found < 0 ? null : found;
    },
    read: async (place: RunPlace, output: RunOutput) => {
      const reading = junitReports((await place.report?.()) ?? [], place, true);
      return await withCompiler(reading, place, output, { error: JVM_ERROR, extensions: 'java,kt,groovy,scala' });
    },
  };
}

function atEnd(call: RunnerCall, ...options: string[]): CallChange {
  return { last: options.filter((option) => optionsMatching(call, new RegExp(`^${option}$`)).length === 0) };
}

function selectedClasses(files: readonly string[], options: (classes: string[]) => string[]): CallChange | null {
  if (files.length === 0 || !files.every((file) => isTestOf('jvm', file))) return null;
  return { last: options(files.map((file) => posix.basename(file).replace(/\.\w+$/, ''))) };
}

/** Errors of javac, also as printed by Maven, and of Kotlin. */
const JVM_ERROR =
  /^(?:\[ERROR\] |e: )?(?:file:\/\/)?(?<path>\/?\S[^:]*\.(?:java|kt|groovy|scala)):(?:\[\d+,\d+\]|\d+(?::\d+)?:?)(?: error:)? (?!warning)/;

const JVM_NOT_FOUND =
  /cannot find symbol|package \S+ does not exist|unresolved reference|unable to resolve class|not found: (?:type|value)/i;

export function isJvmMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
  if (!/\.(java|kt|groovy|scala)$/.test(file ?? '')) return null;
  // Continuation lines name the symbol and its location; a package as location says nothing, as it can hold any name.
  const errors: string[] = [];
  for (const line of message.split('\n')) {
    const found = JVM_ERROR.exec(line);
    if (found !== null) errors.push(line.slice(found[0].length));
    else if (errors.length > 0 && !/^\W*location: +package /.test(line)) errors[errors.length - 1] += `\n${line}`;
  }
  return isEachNamed(errors, JVM_NOT_FOUND, changes);
}

export const dotnet: Runner = {
  name: 'dotnet',
  sign: (project) => hasFile(project, /\.(slnx?|[cf]sproj|vbproj)$/),
  usualCommand: async () => 'dotnet test',
  headAt: (names, at) => (names[at] === 'dotnet' && names[at + 1] === 'test' ? at + 1 : null),

  select(call, files) {
    const isFiltered = optionsMatching(call, /^--filter(=|$)/).length > 0;
    if (isFiltered || files.length === 0 || !files.every((file) => isTestOf('dotnet', file))) return null;
    const classes = files.map((file) => /([^/]+)\.\w+$/.exec(file)?.[1] ?? '');
    return { last: ['--filter', classes.map((name) => `FullyQualifiedName~.${name}.`).join('|')] };
  },

  change: (call, _, { folder }) => ({
    remove: optionsMatching(call, /^--nologo$/, /^(-r|--results-directory)(=|$)/),
    last: ['--logger', 'trx', '--results-directory', folder],
  }),
  environment: async () => ({
    env: { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1', DOTNET_CLI_UI_LANGUAGE: 'en' },
  }),

  async read(place, output) {
    const reading = together((await textsIn(place.folder, /\.trx$/)).map(parseTrx));
    return await withCompiler(reading, place, output, { error: DOTNET_ERROR, extensions: 'cs,fs,vb' });
  },
};

const DOTNET_ERROR = /^\s*(?<path>\S[^(]*\.(?:cs|fs|vb))\(\d+,\d+\): error /;
/** Compiler errors for an unknown type, name, member or namespace; FS0039 is F#'s for any of them. */
const DOTNET_NOT_FOUND = /\b(?:CS0246|CS0103|CS0117|CS0234|CS1061|CS0400|CS0426|FS0039)\b/;

export function isDotnetMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
  if (!/\.(cs|fs|vb)$/.test(file ?? '')) return null;
  const errors = message.split('\n').flatMap((line) => {
    const found = DOTNET_ERROR.exec(line);
    return found === null ? [] : [line.slice(found[0].length).replace(/\s*\[[^\]]*\]$/, '')];
  });
  return isEachNamed(errors, DOTNET_NOT_FOUND, changes);
}

const TRX_OUTCOMES: Readonly<Record<string, TestCase['outcome']>> = {
  Passed: 'passed',
  Failed: 'failed',
  Error: 'failed',
  Timeout: 'failed',
  Aborted: 'failed',
};

/** Reads TRX, the report of Visual Studio and `dotnet test`; null for other text. */
export function parseTrx(xml: string): Reading | null {
  const root = parseXml(xml);
  if (root?.name !== 'TestRun') return null;
  const elements = root.children.flatMap(({ children }) => children);
  const classes = new Map<string, string>();
  for (const test of elements.filter(({ name }) => name === 'UnitTest')) {
    const method = test.children.find(({ name }) => name === 'TestMethod');
    classes.set(test.attributes.id ?? '', method?.attributes.className?.split(',')[0] ?? '');
  }
  const results = elements.filter(({ name }) => name === 'UnitTestResult');
  const cases = results.map(({ attributes, children }): TestCase => {
    const { testName = '', testId = '', outcome: given = '' } = attributes;
    const owner = classes.get(testId) ?? '';
    const name = owner !== '' && testName.startsWith(`${owner}.`) ? testName.slice(owner.length + 1) : testName;
    const outcome = TRX_OUTCOMES[given] ?? 'skipped';
    const said = inside(children).filter((one) => one.name === 'Message' || one.name === 'StackTrace');
    return {
      file: null,
      name: [owner, name].filter((part) => part !== '').join(' > '),
      outcome,
      message: outcome === 'failed' ? caseMessage(said.map(({ text }) => text).join('\n')) : null,
    };
  });
  return { cases, loadFailures: [] };
}

function inside(elements: readonly XmlElement[]): XmlElement[] {
  return elements.flatMap((one) => [one, ...inside(one.children)]);
}

/** A report with the compiler's errors, and with the files of the cases. Null: neither was found. */
async function withCompiler(
  reading: Reading | null,
  { worktree, pathInWorktree }: RunPlace,
  output: RunOutput,
  { error, extensions }: { error: RegExp; extensions: string },
): Promise<Reading | null> {
  const errors = output.exitCode === 0 ? new Map<string, string[]>() : compilerErrors(output, error);
  if (reading === null && errors.size === 0 && output.exitCode !== 0) return null;
  const failures = [...errors].map(([path, lines]) => {
    return { file: pathInWorktree(path), message: loadMessage(lines.join('\n')) };
  });
  const cases = await withFilesOfClasses(reading?.cases ?? [], worktree, extensions);
  return withUnexplained({ cases, loadFailures: [...(reading?.loadFailures ?? []), ...failures] }, output);
}

/** By file, as the compiler names it. */
function compilerErrors(output: RunOutput, error: RegExp): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let current: string[] | null = null;
  for (const line of `${output.stdout}\n${output.stderr}`.split(/\r?\n/)) {
    const path = error.exec(line)?.groups?.path;
    if (path !== undefined) {
      current = found.get(path) ?? [];
      // Build tools print errors twice.
      if (!current.includes(line)) current.push(line);
      found.set(path, current);
    } else if (/^(?:\[ERROR\])?\s+\S/.test(line)) current?.push(line);
    else current = null;
  }
  return found;
}

/** Adds each case's file, found by the name of its class. It stays null if no file or several files have that name. */
async function withFilesOfClasses(
  cases: readonly TestCase[],
  worktree: string,
  extensions: string,
): Promise<TestCase[]> {
  if (cases.length === 0) return [];
  const files = new Map<string, string | null>();
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|target|build|bin|obj|\.git|\.gradle)$/.test(path);
  for await (const path of glob(`**/*.{${extensions}}`, { cwd: worktree, exclude })) {
    const name = posix.basename(path).replace(/\.\w+$/, '');
    files.set(name, files.has(name) ? null : path);
  }
  return cases.map((test) => {
    const [, name = ''] = /(?:^|[.\s])([A-Z]\w*)(?:[$+]\w+)?(?: > |$)/.exec(test.name) ?? [];
    return test.file === null ? { ...test, file: files.get(name) ?? null } : test;
  });
}

/**
 * Whether each error is about a name that doesn't exist yet: the name, or the type or package it is looked up in, matches a
 * non-test file that the LLD adds or changes.
 */
function isEachNamed(errors: readonly string[], notFound: RegExp, changes: Changes): boolean {
  const changed = [...changes.added, ...changes.modified].filter((path) => !isRunnableTest(path));
  const names = new Set(changed.map((path) => posix.basename(path).replace(/\.\w+$/, '')));
  const packages = changed.map((path) => posix.dirname(path).replaceAll('/', '.'));
  const isOurs = (word: string): boolean =>
    names.has(word.split('.').at(-1) ?? '') || packages.some((name) => name === word || name.endsWith(`.${word}`));
  return (
    errors.length > 0 &&
    errors.every(
      (error) => notFound.test(error) && [...error.matchAll(/[A-Za-z_][\w.]*\w|\w/g)].some(([word]) => isOurs(word)),
    )
  );
}
