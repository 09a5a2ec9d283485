import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { shellWord } from '../../core/lines.ts';
import { findProgram, runProgram } from '../../process/program.ts';
import type { LoadFailure } from '../port.ts';
import { hasFile, type Project } from '../project.ts';
import { lcovIn } from '../reports/coverage.ts';
import { junitReports } from '../reports/junit.ts';
import { loadMessage, textsIn } from '../reports/report.ts';
import type { Ask, Changes, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { plainArguments, type TestScript } from '../script.ts';
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
  isMissingCode: isPythonMissing,
  usualCommand: pytestCommand,
  headAt: (names, at) => (names[at] === 'pytest' || names[at] === 'py.test' ? at : null),

  sign(project) {
    const isTest = (name: string): boolean => name === 'conftest.py' || isTestOf('python', name);
    const { texts, samples } = project;
    // tox and nox decide what runs; if that isn't pytest, it isn't supported here.
    const started = `${texts['tox.ini']}${texts['noxfile.py']}`;
    if (/commands\s*=|session\.run/.test(started) && !PYTEST.test([...Object.values(texts), samples].join('\n')))
      return null;
    if (project.names.some(isTest) || hasFile(project, /^\.?pytest\.(ini|toml)$/)) return 'named';
    if (PYTEST.test(started)) return 'named';
    if (texts['pyproject.toml'].includes('pytest') || texts['setup.cfg'].includes('[tool:pytest]')) return 'named';
    if (texts['tox.ini'].includes('[pytest]')) return 'named';
    return hasFile(project, /^(pyproject\.toml|setup\.cfg|setup\.py)$/) ? 'language' : null;
  },

  select(call, files) {
    const chosen = files.filter((file) => isTestOf('python', file));
    return chosen.length === 0 ? null : { remove: plainArguments(call, FLAGS), last: chosen };
  },

  async environment(script, place, { coverage, ask }) {
    const options = [
      `--junitxml=${join(place.folder, 'report.xml')}`,
      '--override-ini=junit_family=xunit1',
      `--override-ini=cache_dir=${join(place.caches, 'pytest')}`,
      '--continue-on-collection-errors',
    ];
    const measures = coverage && (await knowsCoverage(script, ask));
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
function conftestFailure(output: RunOutput, place: RunPlace): Report | null {
  const text = `${output.stderr}\n${output.stdout}`;
  const file =
    /ImportError while loading conftest '(.+)'/.exec(text)?.[1] ??
    /ConftestImportFailure: .*\(from (.+)\)/.exec(text)?.[1];
  if (file === undefined) return null;
  return { cases: [], loadFailures: [{ file: place.pathInWorktree(file), message: loadMessage(text) }] };
}

async function knowsCoverage({ text, calls }: TestScript, ask: Ask): Promise<boolean> {
  const call = calls.find(({ runner }) => runner === 'pytest');
  const [first] = call?.words ?? [];
  const head = call?.words[call.head];
  if (first === undefined || head === undefined) return false;
  const { stdout } = await ask(`${text.slice(first.start, head.end)} --help`);
  return /--cov-report[^]*\blcov\b/.test(stdout);
}

const PROBE_TIMEOUT_MS = 30_000;
const ENVIRONMENTS = ['.venv/bin/python', 'venv/bin/python', '.venv/Scripts/python.exe', 'venv/Scripts/python.exe'];

type Environment = Readonly<Record<string, string>>;

/**
 * In this order: the worktree's virtual environment, uv or poetry if there is a lock file, a Python on PATH that has pytest,
 * plain `pytest`.
 */
async function pytestCommand(directory: string, _: Project, env: Environment): Promise<string> {
  for (const python of ENVIRONMENTS) {
    if (existsSync(join(directory, python)) && (await hasModule('pytest', join(directory, python), directory, env)))
      return `${shellWord(python)} -m pytest`;
  }
  for (const tool of ['uv', 'poetry']) {
    if (existsSync(join(directory, `${tool}.lock`)) && (await findProgram(tool, env.PATH)) !== null)
      return `${tool} run pytest`;
  }
  for (const python of ['python3', 'python']) {
    if ((await findProgram(python, env.PATH)) !== null && (await hasModule('pytest', python, directory, env)))
      return `${python} -m pytest`;
  }
  return 'pytest';
}

/** The Python of the worktree's virtual environment, or the one on PATH. */
export async function pythonFor(directory: string, env: Environment): Promise<string> {
  const own = ENVIRONMENTS.find((python) => existsSync(join(directory, python)));
  if (own !== undefined) return shellWord(own);
  return (await findProgram('python3', env.PATH)) === null ? 'python' : 'python3';
}

async function hasModule(module: string, python: string, cwd: string, env: Environment): Promise<boolean> {
  const command = [python, '-c', `import ${module}`];
  const { signal } = new AbortController();
  const ended = await runProgram({ command, cwd, env, signal, timeoutMs: PROBE_TIMEOUT_MS });
  return ended.exitCode === 0;
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
