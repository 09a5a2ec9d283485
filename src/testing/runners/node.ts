import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import type { TestCase } from '../port.ts';
import { signOf } from '../project.ts';
import { lcovIn } from '../reports/coverage.ts';
import { caseMessage, loadMessage, type PathInWorktree, type Reading, textsIn, together } from '../reports/report.ts';
import { type Ask, changedCalls, type Report, type Runner, type RunOutput, type RunPlace } from '../runner.ts';
import {
  type Edit,
  edited,
  optionsMatching,
  plainArguments,
  programNamed,
  type ShellWord,
  shellCommands,
  type TestScript,
} from '../script.ts';
import { isTestOf } from '../test-files.ts';
import { FROM_TYPESCRIPT, isJavaScriptMissing, namedTests, withPrintedErrors } from './javascript.ts';

const NODE = /^(node|nodejs|tsx)$/;
const FLAGS = /^--(test|test-only|test-force-exit|experimental-[\w-]+|enable-source-maps|no-warnings)$/;

/** Node's own runner. */
export const node: Runner = {
  name: 'node',
  isMissingCode: isJavaScriptMissing,
  // That there is a package.json says nothing; what the tests import does.
  sign: ({ samples }) => (/['"]node:test['"]/.test(samples) ? 'named' : null),
  usualCommand: async () => 'node --test',
  headAt: (names, at) => (NODE.test(names[at] ?? '') && startedBy(names, at).isTest ? at : null),
  select: (call, files) => namedTests(call, files, FLAGS),

  async instrument(script, place, coverage, ask) {
    const reporter = await writeReporter(place);
    const changes = await changedCalls(script, 'node', async (call, index) => {
      const patterns = await patternsForFolders(plainArguments(call, FLAGS), place.worktree, ask);
      const reporters = [
        ['spec', 'stdout'],
        [pathToFileURL(reporter).href, join(place.folder, `report-${index}.jsonl`)],
        ...(coverage ? [['lcov', join(place.folder, `coverage-${index}.info`)]] : []),
      ];
      return {
        remove: [...optionsMatching(call, /^--watch(=|$)/, /^--test-reporter(-destination)?(=|$)/), ...patterns.keys()],
        last: [...patterns.values()],
        first: [
          // With source maps, the lines are those of the files that a person wrote.
          ...(coverage ? ['--experimental-test-coverage', '--enable-source-maps'] : []),
          ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
        ],
      };
    });
    return { changes, measures: coverage };
  },

  read: readNodeReports,
};

async function readNodeReports(
  { worktree, folder, pathInWorktree }: RunPlace,
  output: RunOutput,
  script: TestScript,
): Promise<Report | null> {
  const sourceOf = createSourceOf(worktree, pathInWorktree);
  const texts = await textsIn(folder, /^report-.*\.jsonl$/);
  // Node 20 then exits without waiting for its reporters.
  const end = script.text.includes('--test-force-exit') ? `\n${END_LINE}` : '';
  const parsed = texts.map((text) => parseNodeLines(`${text}${end}`, pathInWorktree, sourceOf));
  const readings = parsed.filter((found) => found !== null);
  const isCutOff = readings.length < parsed.length;
  if (isCutOff && readings.length > 0) return null;
  const reading = withPrintedErrors(readings.length === 0 ? null : together(readings), output, pathInWorktree);
  return reading === null ? null : { ...reading, coverage: await lcovIn(folder, pathInWorktree) };
}

/** A program around Node's own runner, which takes reporters by their path. */
export const borp: Runner = {
  name: 'borp',
  sign: signOf(['borp'], /^\.borp\.ya?ml$/),
  usualCommand: async () => 'borp',
  headAt: programNamed('borp', 'borp.js'),
  select: (call, files) =>
    namedTests(call, files, /^-[oCTw]|--(only|coverage|check-coverage|no-typescript|expose-gc)$/),

  async instrument(script, place) {
    const reporter = await writeReporter(place);
    const changes = await changedCalls(script, 'borp', (call, index) => ({
      remove: optionsMatching(call, /^(-w|--watch)$/, /^(-r|--reporter)(=|$)/),
      first: ['--reporter=spec', `--reporter=${reporter}:${join(place.folder, `report-${index}.jsonl`)}`],
    }));
    return { changes };
  },

  read: readNodeReports,
};

async function writeReporter({ folder }: RunPlace): Promise<string> {
  const reporter = join(folder, 'reporter.mjs');
  await writeFile(reporter, NODE_REPORTER);
  return reporter;
}

const WITH_VALUE = /^(--import|--require|-r|--loader|--experimental-loader|--env-file|--conditions|-C)$/;

/** The program that Node starts, with the options in front of it; `--test` is one of Node only there. */
function startedBy(names: readonly string[], at: number): { program: number; isTest: boolean } {
  let next = at + 1;
  while (names[next]?.startsWith('-')) next += WITH_VALUE.test(names[next] ?? '') ? 2 : 1;
  return { program: next, isTest: names.slice(at + 1, next).includes('--test') };
}

const IMPORTS = /(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"]+)['"]/g;
const MOST_READ = 40;

/**
 * Files with node:test in them may be started like any program: `node test/index.js`. With `--test` they are a call of the
 * runner, with the same tests. What a file says itself or imports decides; any other program stays as it is.
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
    const imports = [...(await read(path)).matchAll(IMPORTS)].map(([, specifier = '']) => specifier);
    if (imports.includes('node:test')) return true;
    const folder = posix.dirname(path);
    waiting.push(...imports.filter((one) => one.startsWith('.')).map((one) => posix.join(folder, one)));
  }
  return false;
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

/**
 * A reporter for node:test that writes one line of JSON per finished test, between a first and a last line of its own. It
 * runs inside the user's Node, from 20 on.
 * What a file prints to standard error is kept, as it is all that is known of a file that can't be loaded.
 */
const NODE_REPORTER = `const LIMIT = 20000;

const endOf = ({ exitCode, signal }) => {
  if (signal) return ' (ended by ' + signal + ')';
  return exitCode ? ' (exit code ' + exitCode + ')' : '';
};

export default async function* report(source) {
  const printed = new Map();
  const names = [];
  yield JSON.stringify({ type: 'begin' }) + '\\n';
  for await (const { type, data } of source) {
    if (type === 'test:stderr') {
      const key = data.entryFile ?? data.file;
      const text = printed.get(key) ?? '';
      if (text.length < LIMIT) printed.set(key, text + data.message);
    }
    if (type === 'test:start') names[data.nesting] = data.name;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error;
    const cause = error?.cause ?? error;
    yield JSON.stringify({
      type: type === 'test:pass' ? 'pass' : 'fail',
      kind: data.details?.type ?? 'test',
      names: [...names.slice(0, data.nesting), data.name],
      file: data.entryFile ?? data.file ?? null,
      excused: data.skip !== undefined || data.todo !== undefined || data.expectFailure !== undefined,
      failure: error?.failureType ?? null,
      message: error === undefined ? null : String(cause?.stack ?? cause?.message ?? cause) + endOf(error),
      printed: printed.get(data.file) ?? printed.get(data.name) ?? '',
    }) + '\\n';
  }
  yield JSON.stringify({ type: 'end' }) + '\\n';
}
`;

const lineSchema = z.object({
  type: z.enum(['pass', 'fail']),
  kind: z.string(),
  names: z.array(z.string().nullable()),
  file: z.string().nullable(),
  excused: z.boolean(),
  failure: z.string().nullable(),
  message: z.string().nullable(),
  printed: z.string(),
});

type NodeLine = z.infer<typeof lineSchema>;

/** The reporter's last line. */
const END_LINE = JSON.stringify({ type: 'end' });

/**
 * What our own reporter wrote. Node reports a file without tests, and one that can't be loaded, as a test with the name of
 * the file. Null where the reporter never began, or never came to its end.
 */
export function parseNodeLines(text: string, pathInWorktree: PathInWorktree, sourceOf: PathInWorktree): Reading | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.at(-1) !== END_LINE) return null;
  const reading: Reading = { cases: [], loadFailures: [] };
  /** Tests that were cancelled because something around them failed, which is reported later. */
  let cancelled: { names: string; test: TestCase }[] = [];
  for (const line of lines) {
    const parsed = lineSchema.safeParse(parseJson(line));
    if (!parsed.success) continue;
    const found = parsed.data;
    const file = found.file === null ? null : sourceOf(found.file);
    const name = found.names.filter((part) => part !== null).join(' > ');
    if (isWholeFile(found, pathInWorktree)) {
      if (found.type === 'fail' && !found.excused)
        reading.loadFailures.push({ file, message: loadMessage(`${found.printed}\n${found.message ?? ''}`) });
      continue;
    }
    if (found.kind === 'suite') {
      const inside = cancelled.filter(({ names }) => names.startsWith(`${name} > `));
      if (found.type === 'pass' || found.excused || found.failure === 'subtestsFailed') continue;
      for (const { test } of inside) test.message = caseMessage(found.message ?? '');
      cancelled = cancelled.filter((entry) => !inside.includes(entry));
      if (inside.length === 0) reading.loadFailures.push({ file, message: loadMessage(found.message ?? '') });
      continue;
    }
    const outcome = found.excused ? 'skipped' : found.type === 'pass' ? 'passed' : 'failed';
    const message = outcome === 'failed' ? caseMessage(found.message ?? '') : null;
    const test: TestCase = { file, name, outcome, message };
    reading.cases.push(test);
    if (found.failure === 'cancelledByParent') cancelled.push({ names: name, test });
  }
  return reading;
}

function isWholeFile(line: NodeLine, pathInWorktree: PathInWorktree): boolean {
  const [name] = line.names;
  if (line.names.length !== 1 || line.kind !== 'test' || name === null || name === undefined || line.file === null)
    return false;
  const file = pathInWorktree(line.file);
  return file !== null && pathInWorktree(name) === file;
}

/**
 * For tests that are compiled before they run: the file that a person wrote, of the same name outside of the output folder.
 * A file that was not compiled is its own source.
 */
function createSourceOf(worktree: string, pathInWorktree: PathInWorktree): PathInWorktree {
  return (path) => {
    const file = pathInWorktree(path);
    const [, output = '', name = '', extension = ''] = /^([^/]+)\/(.+)(\.[cm]?jsx?)$/.exec(file ?? '') ?? [];
    if (!/^\.?(dist|build|out|lib|output|compiled|tmp|test-dist|dist-test)$/.test(output)) return file;
    const places = (FROM_TYPESCRIPT[extension] ?? []).flatMap((end) => [`${name}${end}`, `src/${name}${end}`]);
    return places.find((place) => existsSync(join(worktree, place))) ?? file;
  };
}
