import { existsSync, readFileSync } from 'node:fs';
import { join, matchesGlob, posix } from 'node:path';
import { withoutSequences } from '../../core/lines.ts';
import type { LoadFailure } from '../port.ts';
import { createPathInWorktree, loadMessage, type PathInWorktree, type Reading } from '../reports/report.ts';
import type { Changes, RunOutput } from '../runner.ts';
import { type CallChange, plainArguments, type RunnerCall } from '../script.ts';
import { isInTestFolder, isTestOf } from '../test-files.ts';

/*
 * What the runners of JavaScript have in common: how Node, the bundlers and the TypeScript compiler say that a module can't
 * be loaded, and which file an import means.
 */

/** How the tools say that a module is not there: Node, Vitest and Jest, each in its own words. A path may hold quotes. */
const MISSING: readonly RegExp[] = [
  // Node (an absolute path), Vitest from 3 on (as written).
  /Cannot find (?:module|package) '(?<specifier>.+?)' imported from '?(?<importer>.+?)'?\s*$/gm,
  /Cannot find module '(?<specifier>.+)'\s*\n\s*Require stack:\s*\n\s*- (?<importer>.+?)\s*$/gm,
  /Cannot find module '(?<specifier>.+?)' from '(?<importer>.+)'/g,
  /Failed to resolve import "(?<specifier>[^"]+)" from "(?<importer>[^"]+)"/g,
  /Failed to load url (?<specifier>.+?) \(resolved id: .+?\)(?: in (?<importer>.+?))?\. Does the file exist\?/g,
];

/** How Node says that a module is there, but a name in it is not. */
const NO_EXPORT: readonly RegExp[] = [
  /The requested module '(?<specifier>[^']+)' does not provide an export named /g,
  /Named export '[^']+' not found\. The requested module '(?<specifier>[^']+)' is a CommonJS module/g,
];

const SOURCE = /\.(?:[cm]?[jt]sx?|vue|svelte)$/;

export function isJavaScriptMissing(failure: LoadFailure, changes: Changes, worktree: string): boolean | null {
  const { message, file } = failure;
  if (file !== null && !SOURCE.test(file)) return null;
  const pathInWorktree = createPathInWorktree(worktree);
  const errors = typescriptErrors(message);
  if (errors.length > 0) return isTypeScriptMissing(errors, changes, worktree, pathInWorktree);
  const missing = importsIn(message, MISSING, file);
  // The file whose import failed stands above the error.
  const blamed = /^(file:\/\/\S+?|\/.+?):\d+$/m.exec(message)?.[1] ?? file;
  const withoutExport = importsIn(message, NO_EXPORT, blamed);
  if (missing.length + withoutExport.length === 0) return null;
  const existing = [...changes.added, ...changes.modified];
  return (
    missing.every((found) => isImportOf(found, changes.added, pathInWorktree)) &&
    withoutExport.every((found) => isImportOf(found, existing, pathInWorktree))
  );
}

function importsIn(message: string, patterns: readonly RegExp[], file: string | null): Import[] {
  return patterns.flatMap((pattern) =>
    [...message.matchAll(pattern)].map(({ groups = {} }) => {
      const specifier = groups.specifier ?? '';
      // Jest up to 25 gives only the last part of its path.
      const named = groups.importer ?? null;
      const importer = named === null || posix.basename(file ?? '') === named ? file : named;
      const isNode = specifier.startsWith('/') && message.includes('ERR_MODULE_NOT_FOUND');
      return { specifier, importer, isLiteral: isNode && !/\.[cm]?tsx?$/.test(importer ?? '') };
    }),
  );
}

interface TypeScriptError {
  file: string;
  code: number;
  /** With the lines that continue it. */
  text: string;
}

/** `src/a.ts(3,5): error TS2307: …`, or for a terminal `src/a.ts:3:5 - error TS2307: …`. */
const TYPESCRIPT_ERROR = /^\s*(\S.*?)(?:\((\d+),\d+\):|:(\d+):\d+ -) error TS(\d+): (.*)$/;

export function typescriptErrors(output: string): TypeScriptError[] {
  const found: TypeScriptError[] = [];
  for (const line of withoutSequences(output).split(/\r?\n/)) {
    const [, file, , , code, text] = TYPESCRIPT_ERROR.exec(line) ?? [];
    const last = found.at(-1);
    if (file !== undefined) found.push({ file, code: Number(code), text: line.trim() });
    else if (last !== undefined && text === undefined && /^\s+\S/.test(line)) last.text += `\n${line}`;
  }
  return found;
}

/**
 * A file that can't be loaded is in few reports: some runners leave it out, others write no report at all. Then what the
 * compiler or Node printed about a file of the worktree says it. Null where there is neither a report nor such an error, so
 * that something else is the reason.
 */
export function withPrintedErrors(
  reading: Reading | null,
  output: Pick<RunOutput, 'stdout' | 'stderr' | 'exitCode'>,
  pathInWorktree: PathInWorktree,
): Reading | null {
  const printed = printedErrors(withoutSequences(`${output.stdout}\n${output.stderr}`), pathInWorktree);
  const failureOf = ([file, message]: [string, string]): LoadFailure => ({ file, message: loadMessage(message) });
  if (reading === null) return printed.size === 0 ? null : { cases: [], loadFailures: [...printed].map(failureOf) };
  const known = new Set([...reading.cases, ...reading.loadFailures].map(({ file }) => file));
  const leftOut = output.exitCode === 0 ? [] : [...printed].filter(([file]) => !known.has(file));
  const loadFailures = reading.loadFailures.map((failure) => {
    const said = printed.get(failure.file ?? '');
    return said === undefined || saysWhy(failure.message) ? failure : { ...failure, message: loadMessage(said) };
  });
  // Of runners that don't name the file, the failure is there already.
  const isNamed = ([, message]: [string, string]): boolean =>
    loadFailures.some((failure) => failure.message.includes(message.split('\n')[0] ?? ''));
  const added = leftOut.filter((error) => !isNamed(error)).map(failureOf);
  return { cases: reading.cases, loadFailures: [...loadFailures, ...added] };
}

function saysWhy(message: string): boolean {
  return MISSING.some((pattern) => message.search(pattern) >= 0) || /^\s*\w*Error\b/m.test(message);
}

const MOST_LINES = 30;

/** What was printed about each file of the worktree that can't be compiled, or imports what is not there. */
function printedErrors(text: string, pathInWorktree: PathInWorktree): Map<string, string> {
  const found = new Map<string, string>();
  const add = (path: string, message: string): void => {
    const file = pathInWorktree(path);
    if (file === null || /(?:^|\/)node_modules\//.test(file)) return;
    found.set(file, found.has(file) ? `${found.get(file)}\n${message}` : message);
  };
  for (const { file, text: message } of typescriptErrors(text)) add(file, message);
  for (const pattern of MISSING)
    for (const { index, groups = {} } of text.matchAll(pattern)) {
      const start = text.lastIndexOf('\n', index) + 1;
      const importer = groups.importer ?? '';
      if (importer !== '' && !found.has(pathInWorktree(importer) ?? ''))
        add(importer, text.slice(start).split('\n').slice(0, MOST_LINES).join('\n'));
    }
  return found;
}

/** A call restricted to those of the files that are tests; null where none is. */
export function chosenTests(call: RunnerCall, files: readonly string[], flags: RegExp): CallChange | null {
  const last = files.filter((file) => isTestOf('javascript', file) || isInTestFolder(file));
  return last.length === 0 ? null : { remove: plainArguments(call, flags), last };
}

/** The same for a runner whose arguments are its tests: a file that they don't mean is none, or is compiled first. */
export function namedTests(call: RunnerCall, files: readonly string[], flags: RegExp): CallChange | null {
  const patterns = plainArguments(call, flags).map(({ text }) => text.replace(/^\.\//, ''));
  const isNamed = (file: string): boolean => patterns.some((pattern) => isNamedBy(pattern, file));
  return chosenTests(call, patterns.length === 0 ? files : files.filter(isNamed), flags);
}

function isNamedBy(pattern: string, file: string): boolean {
  return file.startsWith(`${pattern.replace(/\/$/, '')}/`) || file === pattern || matchesGlob(file, pattern);
}

const NO_MODULE = new Set([2307, 2792]);
const NO_NAME = new Set([2305, 2459, 2614, 2724]);
const NO_PROPERTY = new Set([2339, 2551]);
/** Without the types of what is missing, parameters have none either. */
const CONSEQUENCES = new Set([7006, 7031]);

function isTypeScriptMissing(
  errors: readonly TypeScriptError[],
  changes: Changes,
  worktree: string,
  pathInWorktree: PathInWorktree,
): boolean {
  const existing = [...changes.added, ...changes.modified];
  const causes = errors.filter(({ code }) => !CONSEQUENCES.has(code));
  return causes.length > 0 && causes.every(isMissing);

  function isMissing({ file, code, text }: TypeScriptError): boolean {
    const isImported = (specifier: string | undefined, paths: readonly string[]): boolean =>
      specifier !== undefined && isImportOf({ specifier, importer: file, isLiteral: false }, paths, pathInWorktree);
    if (NO_MODULE.has(code)) return isImported(/Cannot find module '([^']+)'/.exec(text)?.[1], changes.added);
    if (NO_NAME.has(code)) return isImported(/'"([^"']+)"'/.exec(text)?.[1], existing);
    // Which module the type comes from isn't said: it has to be one that the file imports.
    return NO_PROPERTY.has(code) && specifiersIn(file).some((found) => isImported(found, existing));
  }

  function specifiersIn(file: string): string[] {
    const path = join(worktree, pathInWorktree(file) ?? '');
    if (!SOURCE.test(path) || !existsSync(path)) return [];
    const found = readFileSync(path, 'utf8').matchAll(/(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"]+)['"]/g);
    return [...found].map(([, specifier = '']) => specifier);
  }
}

const EXTENSIONS = ['js', 'ts', 'tsx', 'jsx', 'mjs', 'cjs', 'mts', 'cts', 'json', 'vue', 'svelte'];
/** What a compiled file may have been written as. */
export const FROM_TYPESCRIPT: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};
/** How projects abbreviate the folder of their sources. */
const ALIAS = /^(?:@|~|#|\$lib)\/(.+)$|^#([^/].*)$|^((?:src|app|lib)\/.+)$/;
const OUTPUT = /^(?:dist|build|out|lib|output|compiled)\/(.+)$/;

interface Import {
  /** As written in the import, or the path that it was resolved to. */
  specifier: string;
  /** Relative to the worktree or absolute; null where the tool doesn't say. */
  importer: string | null;
  /** Node takes an import in an ES module literally: no ending is added, no index file looked for. */
  isLiteral: boolean;
}

/** Whether an import means one of these paths. */
function isImportOf(found: Import, paths: readonly string[], pathInWorktree: PathInWorktree): boolean {
  const specifier = found.specifier.replace(/\?.*$/, '');
  const alias = ALIAS.exec(specifier);
  const aliased = alias?.[1] ?? alias?.[2] ?? alias?.[3];
  if (aliased !== undefined) {
    const names = candidates(aliased, false);
    return paths.some((path) => names.some((name) => path === name || path.endsWith(`/${name}`)));
  }
  const base = basePath(specifier, found.importer, pathInWorktree);
  if (base === null) return false;
  const names = new Set(candidates(base, found.isLiteral));
  if (paths.some((path) => names.has(posix.normalize(path)))) return true;
  // What is imported from the compiler's folder is written elsewhere, and in TypeScript.
  const compiled = OUTPUT.exec(base)?.[1];
  if (compiled === undefined) return false;
  const written = new Set([compiled, `src/${compiled}`].flatMap((name) => candidates(name, found.isLiteral)));
  return paths.some((path) => /\.[cm]?tsx?$/.test(path) && written.has(posix.normalize(path)));
}

function basePath(specifier: string, importer: string | null, pathInWorktree: PathInWorktree): string | null {
  if (specifier.startsWith('.')) {
    const from = importer === null ? null : pathInWorktree(importer);
    return from === null ? null : posix.join(posix.dirname(from), specifier);
  }
  if (specifier.startsWith('/') || specifier.startsWith('file:')) {
    // Vite writes paths from the root of the project.
    return pathInWorktree(specifier) ?? specifier.replace(/^\/+/, '');
  }
  return null;
}

function candidates(base: string, isLiteral: boolean): string[] {
  const extension = posix.extname(base);
  const stem = base.slice(0, base.length - extension.length);
  const exact = [base, ...(FROM_TYPESCRIPT[extension] ?? []).map((ending) => `${stem}${ending}`)];
  if (isLiteral) return exact;
  const folder = base.replace(/\/$/, '');
  return [...exact, ...EXTENSIONS.flatMap((ending) => [`${folder}.${ending}`, posix.join(folder, `index.${ending}`)])];
}
