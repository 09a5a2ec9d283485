import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadMessage } from '../message.ts';
import { parseCobertura } from '../reports/cobertura.ts';
import { parseJunit } from '../reports/junit.ts';
import type { Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { plainArguments, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { shellQuoted } from '../shell-script.ts';
import { textsIn } from './report-files.ts';

const TAKES_VALUE = new Set(
  `-k -m -c -p -o -n -W -r --rootdir --confcutdir --ignore --ignore-glob --deselect --maxfail --tb
  --durations --junitxml --junit-xml --basetemp --import-mode --cov-report --cov-config --timeout
  --numprocesses --dist --log-level --capture --color`.split(/\s+/),
);
const TEST_NAME = /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/;

/**
 * The options go in by PYTEST_ADDOPTS, so that they arrive even through `make test`. Files that can't be collected don't
 * keep the others from running.
 */
export const pytest: Runner = {
  select(script, files) {
    const [call, ...others] = runnerCalls(script).filter(({ runner }) => runner === 'pytest');
    const chosen = files.filter((file) => TEST_NAME.test(file));
    if (call === undefined || others.length > 0 || chosen.length === 0) return script;
    const remove = plainArguments(call, TAKES_VALUE);
    return withCallsChanged(script, new Map([[call, { remove, last: chosen }]]));
  },

  async instrument(script, place, coverage, ask) {
    const options = [
      `--junitxml=${join(place.folder, 'report.xml')}`,
      '--override-ini=junit_family=xunit1',
      `--override-ini=cache_dir=${join(place.caches, 'pytest')}`,
      '--continue-on-collection-errors',
    ];
    if (coverage && (await knowsCoverage(script, ask)))
      options.push('--cov=.', `--cov-report=xml:${join(place.folder, 'coverage.xml')}`);
    const given = place.env.PYTEST_ADDOPTS ?? '';
    return {
      script,
      env: {
        PYTEST_ADDOPTS: `${given} ${options.map(shellQuoted).join(' ')}`.trim(),
        PYTHONDONTWRITEBYTECODE: '1',
        COVERAGE_FILE: join(place.folder, 'coverage.sqlite'),
      },
    };
  },

  async read(place, output) {
    const { pathInWorktree } = place;
    const isFile = (path: string): boolean => existsSync(join(place.worktree, path));
    const [xml] = await textsIn(place.folder, /^report\.xml$/);
    const reading = xml === undefined ? null : parseJunit(xml, { pathInWorktree, isFile });
    if (reading === null) return conftestFailure(output, place);
    const [cobertura] = await textsIn(place.folder, /^coverage\.xml$/);
    const coverage = cobertura === undefined ? null : parseCobertura(cobertura, pathInWorktree, isFile);
    return { ...reading, coverage };
  },
};

/** A conftest that can't be imported ends pytest before it reports anything. */
function conftestFailure(output: RunOutput, place: RunPlace): Report | null {
  const text = `${output.stderr}\n${output.stdout}`;
  const file =
    /ImportError while loading conftest '(.+)'/.exec(text)?.[1] ??
    /ConftestImportFailure: .*\(from (.+)\)/.exec(text)?.[1];
  if (file === undefined) return null;
  return {
    cases: [],
    loadFailures: [{ file: place.pathInWorktree(file), message: loadMessage(text) }],
    coverage: null,
  };
}

async function knowsCoverage(script: string, ask: (script: string) => Promise<RunOutput>): Promise<boolean> {
  const call = runnerCalls(script).find(({ runner }) => runner === 'pytest');
  const [first] = call?.words ?? [];
  const head = call?.words[call.head];
  if (first === undefined || head === undefined) return false;
  const { stdout } = await ask(`${script.slice(first.start, head.end)} --help`);
  return stdout.includes('--cov-report');
}
