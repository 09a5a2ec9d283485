import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import type { TestCase } from '../port.ts';
import { caseMessage, loadMessage, type Reading } from '../reports/report.ts';
import type { PathInWorktree } from '../worktree-path.ts';
import { FROM_TYPESCRIPT } from './javascript.ts';

/**
 * A reporter for node:test that writes one line of JSON per finished test, between a first and a last line of its own. It
 * runs inside the user's Node, from 20 on.
 * What a file prints to standard error is kept, as it is all that is known of a file that can't be loaded.
 */
export const NODE_REPORTER = `const LIMIT = 20000;

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
export const END_LINE = JSON.stringify({ type: 'end' });

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

const mapSchema = z.object({ sourceRoot: z.string().optional(), sources: z.array(z.string()) });

/**
 * For tests that are compiled before they run: the file that a person wrote, from the source map or else from a file of
 * the same name outside of the output folder. A file that was not compiled is its own source.
 */
export function createSourceOf(worktree: string, pathInWorktree: PathInWorktree): PathInWorktree {
  const known = new Map<string, string | null>();
  return (path) => {
    const file = pathInWorktree(path);
    if (file === null) return null;
    const found = known.get(file) ?? mapped(file) ?? sameName(file) ?? file;
    known.set(file, found);
    return found;
  };

  function mapped(file: string): string | null {
    try {
      const map = mapSchema.parse(JSON.parse(readFileSync(join(worktree, `${file}.map`), 'utf8')));
      const [source, ...others] = map.sources;
      if (source === undefined || others.length > 0) return null;
      const place = resolve(worktree, dirname(file), map.sourceRoot ?? '', source);
      return existsSync(place) ? pathInWorktree(place) : null;
    } catch {
      return null;
    }
  }

  function sameName(file: string): string | null {
    const extension = /\.[cm]?jsx?$/.exec(file)?.[0] ?? '';
    const [output = '', ...rest] = file.slice(0, file.length - extension.length).split('/');
    if (!/^\.?(dist|build|out|lib|output|compiled|tmp|test-dist|dist-test)$/.test(output)) return null;
    const places = (FROM_TYPESCRIPT[extension] ?? []).flatMap((ending) => [
      `${rest.join('/')}${ending}`,
      `src/${rest.join('/')}${ending}`,
    ]);
    return places.find((place) => existsSync(join(worktree, place))) ?? null;
  }
}
