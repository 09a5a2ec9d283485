import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Untracked files that tools leave behind and the repository does not ignore, in the syntax of a `.gitignore`. The repository's own
 * patterns take precedence.
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

/** Top-level folders that are ignored only if they contain one of these files, because users may have folders of that name. */
const MARKED: Record<string, readonly string[]> = {
  coverage: ['lcov.info', 'coverage-final.json', 'coverage-summary.json', 'clover.xml', '.tmp'],
  htmlcov: ['status.json'],
  target: ['CACHEDIR.TAG', '.rustc_info.json'],
  'test-results': ['.last-run.json'],
};

/** The patterns that hold for a folder as it is now. */
export function toolFilePatterns(directory: string): string[] {
  const isMarked = ([folder, names]: [string, readonly string[]]): boolean =>
    names.some((name) => existsSync(join(directory, folder, name)));
  return [
    ...ALWAYS,
    ...Object.entries(MARKED)
      .filter(isMarked)
      .map(([folder]) => `/${folder}/`),
  ];
}

/** A pattern that means exactly this path below the top; a folder ends with a slash. */
export function exactPattern(path: string): string {
  // A line break can't be written in such a file; `?` is any one character.
  return `/${path
    .replace(/[\\*?[\]!#]/g, '\\$&')
    .replace(/ (?=\/?$)/, '\\ ')
    .replace(/[\r\n]/g, '?')}`;
}
