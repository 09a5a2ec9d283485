import { glob } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { shellWord } from '../../core/lines.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import { hasFile } from '../project.ts';
import { caseMessage, loadMessage, type Reading } from '../reports/report.ts';
import type { Ask, Changes, Runner } from '../runner.ts';
import { optionsMatching, plainArguments, type TestScript } from '../script.ts';

/** The target of `tests/a.rs` and `tests/a/main.rs` is `a`. */
const INTEGRATION = /(?:^|\/)tests\/([^/]+?)(?:\.rs|\/main\.rs)$/;

export const cargo: Runner = {
  name: 'cargo',
  worksHidden: true,
  // Cargo prints target names on stderr and their results on stdout; the order of both is needed.
  mergesStreams: true,
  leaves: ['Cargo.lock'],
  sign: (project) => hasFile(project, /^Cargo\.toml$/),
  usualCommand: async (_, { texts }) =>
    /^\[workspace\]/m.test(texts['Cargo.toml']) ? 'cargo test --workspace' : 'cargo test',

  headAt(names, at) {
    if (names[at] !== 'cargo') return null;
    const verb = names[at + 1]?.startsWith('+') ? at + 2 : at + 1;
    return /^(test|t)$/.test(names[verb] ?? '') ? verb : null;
  },

  select(call, files) {
    const sources = files.filter((file) => file.endsWith('.rs'));
    const targets = sources.flatMap((file) => INTEGRATION.exec(file)?.[1] ?? []);
    // Unit tests inside the library have no target of their own to select.
    if (targets.length === 0 || !sources.every(isInTests)) return null;
    return {
      remove: optionsMatching(call, /^--(lib|bins|tests|doc|examples|all-targets)$/, /^--(bin|test)(=|$)/),
      last: targets.flatMap((target) => ['--test', target]),
    };
  },

  change: (call) => ({ remove: optionsMatching(call, /^--no-fail-fast$/), first: ['--no-fail-fast'] }),
  environment: async ({ env, caches }) => ({
    env: {
      CARGO_TERM_COLOR: 'never',
      CARGO_TARGET_DIR: env.CARGO_TARGET_DIR ?? join(caches, 'cargo-target'),
    },
  }),

  async read({ worktree, script, ask }, output) {
    const exclude = (path: string): boolean => /^(target|node_modules|\.git|\.agentos)$/.test(posix.basename(path));
    const sources: string[] = [];
    for await (const path of glob('**/*.rs', { cwd: worktree, exclude })) sources.push(path);
    const reading = parseLibtest(output.stdout, (source) => {
      const [file, ...others] = sources.filter((path) => path === source || path.endsWith(`/${source}`));
      // Several crates of a workspace may have a file of that name.
      return file === undefined || others.length > 0 ? null : file;
    });
    if (reading === null) return null;
    return { ...reading, loadFailures: await withOtherTargets(reading.loadFailures, script, ask) };
  },
};

function isInTests(path: string): boolean {
  return /(?:^|\/)tests\//.test(path);
}

/** `cargo test` stops at the first target that doesn't compile; `cargo check --keep-going` reports all of them. */
async function withOtherTargets(known: LoadFailure[], { calls }: TestScript, ask: Ask): Promise<LoadFailure[]> {
  const [call, ...others] = calls.filter(({ runner }) => runner === 'cargo');
  if (known.length === 0 || call === undefined || others.length > 0) return known;
  const dashes = call.words.findIndex(({ text }) => text === '--');
  const dropped = new Set([
    ...plainArguments(call, /^--(all-features|workspace|all|release|locked|offline|frozen|quiet|verbose|tests|lib)$/),
    ...optionsMatching(call, /^--(no-run|no-fail-fast|doc)$/),
  ]);
  const after = call.words.slice(call.head + 1, dashes < 0 ? undefined : dashes).filter((word) => !dropped.has(word));
  const isChosen = after.some(({ text }) => /^--(tests?|lib|bins?|all-targets)(=|$)/.test(text));
  const words = [
    ...call.words.slice(0, call.head).map(({ text }) => text),
    'check',
    '--keep-going',
    ...(isChosen ? [] : ['--tests']),
    ...after.map(({ text }) => text),
  ];
  const { stderr } = await ask(words.map(shellWord).join(' '));
  const found = parseCompileErrors(stderr.split(/\r?\n/));
  const files = new Set(found.map(({ file }) => file));
  return [...known.filter(({ file }) => !files.has(file)), ...found];
}

/** A test binary, with the path of its source in its package; or the doc tests of a crate. */
const TARGET = /^\s+(?:Running (?:unittests )?(\S.*?) \((.+?)(?:-[\da-f]+)?\)|Doc-tests (\S+))$/;

/** Reads the merged output of `cargo test`. Null if it contains neither compiler errors nor tests. */
export function parseLibtest(output: string, fileOf: (source: string) => string | null): Reading | null {
  const lines = output.split(/\r?\n/);
  const starts = lines.flatMap((line, at) => (TARGET.test(line) ? [at] : []));
  const reading: Reading = { cases: [], loadFailures: parseCompileErrors(lines.slice(0, starts[0])) };
  for (const [at, start] of starts.entries()) {
    const [, source, binary, documented] = TARGET.exec(lines[start] ?? '') ?? [];
    const file = source === undefined ? null : fileOf(source);
    const crate = documented ?? binary?.split('/').at(-1) ?? '';
    readTarget(lines.slice(start + 1, starts[at + 1]), file, crate, reading);
  }
  return starts.length === 0 && reading.loadFailures.length === 0 ? null : reading;
}

/** Only for a failed build, because other errors of cargo are not about the code. */
export function parseCompileErrors(lines: readonly string[]): LoadFailure[] {
  if (!lines.some((line) => line.startsWith('error: could not compile'))) return [];
  const errors: { file: string | null; lines: string[] }[] = [];
  let current: (typeof errors)[number] | null = null;
  for (const line of lines) {
    if (/^error(\[E\d+\])?: (?!could not compile|aborting due to)/.test(line)) {
      current = { file: null, lines: [] };
      errors.push(current);
    } else if (/^(\s*$|error|warning)/.test(line)) current = null;
    if (current === null) continue;
    current.lines.push(line);
    current.file ??= /^\s+--> (.+?):\d+:\d+$/.exec(line)?.[1] ?? null;
  }
  if (errors.length === 0) return [{ file: null, message: loadMessage(lines.join('\n')) }];
  return [...Map.groupBy(errors, ({ file }) => file)].map(([file, found]) => ({
    file,
    message: loadMessage(found.map((error) => error.lines.join('\n')).join('\n\n')),
  }));
}

function readTarget(lines: readonly string[], file: string | null, crate: string, reading: Reading): void {
  const messages = failureMessages(lines);
  /** A test whose uncaptured output separates its name from its result. */
  let begun: string | null = null;
  for (const line of lines) {
    const [, named, rest = ''] = /^test (.+?)(?: - should panic)? \.\.\. ?(.*)$/.exec(line) ?? [];
    const isAlone = begun !== null && named === undefined;
    const [, verdict] =
      (isAlone ? /(ok|FAILED|ignored)$/ : /^(ok|FAILED|ignored)\b/).exec(named === undefined ? line : rest) ?? [];
    const test = named ?? begun;
    if (test !== null && verdict !== undefined) {
      const name = [...(file === null ? [crate] : []), ...test.split('::')].join(' > ');
      const outcome = OUTCOMES[verdict] ?? 'failed';
      reading.cases.push({ file, name, outcome, message: outcome === 'failed' ? (messages.get(test) ?? '') : null });
      begun = null;
    } else if (named !== undefined) begun = named;
  }
  const isDone = lines.some((line) => line.startsWith('test result: '));
  if (!isDone && lines.some((line) => line.startsWith('error: test failed')))
    reading.loadFailures.push({ file, message: loadMessage(lines.filter((line) => line.trim() !== '').join('\n')) });
}

const OUTCOMES: Readonly<Record<string, TestCase['outcome']>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };

/** The output of each failed test, by name. */
function failureMessages(lines: readonly string[]): Map<string, string> {
  const found = new Map<string, string[]>();
  let section: string[] | null = null;
  for (const line of lines) {
    const name = /^---- (.+?)(?: - should panic)? stdout ----$/.exec(line)?.[1];
    if (name !== undefined) {
      section = [];
      found.set(name, section);
    } else if (line === 'failures:') section = null;
    else section?.push(line);
  }
  return new Map([...found].map(([name, said]) => [name, caseMessage(said.join('\n'))]));
}

/** Error codes for unresolved names: imports, modules, functions, methods, types, traits, structs, fields. */
const NOT_FOUND = new Set(['E0432', 'E0433', 'E0425', 'E0583', 'E0599', 'E0412', 'E0405', 'E0422', 'E0560', 'E0609']);

export function isRustMissing({ message }: LoadFailure, changes: Changes): boolean | null {
  if (!/^error(\[E\d+\])?: .*\n(?:.*\n)?\s*--> .+\.rs:\d+/m.test(message)) return null;
  const isProduct = (path: string): boolean => path.endsWith('.rs') && !isInTests(path);
  if (![...changes.added, ...changes.modified].some(isProduct)) return false;
  const errors = message
    .split(/^(?=error(?:\[E\d+\])?: )/m)
    .filter((text) => text.startsWith('error') && !/^error: (?:could not compile|aborting due to)/.test(text));
  return errors.length > 0 && errors.every((error) => isNotFound(error, changes.added));
}

function isNotFound(error: string, added: readonly string[]): boolean {
  const code = /^error\[(E\d+)\]/.exec(error)?.[1];
  if (code === undefined || !NOT_FOUND.has(code)) return false;
  // The name may be a module that the LLD adds, or a crate that is missing from the dependencies.
  const root =
    /file not found for module `(\w+)`/.exec(error)?.[1] ??
    /(?:undeclared crate or module|unresolved module or unlinked crate|undeclared module|maybe a missing crate) `(\w+)`/.exec(
      error,
    )?.[1];
  return root === undefined || added.some((path) => isModule(path, root));
}

function isModule(path: string, name: string): boolean {
  const file = posix.basename(path);
  return file === `${name}.rs` || (file === 'mod.rs' && posix.basename(posix.dirname(path)) === name);
}
