import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { shellWord } from '../../core/lines.ts';
import { findProgram, runProgram } from '../../process/program.ts';
import type { LoadFailure } from '../port.ts';
import { hasFile, type Project } from '../project.ts';
import { junitReports } from '../reports/junit.ts';
import { linesIn } from '../reports/lines.ts';
import { lcovIn, loadMessage, type Reading, textsIn } from '../reports/report.ts';
import type { Changes, Runner, RunOutput, RunPlace } from '../runner.ts';
import { plainArguments } from '../script.ts';
import { isTestOf } from '../test-files.ts';

const PYTEST = /\bpytest\b|\bpy\.test\b/;
const FLAGS = /^(-[qvxs]+|--(verbose|quiet|exitfirst|lf|ff|strict-markers))$/;

/**
 * Options are passed in PYTEST_ADDOPTS, so that they take effect even through `make test`. Collection errors in one file
 * don't stop the others.
 */
export const pytest: Runner = {
  name: 'pytest',
  worksHidden: true,
  usualCommand: pytestCommand,
  headAt: (names, at) => (names[at] === 'pytest' || names[at] === 'py.test' ? at : null),

  sign(project) {
    const isTest = (name: string): boolean => name === 'conftest.py' || isTestOf('python', name);
    const { texts, samples } = project;
    // tox and nox decide what runs; if that isn't pytest, it isn't supported here.
    const started = `${texts['tox.ini']}${texts['noxfile.py']}`;
    if (/commands\s*=|session\.run/.test(started) && !PYTEST.test([...Object.values(texts), samples].join('\n')))
      return false;
    if (project.names.some(isTest) || hasFile(project, /^\.?pytest\.(ini|toml)$/)) return true;
    const isConfigured = texts['setup.cfg'].includes('[tool:pytest]') || texts['tox.ini'].includes('[pytest]');
    return isConfigured || PYTEST.test(started) || texts['pyproject.toml'].includes('pytest');
  },

  signOfLanguage: (project) => hasFile(project, /^(pyproject\.toml|setup\.cfg|setup\.py)$/),

  select(call, files) {
    const chosen = files.filter((file) => isTestOf('python', file));
    return chosen.length === 0 ? null : { remove: plainArguments(call, FLAGS), last: chosen };
  },

  async environment(place) {
    const options = [
      `--junitxml=${join(place.folder, 'report.xml')}`,
      '--override-ini=junit_family=xunit1',
      `--override-ini=cache_dir=${join(place.caches, 'pytest')}`,
      '--continue-on-collection-errors',
    ];
    const measures = place.coverage && (await knowsCoverage(place));
    if (measures) options.push('--cov=.', `--cov-report=lcov:${join(place.folder, 'coverage.info')}`);
    const given = place.env.PYTEST_ADDOPTS ?? '';
    return {
      measures,
      env: {
        PYTEST_ADDOPTS: `${given} ${options.map(shellWord).join(' ')}`.trim(),
        // tox only passes on the variables it is told to; the first setting is for version 3, the second for 4.
        TOX_TESTENV_PASSENV: 'PYTEST_ADDOPTS COVERAGE_FILE',
        TOX_OVERRIDE: 'testenv.pass_env+=PYTEST_ADDOPTS,COVERAGE_FILE',
        PYTHONDONTWRITEBYTECODE: '1',
        COVERAGE_FILE: join(place.folder, 'coverage.sqlite'),
      },
    };
  },

  async read(place, output) {
    const reading = junitReports(await textsIn(place.folder, /^report\.xml$/), place);
    if (reading === null) return conftestFailure(output, place);
    return { ...reading, coverage: await lcovIn(place.folder, place.pathInWorktree) };
  },
};

/** If a conftest can't be imported, pytest exits without a report. */
function conftestFailure(output: RunOutput, place: RunPlace): Reading | null {
  const text = `${output.stderr}\n${output.stdout}`;
  const file =
    /ImportError while loading conftest '(.+)'/.exec(text)?.[1] ??
    /ConftestImportFailure: .*\(from (.+)\)/.exec(text)?.[1];
  if (file === undefined) return null;
  return { cases: [], loadFailures: [{ file: place.pathInWorktree(file), message: loadMessage(text) }] };
}

async function knowsCoverage({ script: { text, calls }, ask }: RunPlace): Promise<boolean> {
  const call = calls.find(({ runner }) => runner === 'pytest');
  const [first] = call?.words ?? [];
  const head = call?.words[call.head];
  if (first === undefined || head === undefined) return false;
  const { stdout } = await ask(`${text.slice(first.start, head.end)} --help`);
  return /--cov-report[^]*\blcov\b/.test(stdout);
}

const PROBE_TIMEOUT_MS = 30_000;
const ENVIRONMENTS = ['.venv/bin/python', 'venv/bin/python'];

type Environment = Readonly<Record<string, string>>;

/**
 * In this order: the worktree's virtual environment, uv or poetry if there is a lock file, a Python on PATH that has pytest,
 * plain `pytest`.
 */
async function pytestCommand(directory: string, _: Project, env: Environment): Promise<string> {
  for (const python of ENVIRONMENTS)
    if (await hasPytest(join(directory, python), directory, env)) return `${shellWord(python)} -m pytest`;
  for (const tool of ['uv', 'poetry'])
    if (existsSync(join(directory, `${tool}.lock`)) && (await findProgram(tool, env.PATH)) !== null)
      return `${tool} run pytest`;
  for (const python of ['python3', 'python']) if (await hasPytest(python, directory, env)) return `${python} -m pytest`;
  return 'pytest';
}

async function hasPytest(python: string, cwd: string, env: Environment): Promise<boolean> {
  const command = [python, '-c', 'import pytest'];
  const { signal } = new AbortController();
  const { exitCode } = await runProgram({ command, cwd, env, signal, timeoutMs: PROBE_TIMEOUT_MS });
  return exitCode === 0;
}

/** The Python of the worktree's virtual environment, or the one on PATH. */
async function pythonFor(directory: string, env: Environment): Promise<string> {
  const own = ENVIRONMENTS.find((python) => existsSync(join(directory, python)));
  return own ?? ((await findProgram('python3', env.PATH)) === null ? 'python' : 'python3');
}

/** The last line of a traceback. A heading such as `ImportError while importing` has no colon and doesn't match. */
const ERROR = /^(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Failed)): (.*)$/gm;

export function isPythonMissing(failure: LoadFailure, changes: Changes, worktree: string): boolean | null {
  if (!failure.file?.endsWith('.py') && !/^(E\s+)?(ModuleNotFoundError|ImportError): /m.test(failure.message))
    return null;
  const errors = [...failure.message.matchAll(ERROR)];
  return (
    errors.length > 0 &&
    errors.every(([, kind = '', text = '']) => {
      const module = kind === 'ModuleNotFoundError' ? /^No module named '([^']+)'$/.exec(text.trim())?.[1] : undefined;
      if (module !== undefined) return isModuleAdded(module);
      const name = /^cannot import name '([^']+)' from '([^']+)'/.exec(text);
      if (kind !== 'ImportError' || name === null) return false;
      return isModuleAdded(`${name[2]}.${name[1]}`) || isChanged(name[2] ?? '');
    })
  );

  function isModuleAdded(module: string): boolean {
    const places = placesOf(module);
    if (places.some((place) => isPython(place, changes.added))) return true;
    // A namespace package exists as soon as it contains a module.
    return places.some(
      (place) => changes.added.some((path) => path.startsWith(`${place}/`)) && !existsSync(join(worktree, place)),
    );
  }

  function isChanged(module: string): boolean {
    return placesOf(module).some((place) => isPython(place, [...changes.added, ...changes.modified]));
  }

  /** Relative to the root, to `src/`, or next to the test. */
  function placesOf(module: string): string[] {
    const path = module.replaceAll('.', '/');
    const beside = failure.file === null ? [] : [posix.join(posix.dirname(failure.file), path)];
    return [path, `src/${path}`, ...beside];
  }
}

function isPython(place: string, paths: readonly string[]): boolean {
  return paths.includes(`${place}.py`) || paths.includes(`${place}/__init__.py`) || paths.includes(`${place}.pyi`);
}

const COMMAND = /-m unittest\b[^\n"'{}#]*/;

/** Python's own runner. It writes no report, so a script of ours runs it and writes one. */
export const unittest: Runner = {
  name: 'unittest',

  sign({ texts, samples }) {
    const all = Object.values(texts).join('\n');
    if (PYTEST.test(`${all}\n${samples}`)) return false;
    return COMMAND.test(all) || /^\s*(?:import unittest|from unittest\b)/m.test(samples);
  },

  async usualCommand(directory, { texts, names, top }, env) {
    const python = await pythonFor(directory, env);
    const said = COMMAND.exec(`${texts['tox.ini']}\n${texts['noxfile.py']}`)?.[0].trim();
    if (said !== undefined) return `${python} ${said}`;
    // Discovery doesn't enter folders without an `__init__.py`.
    const isApart =
      top.includes('tests') && !names.includes('__init__.py') && !top.some((name) => isTestOf('python', name));
    return `${python} -m unittest discover${isApart ? ' -s tests' : ''}`;
  },

  headAt: (names, at) => (names[at] === 'unittest' && names[at - 1] === '-m' ? at : null),

  select(_, files) {
    if (files.length === 0 || !files.every((file) => isTestOf('python', file))) return null;
    return { last: files.flatMap((file) => ['-k', `*${posix.basename(file, '.py')}.*`]) };
  },

  async change({ words, head }, index, { folder }) {
    const program = join(folder, `unittest-${index}.py`);
    await writeFile(program, UNITTEST_PROGRAM);
    const named = [words[head - 1], words[head]].filter((word) => word !== undefined);
    return { remove: named, first: [program] };
  },

  environment: async () => ({ env: { PYTHONDONTWRITEBYTECODE: '1' } }),
  read: ({ folder, pathInWorktree }) => linesIn(folder, pathInWorktree),
};

const UNITTEST_PROGRAM = `import json, os, sys, unittest

sys.path[0] = os.getcwd()
report = os.path.splitext(os.path.abspath(__file__))[0] + ".lines"


def write(line):
    with open(report, "a") as file:
        file.write(json.dumps(line) + "\\n")


def file_of_module(name):
    end = os.sep + name.replace(".", os.sep) + ".py"
    for folder, folders, files in os.walk(os.getcwd()):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in ("node_modules", "venv")]
        for file in files:
            if os.path.join(folder, file).endswith(end):
                return os.path.join(folder, file)
    return None


def tell(test, outcome, message=None, more=()):
    if type(test).__name__ == "_FailedTest":
        reason = str(message)
        # Drop the heading above the traceback.
        write({"file": file_of_module(test._testMethodName), "broken": reason[max(reason.find("Traceback"), 0) :]})
        return
    module = sys.modules.get(type(test).__module__)
    inner = getattr(test, "_testMethodName", None)
    names = [type(test).__qualname__, inner] if inner else [str(test)]
    file = getattr(module, "__file__", None) if inner else None
    write({"file": file, "names": names + list(more), "outcome": outcome, "message": message})


class Lines(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        tell(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        tell(test, "failed", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        tell(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        tell(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        tell(test, "skipped")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        tell(test, "failed", "unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            tell(test, "failed", self._exc_info_to_string(err, test), [subtest._subDescription()])

    def stopTestRun(self):
        super().stopTestRun()
        write({"end": True})


class Runner(unittest.TextTestRunner):
    resultclass = Lines


unittest.main(module=None, argv=["python -m unittest", *sys.argv[1:]], testRunner=Runner)
`;
