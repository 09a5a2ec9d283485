import { access } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What tools leave behind that git was not told to ignore. In the syntax of a `.gitignore`, and weaker than the
 * repository's own: a `!` there brings a file back. It only concerns files that are not tracked.
 */
const ALWAYS = [
  'node_modules/',
  '.pnpm-store/',
  '.nyc_output/',
  '.eslintcache',
  '*.tsbuildinfo',
  'npm-debug.log*',
  'yarn-error.log',
  '__pycache__/',
  '*.py[co]',
  '*.egg-info/',
  '.eggs/',
  '.venv/',
  '.tox/',
  '.nox/',
  '.pytest_cache/',
  '.mypy_cache/',
  '.ruff_cache/',
  '.hypothesis/',
  '.coverage',
  '.coverage.*',
  '*.profraw',
  '.DS_Store',
  'Thumbs.db',
  '.*.sw[op]',
  '.aider*',
  '.claude/settings.local.json',
];

/** Folders at the top whose name could also be the user's own: they are a tool's when they hold the tool's mark. */
const MARKED: Record<string, readonly string[]> = {
  coverage: ['lcov.info', 'coverage-final.json', 'coverage-summary.json', 'clover.xml', '.tmp'],
  htmlcov: ['status.json'],
  target: ['CACHEDIR.TAG', '.rustc_info.json'],
  'test-results': ['.last-run.json'],
};

/** The patterns that hold for a folder as it is now. */
export async function toolFilePatterns(directory: string): Promise<string[]> {
  const marks = Object.entries(MARKED).flatMap(([folder, names]) => names.map((name) => ({ folder, name })));
  const found = await Promise.all(
    marks.map(({ folder, name }) =>
      access(join(directory, folder, name)).then(
        () => [folder],
        () => [],
      ),
    ),
  );
  return [...ALWAYS, ...[...new Set(found.flat())].map((folder) => `/${folder}/`)];
}

/** A pattern that means exactly this path below the top; a folder ends with a slash. */
export function exactPattern(path: string): string {
  // A line break can't be written in such a file; `?` is any one character.
  return `/${path
    .replace(/[\\*?[\]!#]/g, '\\$&')
    .replace(/ (?=\/?$)/, '\\ ')
    .replace(/[\r\n]/g, '?')}`;
}
