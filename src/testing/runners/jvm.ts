import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { LoadFailure, RunnerName } from '../port.ts';
import { hasFile, type Project } from '../project.ts';
import { junitReports } from '../reports/junit.ts';
import { withUnexplained } from '../reports/report.ts';
import type { Changes, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { type CallChange, optionsMatching, type RunnerCall } from '../script.ts';
import { isTestOf } from '../test-files.ts';
import { compileFailures, isEachNamed, withFilesOfClasses } from './compiled.ts';

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
    isMissingCode: isJvmMissing,
    sign: (project: Project) => (hasFile(project, manifest) ? ('named' as const) : null),
    usualCommand: async (directory: string) =>
      existsSync(join(directory, wrapper)) ? `./${wrapper} test` : `${program} test`,
    headAt(names: readonly string[], at: number) {
      if (names[at] !== wrapper && names[at] !== program) return null;
      const found = names.findLastIndex((word, index) => index > at && goal.test(word));
      return found < 0 ? null : found;
    },
    read: readJvm,
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
const ERROR =
  /^(?:\[ERROR\] |e: )?(?:file:\/\/)?(?<path>\/?\S[^:]*\.(?:java|kt|groovy|scala)):(?:\[\d+,\d+\]|\d+(?::\d+)?:?)(?: error:)? (?!warning)/;

async function readJvm(place: RunPlace, output: RunOutput): Promise<Report | null> {
  const reading = junitReports((await place.report?.()) ?? [], place, { byClass: true });
  const broken = output.exitCode === 0 ? [] : compileFailures(output, ERROR, place.pathInWorktree);
  if (reading === null && broken.length === 0 && output.exitCode !== 0) return null;
  const cases = await withFilesOfClasses(reading?.cases ?? [], place.worktree, 'java,kt,groovy,scala');
  return withUnexplained({ cases, loadFailures: [...(reading?.loadFailures ?? []), ...broken] }, output);
}

const NOT_FOUND =
  /cannot find symbol|package \S+ does not exist|unresolved reference|unable to resolve class|not found: (?:type|value)/i;

function isJvmMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
  if (!/\.(java|kt|groovy|scala)$/.test(file ?? '')) return null;
  // Continuation lines name the symbol and its location; a package as location says nothing, as it can hold any name.
  const errors: string[] = [];
  for (const line of message.split('\n')) {
    const found = ERROR.exec(line);
    if (found !== null) errors.push(line.slice(found[0].length));
    else if (errors.length > 0 && !/^\W*location: +package /.test(line)) errors[errors.length - 1] += `\n${line}`;
  }
  return isEachNamed(errors, NOT_FOUND, changes);
}
