import { readdir, writeFile } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lcovIn } from '../reports/coverage.ts';
import { textsIn, together } from '../reports/report.ts';
import { type Ask, changedCalls, type Runner } from '../runner.ts';
import { optionsMatching, plainArguments } from '../runner-call.ts';
import type { ShellWord } from '../shell-script.ts';
import { isTestOf } from '../test-files.ts';
import { isJavaScriptMissing, typescriptFailures } from './javascript.ts';
import { createSourceOf, END_LINE, NODE_REPORTER, parseNodeLines } from './node-report.ts';

const TAKES_VALUE = new Set(
  `-r --require --import --loader --experimental-loader -C --conditions --env-file --test-reporter
  --test-reporter-destination --test-name-pattern --test-skip-pattern --test-timeout --test-concurrency
  --test-shard --test-global-setup --test-coverage-include --test-coverage-exclude --tsconfig
  --env-file-if-exists --experimental-config-file --watch-path --max-old-space-size`.split(/\s+/),
);

/** Node's own runner. */
export const node: Runner = {
  name: 'node',
  isMissingCode: isJavaScriptMissing,
  sign: ({ packageJson, names }) =>
    packageJson !== null || names.some((name) => isTestOf('javascript', name)) ? 'fallback' : null,
  usualCommand: async () => 'node --test',
  headAt: (names, at) =>
    /^(node|nodejs|tsx)$/.test(names[at] ?? '') && names.slice(at).includes('--test') ? at : null,

  select(call, files) {
    const remove = plainArguments(call, TAKES_VALUE);
    const patterns = remove.map(({ text }) => text.replace(/^\.\//, ''));
    const chosen = files.filter((file) =>
      patterns.length === 0 ? isTestOf('javascript', file) : patterns.some((pattern) => isNamedBy(pattern, file)),
    );
    return chosen.length === 0 ? null : { remove, last: chosen };
  },

  async instrument(script, place, coverage, ask) {
    const reporter = join(place.folder, 'reporter.mjs');
    await writeFile(reporter, NODE_REPORTER);
    const changes = await changedCalls(script, 'node', async (call, index) => {
      const patterns = await patternsForFolders(plainArguments(call, TAKES_VALUE), place.worktree, ask);
      const reporters = [
        ['spec', 'stdout'],
        [pathToFileURL(reporter).href, join(place.folder, `report-${index}.jsonl`)],
        ...(coverage ? [['lcov', join(place.folder, `coverage-${index}.info`)]] : []),
      ];
      return {
        remove: [
          ...optionsMatching(call, /^(--test-reporter|--test-reporter-destination|--watch)(=|$)/, TAKES_VALUE),
          ...patterns.keys(),
        ],
        last: [...patterns.values()],
        first: [
          // With source maps, the lines are those of the files that a person wrote.
          ...(coverage ? ['--experimental-test-coverage', '--enable-source-maps'] : []),
          ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
        ],
      };
    });
    return { changes };
  },

  async read({ worktree, folder, pathInWorktree }, output, script) {
    const sourceOf = createSourceOf(worktree, pathInWorktree);
    const texts = await textsIn(folder, /^report-.*\.jsonl$/);
    // Node 20 then exits without waiting for its reporters.
    const end = script.text.includes('--test-force-exit') ? `\n${END_LINE}` : '';
    const parsed = texts.map((text) => parseNodeLines(`${text}${end}`, pathInWorktree, sourceOf));
    const readings = parsed.filter((found) => found !== null);
    if (readings.length === 0) return typescriptFailures(output, pathInWorktree);
    if (readings.length < parsed.length) return null;
    return { ...together(readings), coverage: await lcovIn(folder, pathInWorktree) };
  },
};

function isNamedBy(pattern: string, file: string): boolean {
  const folder = pattern.replace(/\/$/, '');
  if (file.startsWith(`${folder}/`)) return isTestOf('javascript', file);
  return file === pattern || matchesGlob(file, pattern);
}

/** From this version on, Node takes patterns for its tests, and no folders any more. */
const TAKES_PATTERNS = 21;

/** Patterns for the arguments of `node --test` that are folders, where the Node that is used can't do with a folder. */
async function patternsForFolders(
  words: readonly ShellWord[],
  worktree: string,
  ask: Ask,
): Promise<ReadonlyMap<ShellWord, string>> {
  const folders = words.filter(({ text }) => /^[^*?[{]+$/.test(text) && !/\.[cm]?[jt]sx?$/.test(text));
  if (folders.length === 0) return new Map();
  const { stdout } = await ask('node --version');
  const major = Number(/^v(\d+)\./.exec(stdout)?.[1] ?? TAKES_PATTERNS);
  if (major < TAKES_PATTERNS) return new Map();
  const found = folders.map(async (word) => {
    const folder = word.text.replace(/\/$/, '');
    const files = await readdir(join(worktree, folder), { recursive: true }).catch(() => []);
    // Where no file has the name of a test, all of them are tests.
    const isNamed = files.length === 0 || files.some((file) => isTestOf('javascript', file));
    return [word, `${folder}/**/${isNamed ? '{test,test-*,*[._-]test,*[._-]spec}' : '*'}.?(c|m)[jt]s`] as const;
  });
  return new Map(await Promise.all(found));
}
