import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeReporter } from '../reports/lines.ts';
import type { PathInWorktree, Reading } from '../reports/report.ts';
import type { Runner, RunOutput, RunPlace } from '../runner.ts';
import { type Edit, edited, optionsMatching, shellCommands } from '../script.ts';
import { FROM_TYPESCRIPT, namedTests, packaged, readLines, specifiersOf } from './javascript.ts';

const NODE = /^(node|nodejs|tsx)$/;
const FLAGS = /^--(test|test-only|test-force-exit|experimental-[\w-]+|enable-source-maps|no-warnings)$/;

/** Node's own runner. */
export const node: Runner = {
  name: 'node',
  // A package.json alone is not a sign; imports in tests are.
  sign: ({ samples }) => /['"]node:test['"]/.test(samples),
  usualCommand: async () => 'node --test',
  headAt: (names, at) => (NODE.test(names[at] ?? '') && startedBy(names, at).isTest ? at : null),
  select: (call, files) => namedTests(call, files, FLAGS),

  async change(call, index, place) {
    const { coverage } = place;
    const reporter = await writeReporter(place, index, 'mjs', NODE_REPORTER);
    const reporters = [
      ['spec', 'stdout'],
      [pathToFileURL(reporter).href, `${reporter}.out`],
      ...(coverage ? [['lcov', join(place.folder, `coverage-${index}.info`)]] : []),
    ];
    return {
      measures: coverage,
      remove: optionsMatching(call, /^--watch(=|$)/, /^--test-reporter(-destination)?(=|$)/),
      first: [
        // Source maps make coverage refer to the original files.
        ...(coverage ? ['--experimental-test-coverage', '--enable-source-maps'] : []),
        ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
      ],
    };
  },

  read: readNode,
};

async function readNode(place: RunPlace, output: RunOutput): Promise<Reading | null> {
  // With it, Node 20 exits without waiting for its reporters.
  const mayLackEnd = place.script.text.includes('--test-force-exit');
  return await readLines(place, output, { fileOf: createSourceOf(place), mayLackEnd });
}

/** A wrapper around Node's own runner that accepts reporters by path. */
export const borp: Runner = {
  ...packaged('borp', /^(-[oCTw]|--(only|coverage|check-coverage|no-typescript|expose-gc))$/, {
    configuration: /^\.borp\.ya?ml$/,
  }),

  async change(call, index, place) {
    const reporter = await writeReporter(place, index, 'mjs', NODE_REPORTER);
    return {
      remove: optionsMatching(call, /^(-w|--watch)$/, /^(-r|--reporter)(=|$)/),
      first: ['--reporter=spec', `--reporter=${reporter}:${reporter}.out`],
    };
  },

  read: readNode,
};

const WITH_VALUE = /^(--import|--require|-r|--loader|--experimental-loader|--env-file|--conditions|-C)$/;

/** The program that Node starts. `--test` is Node's own option only if it comes before that program. */
function startedBy(names: readonly string[], at: number): { program: number; isTest: boolean } {
  let next = at + 1;
  while (names[next]?.startsWith('-')) next += WITH_VALUE.test(names[next] ?? '') ? 2 : 1;
  return { program: next, isTest: names.slice(at + 1, next).includes('--test') };
}

const MOST_READ = 40;

/**
 * Files that use node:test can be started like any program: `node test/index.js`. Adding `--test` turns that into a call of
 * the runner with the same tests. Only programs that import node:test, directly or not, are changed.
 */
export async function withTestFlags(script: string, read: (path: string) => Promise<string>): Promise<string> {
  const edits: Edit[] = [];
  for (const words of shellCommands(script)) {
    const at = words.findIndex(({ text }) => NODE.test(text));
    const { program, isTest } = startedBy(
      words.map(({ text }) => text),
      at,
    );
    const file = words[program]?.text ?? '';
    const end = words[at]?.end;
    if (end !== undefined && !isTest && /\.[cm]?[jt]s$/.test(file) && (await importsNodeTest(file, read)))
      edits.push({ start: end, end, text: ' --test' });
  }
  return edited(script, edits);
}

async function importsNodeTest(file: string, read: (path: string) => Promise<string>): Promise<boolean> {
  const waiting = [posix.normalize(file)];
  const seen = new Set<string>();
  for (let path = waiting.shift(); path !== undefined && seen.size < MOST_READ; path = waiting.shift()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const imports = specifiersOf(await read(path));
    if (imports.includes('node:test')) return true;
    const folder = posix.dirname(path);
    waiting.push(...imports.filter((one) => one.startsWith('.')).map((one) => posix.join(folder, one)));
  }
  return false;
}

/**
 * Runs inside the user's Node, 20 or later. Node reports a file without tests, or one that can't be loaded, as a test named
 * after the file; for the latter, its stderr is the only explanation. Tests that a failed hook cancels are reported before
 * the suite that has the reason.
 */
const NODE_REPORTER = `import { resolve } from 'node:path';

const LIMIT = 20000;

const endOf = ({ exitCode, signal }) => {
  if (signal) return ' (killed by ' + signal + ')';
  return exitCode ? ' (exit code ' + exitCode + ')' : '';
};
const real = (path) => (fs.existsSync(path) ? fs.realpathSync(path) : path);

export default async function* report(source) {
  const printed = new Map();
  const around = [];
  let cancelled = [];
  for await (const { type, data } of source) {
    if (type === 'test:stderr') {
      const key = data.entryFile ?? data.file;
      const text = printed.get(key) ?? '';
      if (text.length < LIMIT) printed.set(key, text + data.message);
    }
    if (type === 'test:start') around[data.nesting] = data.name;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error;
    const cause = error?.cause ?? error;
    const file = data.entryFile ?? data.file ?? null;
    const names = [...around.slice(0, data.nesting), data.name].filter((name) => typeof name === 'string');
    const isExcused = data.skip !== undefined || data.todo !== undefined || data.expectFailure !== undefined;
    const isFailed = type === 'test:fail' && !isExcused;
    const message = error === undefined ? '' : String(cause?.stack ?? cause?.message ?? cause) + endOf(error);
    if (data.details?.type === 'suite') {
      if (!isFailed || error.failureType === 'subtestsFailed') continue;
      const inside = cancelled.filter((test) => names.every((name, at) => test.names[at] === name));
      cancelled = cancelled.filter((test) => !inside.includes(test));
      for (const test of inside) write({ ...test, message });
      if (inside.length === 0) write({ file, broken: message });
    } else if (data.nesting === 0 && file !== null && real(resolve(data.name)) === real(resolve(file))) {
      const said = printed.get(data.file) ?? printed.get(data.name) ?? '';
      if (isFailed) write({ file, broken: said + '\\n' + message });
    } else {
      const test = { file, names, outcome: isExcused ? 'skipped' : isFailed ? 'failed' : 'passed', message };
      if (error?.failureType === 'cancelledByParent') cancelled.push(test);
      else write(test);
    }
  }
  for (const test of cancelled) write(test);
  write({ end: true });
}
`;

/**
 * Maps a compiled test to its source: the TypeScript file of the same name outside the output folder. Other files map to
 * themselves.
 */
function createSourceOf({ worktree, pathInWorktree }: RunPlace): PathInWorktree {
  return (path) => {
    const file = pathInWorktree(path);
    const [, output = '', name = '', extension = ''] = /^([^/]+)\/(.+)(\.[cm]?jsx?)$/.exec(file ?? '') ?? [];
    if (!/^\.?(dist|build|out|lib|output|compiled|tmp|test-dist|dist-test)$/.test(output)) return file;
    const places = (FROM_TYPESCRIPT[extension] ?? []).flatMap((end) => [`${name}${end}`, `src/${name}${end}`]);
    return places.find((place) => existsSync(join(worktree, place))) ?? file;
  };
}
