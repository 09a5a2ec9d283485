import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { REQUIREMENTS } from '../../../src/process/python.ts';
import type { RunnerName } from '../../../src/testing/port.ts';

/** What a person sees who runs the tests in a fresh clone. */
export interface ByHand {
  command: string;
  commit?: string;
  /** In the words of the runner; null where it does not say. */
  passed?: number | null;
  exitCode?: number;
  seconds?: number;
  /** The last lines, where nothing passed. */
  says?: string;
}

const FILE = 'by-hand.json';
const LIMIT_MS = 1_800_000;
const run = promisify(execFile);

/**
 * What was seen by hand, kept beside the repositories in `by-hand.json`. A `command` that a person wrote there is used, for
 * a repository whose tests are not run by the usual one.
 */
export async function openByHand(folder: string) {
  const file = join(folder, FILE);
  const known = JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) as Record<string, ByHand>;
  return {
    /** Runs it in a fresh clone of its own, unless this commit was seen already. */
    async seen(
      name: string,
      place: { clone: string; folder: string; commit: string; runner: RunnerName | null },
    ): Promise<ByHand> {
      const given = known[name]?.command;
      if (known[name]?.commit === place.commit && known[name].passed !== undefined) return known[name];
      const commands = given === undefined ? usualCommands(place.clone, place.folder, place.runner) : [given];
      for (const command of commands) {
        known[name] = { ...(await seenWith(command, place)), commit: place.commit };
        if (known[name].passed) break;
      }
      // Another bench may have seen others in the meantime.
      const others = JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) as Record<string, ByHand>;
      const found = known[name] ?? { command: '' };
      await writeFile(file, `${JSON.stringify({ ...others, [name]: found }, null, 2)}\n`);
      return found;
    },
  };
}

async function seenWith(
  command: string,
  { clone, runner }: { clone: string; runner: RunnerName | null },
): Promise<ByHand> {
  const startedAt = performance.now();
  const ended = await run('sh', ['-c', `exec 2>&1; ${command}`], {
    cwd: clone,
    maxBuffer: 1e9,
    timeout: LIMIT_MS,
  }).then(
    ({ stdout }) => ({ exitCode: 0, stdout }),
    (error: { code?: number; stdout?: string }) => ({ exitCode: error.code ?? 1, stdout: error.stdout ?? '' }),
  );
  const text = stripVTControlCharacters(ended.stdout);
  const passed = passedIn(text, runner);
  const says = passed ? {} : { says: text.trim().split('\n').slice(-8).join('\n') };
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return { command, passed, exitCode: ended.exitCode, seconds, ...says };
}

/** What a person tries in a fresh clone, in this order: the tests of a package that is not built may not run. */
function usualCommands(clone: string, folder: string, runner: RunnerName | null): string[] {
  const command = usualCommand(clone, folder, runner);
  const install = /^(\w+) install && /.exec(command);
  return install === null ? [command] : [command, command.replace(install[0], `$&${install[1]} run build && `)];
}

/** From a fresh clone, as a README would have it. */
function usualCommand(clone: string, folder: string, runner: RunnerName | null): string {
  const there = folder === '' ? '' : `cd '${folder}' && `;
  const has = (name: string): boolean => existsSync(join(clone, name)) || existsSync(join(clone, folder, name));
  const manager = has('pnpm-lock.yaml')
    ? 'pnpm'
    : has('yarn.lock')
      ? 'yarn'
      : has('bun.lock') || has('bun.lockb')
        ? 'bun'
        : 'npm';
  switch (runner) {
    case 'pytest':
    case 'unittest': {
      const python = '.by-hand/bin/python';
      const tests =
        existsSync(join(clone, 'tests')) && !existsSync(join(clone, 'tests/__init__.py')) ? ' -s tests' : '';
      const start = runner === 'pytest' ? 'pytest' : `unittest discover${tests}`;
      const pip = `${python} -m pip install -q`;
      const lists = readdirSync(clone).filter((name) => REQUIREMENTS.test(name));
      const what = [
        ...lists.map((name) => `-r ${name}`),
        ...(has('setup.py') || has('pyproject.toml') ? ['-e .'] : []),
      ].join(' ');
      const install = what === '' ? '' : ` && { ${pip} ${what} || ${pip} --no-build-isolation ${what}; }`;
      return `python3 -m venv --system-site-packages .by-hand${install} && ${python} -m ${start}`;
    }
    case 'go':
      return `${there}go test -v ./...`;
    case 'cargo':
      return `${there}cargo test`;
    case 'maven':
      return `${there}mvn -B test`;
    case 'gradle':
      return `${there}gradle test`;
    case 'rspec':
    case 'minitest':
    case 'test-unit': {
      const start = runner === 'rspec' ? 'rspec' : 'rake test';
      return has('Gemfile') ? `{ bundle check || bundle install; } && bundle exec ${start}` : start;
    }
    case 'phpunit':
      return has('composer.json') ? 'composer install -q && vendor/bin/phpunit' : 'phpunit';
    default:
      return `${manager} install && ${there}${manager === 'bun' ? 'bun run' : manager} test`;
  }
}

type Counted = readonly [RunnerName, RegExp, (numbers: readonly number[]) => number];

const [first, less] = [
  ([count = 0]: readonly number[]): number => count,
  ([count = 0, ...others]: readonly number[]): number => count - others.reduce((sum, other) => sum + other, 0),
];

/** How runners say in words how many tests passed. */
const SUMMARIES: readonly Counted[] = [
  ['vitest', /^\s*Tests\s+(?:\d+ \w+ \| )*?(\d+) passed/gm, first],
  ['jest', /^Tests:\s+(?:\d+ \w+, )*?(\d+) passed/gm, first],
  ['mocha', /^\s+(\d+) passing/gm, first],
  ['node', /^[ℹ#] pass (\d+)/gm, first],
  ['borp', /^[ℹ#] pass (\d+)/gm, first],
  ['ava', /^\s+(\d+) tests? passed/gm, first],
  ['uvu', /^\s+Passed:\s+(\d+)/gm, first],
  ['jasmine', /^(\d+) specs?, (\d+) failures?(?:, (\d+) pending)?/gm, less],
  // With jasmine-spec-reporter.
  ['jasmine', /^Executed (\d+) of \d+ specs?/gm, first],
  ['qunit', /^# pass (\d+)/gm, first],
  ['bun', /^\s*(\d+) pass$/gm, first],
  ['tap', /^# \{?.*?\bpass: (\d+)|^\s*(?:Asserts|# passed|passing):\s+(\d+)|^# pass\s+(\d+)/gm, first],
  ['pytest', /^=*\s*(?:\d+ failed, )?(\d+) passed/gm, first],
  [
    'unittest',
    /^Ran (\d+) tests?[^]*?(?:^OK|^FAILED)(?: \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?(?:, )?(?:skipped=(\d+))?)?/gm,
    less,
  ],
  ['go', /^\s*--- PASS: /gm, () => 1],
  ['cargo', /^test result: \w+\. (\d+) passed/gm, first],
  ['maven', /^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$/gm, less],
  ['rspec', /^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?/gm, less],
  ['minitest', /^(\d+) runs, \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips/gm, less],
  ['test-unit', /^(\d+) tests, \d+ assertions, (\d+) failures, (\d+) errors, (\d+) pendings, (\d+) omissions/gm, less],
  [
    'phpunit',
    /^OK (?:\((\d+) tests?)|^Tests: (\d+), Assertions: \d+(?:, Errors: (\d+))?(?:, Failures: (\d+))?(?:, Skipped: (\d+))?/gm,
    less,
  ],
];

const GROUP_OF_TAP = /^ *ok \d+ - .*\\.* # time=/gm;
/** On a terminal, and elsewhere. */
const FILE_OF_NODE = /^(?:✔ \S+\.[cm]?[jt]s \([\d.]+ms\)|ok \d+ - \/\S+\.[cm]?[jt]s)$/gm;

/** Of all runs that the output tells of; null where none does. */
function passedIn(text: string, runner: RunnerName | null): number | null {
  const counts = SUMMARIES.filter(([name]) => runner === null || name === runner).flatMap(([, pattern, passed]) =>
    [...text.matchAll(pattern)].map((match) =>
      passed(
        match
          .slice(1)
          .filter((count) => count !== undefined)
          .map(Number),
      ),
    ),
  );
  // Node counts a file without tests as one that passed, tape a point that is skipped (not tap, which counts them apart), and tap a
  // test whose name has a backslash in addition to the points in it.
  const others = {
    node: FILE_OF_NODE,
    borp: FILE_OF_NODE,
    tap: /\bskip: \d/.test(text) ? GROUP_OF_TAP : new RegExp(`^ok \\d+ .*# SKIP|${GROUP_OF_TAP.source}`, 'gm'),
  };
  const wrongly = Object.entries(others).find(([name]) => name === runner)?.[1];
  const less = wrongly === undefined ? 0 : (text.match(wrongly) ?? []).length;
  if (counts.length > 0) return counts.reduce((sum, count) => sum + count, 0) - less;
  // Older versions of tap have no summary where the output is no terminal; only what holds others has a time.
  const points = runner === 'tap' ? (text.match(/^ +ok\b(?!.*# (?:time=|skip|todo))/gim) ?? []) : [];
  return points.length === 0 ? null : points.length;
}
