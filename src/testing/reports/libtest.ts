import { caseMessage, loadMessage } from '../message.ts';
import type { TestCase } from '../port.ts';

/** One test binary, as cargo runs it. */
export interface TestTarget {
  /** Relative to its package: `tests/x.rs`, `src/lib.rs`; null for the examples in the documentation. */
  source: string | null;
  /** The crate, with underscores; empty where it isn't told. */
  crate: string;
  cases: { name: string; outcome: TestCase['outcome']; message: string | null }[];
  /** Why it ended before it was done; null where it didn't. */
  crash: string | null;
}

/** The compiler's errors in one file; null where they name none. */
export interface CompileFailure {
  file: string | null;
  message: string;
}

export interface LibtestReading {
  targets: TestTarget[];
  compileFailures: CompileFailure[];
}

const TARGET = /^\s+(?:Running (?:unittests )?(\S.*?) \((.+?)(?:-[\da-f]+)?(?:\.exe)?\)|Doc-tests (\S+))$/;

/** What `cargo test` prints, both streams in one. Null where it got neither to a compiler's error nor to a test. */
export function parseLibtest(output: string): LibtestReading | null {
  const lines = output.split(/\r?\n/);
  const starts = lines.flatMap((line, at) => (TARGET.test(line) ? [at] : []));
  const compileFailures = parseCompileErrors(lines.slice(0, starts[0]));
  const targets = starts.map((start, at) => {
    const [, source, binary, documented] = TARGET.exec(lines[start] ?? '') ?? [];
    return parseTarget(
      source?.replaceAll('\\', '/') ?? null,
      documented ?? binary?.split(/[/\\]/).at(-1) ?? '',
      lines.slice(start + 1, starts[at + 1]),
    );
  });
  return targets.length === 0 && compileFailures.length === 0 ? null : { targets, compileFailures };
}

/** Only of a build that was given up: a message of cargo itself is no error of the code. */
export function parseCompileErrors(lines: readonly string[]): CompileFailure[] {
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
    current.file ??= /^\s+--> (.+?):\d+:\d+$/.exec(line)?.[1]?.replaceAll('\\', '/') ?? null;
  }
  if (errors.length === 0) return [{ file: null, message: loadMessage(lines.join('\n')) }];
  return [...Map.groupBy(errors, ({ file }) => file)].map(([file, found]) => ({
    file,
    message: loadMessage(found.map((error) => error.lines.join('\n')).join('\n\n')),
  }));
}

function parseTarget(source: string | null, crate: string, lines: readonly string[]): TestTarget {
  const target: TestTarget = { source, crate, cases: [], crash: null };
  /** A test that prints without being captured: its result comes on a later line. */
  let begun: string | null = null;
  for (const line of lines) {
    const [, name, rest = ''] = /^test (.+?)(?: - should panic)? \.\.\. ?(.*)$/.exec(line) ?? [];
    const verdict = (begun === null || name !== undefined ? /^(ok|FAILED|ignored)\b/ : /(ok|FAILED|ignored)$/).exec(
      name === undefined ? line : rest,
    )?.[1];
    const owner = name ?? begun;
    if (owner !== null && owner !== undefined && verdict !== undefined) {
      target.cases.push({ name: owner, outcome: OUTCOMES[verdict] ?? 'failed', message: null });
      begun = null;
    } else if (name !== undefined) begun = name;
  }
  const messages = failureMessages(lines);
  for (const test of target.cases) if (test.outcome === 'failed') test.message = messages.get(test.name) ?? '';
  const isDone = lines.some((line) => line.startsWith('test result: '));
  if (!isDone && lines.some((line) => line.startsWith('error: test failed')))
    target.crash = loadMessage(lines.filter((line) => line.trim() !== '').join('\n'));
  return target;
}

const OUTCOMES: Readonly<Record<string, TestCase['outcome']>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };

/** What each failed test printed, by its name. */
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
