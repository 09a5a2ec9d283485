import { join, matchesGlob, posix } from 'node:path';
import { withoutSequences } from '../../core/lines.ts';
import { manifestText } from '../../process/files.ts';
import type { LoadFailure, RunnerName } from '../port.ts';
import { dependsOn, hasFile, type Project } from '../project.ts';
import { linesIn } from '../reports/lines.ts';
import { createPathInWorktree, lcovIn, loadMessage, type PathInWorktree, type Reading } from '../reports/report.ts';
import type { Changes, Runner, RunOutput, RunPlace } from '../runner.ts';
import { type CallChange, plainArguments, programNamed, type RunnerCall } from '../script.ts';
import { isInTestFolder, isTestOf } from '../test-files.ts';

/*
 * Shared by the JavaScript runners: how Node, bundlers and the TypeScript compiler report a module that can't be loaded, and
 * which file an import refers to.
 */

/** Messages about a missing module, from Node, Vitest and Jest. A path may contain quotes. */
const MISSING: readonly RegExp[] = [
  // Node prints an absolute path, Vitest 3 and later the specifier as written.
  /Cannot find (?:module|package) '(?<specifier>.+?)' imported from '?(?<importer>.+?)'?\s*$/gm,
  /Cannot find module '(?<specifier>.+)'\s*\n\s*Require stack:\s*\n\s*- (?<importer>.+?)\s*$/gm,
  /Cannot find module '(?<specifier>.+?)' from '(?<importer>.+)'/g,
  /Failed to resolve import "(?<specifier>[^"]+)" from "(?<importer>[^"]+)"/g,
  // Yarn's Plug'n'Play
  /Source path: (?<specifier>.+)\n(?:Not found: .+\n)+\s*Require stack:\s*\n\s*- (?<importer>.+?)\s*$/gm,
  /Failed to load url (?<specifier>.+?) \(resolved id: .+?\)(?: in (?<importer>.+?))?\. Does the file exist\?/g,
];

/** Node's messages about a missing export. */
const NO_EXPORT: readonly RegExp[] = [
  /The requested module '(?<specifier>[^']+)' does not provide an export named /g,
  /Named export '[^']+' not found\. The requested module '(?<specifier>[^']+)' is a CommonJS module/g,
];

/** A module that Node could not read, or that lacks an export: the place is printed above the error. */
const UNREADABLE = /^(?<importer>(?:file:\/\/)?\/.+):\d+\n(?:.*\n){0,6}?SyntaxError: /gm;

const SOURCE = /\.(?:[cm]?[jt]sx?|vue|svelte)$/;

export function isJavaScriptMissing(failure: LoadFailure, changes: Changes, worktree: string): boolean | null {
  const { message, file } = failure;
  if (file !== null && !SOURCE.test(file)) return null;
  const pathInWorktree = createPathInWorktree(worktree);
  const errors = typescriptErrors(message);
  if (errors.length > 0) return isTypeScriptMissing(errors, changes, worktree, pathInWorktree);
  const missing = importsIn(message, MISSING, file);
  // Node prints the importing file above the error.
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
      // Up to version 25, Jest prints only the file's name.
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
  /** Including continuation lines. */
  text: string;
}

/** `src/a.ts(3,5): error TS2307: …`, or on a terminal `src/a.ts:3:5 - error TS2307: …`. */
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
 * Adds files that can't be loaded from the output of Node or the compiler: most runners omit them from the report or write
 * no report at all. Null if there is neither a report nor such an error. `isWhole`: the report omits no file, but may lack the
 * reason.
 */
export function withPrintedErrors(
  reading: Reading | null,
  output: Pick<RunOutput, 'stdout' | 'stderr' | 'exitCode'>,
  pathInWorktree: PathInWorktree,
  isWhole = false,
): Reading | null {
  const printed = printedErrors(withoutSequences(`${output.stdout}\n${output.stderr}`), pathInWorktree);
  const failureOf = ([file, message]: [string, string]): LoadFailure => ({ file, message: loadMessage(message) });
  if (reading === null) return printed.size === 0 ? null : { cases: [], loadFailures: [...printed].map(failureOf) };
  const known = new Set([...reading.cases, ...reading.loadFailures].map(({ file }) => file));
  const leftOut = output.exitCode === 0 || isWhole ? [] : [...printed].filter(([file]) => !known.has(file));
  const loadFailures = reading.loadFailures.map((failure) => {
    const said = printed.get(failure.file ?? '');
    return said === undefined || saysWhy(failure.message) ? failure : { ...failure, message: loadMessage(said) };
  });
  // Some runners report the failure without the file.
  const isNamed = ([, message]: [string, string]): boolean =>
    loadFailures.some((failure) => failure.message.includes(message.split('\n')[0] ?? ''));
  const added = leftOut.filter((error) => !isNamed(error)).map(failureOf);
  return { cases: reading.cases, loadFailures: [...loadFailures, ...added] };
}

/** Reads the report of one of our reporters, with load failures from the output. */
export async function readLines(
  { folder, pathInWorktree }: RunPlace,
  output: RunOutput,
  { fileOf = pathInWorktree, mayLackEnd = false }: { fileOf?: PathInWorktree; mayLackEnd?: boolean } = {},
): Promise<Reading | null> {
  const reading = withPrintedErrors(await linesIn(folder, fileOf, mayLackEnd), output, pathInWorktree);
  return reading === null ? null : { ...reading, coverage: await lcovIn(folder, pathInWorktree) };
}

export function saysWhy(message: string): boolean {
  return MISSING.some((pattern) => message.search(pattern) >= 0) || /^[ \t]*\w*Error\b/m.test(message);
}

const MOST_LINES = 30;
const MOST_CHARS = 20_000;

/** The printed errors of each file of the worktree that can't be compiled or imports a missing module. */
function printedErrors(text: string, pathInWorktree: PathInWorktree): Map<string, string> {
  const found = new Map<string, string>();
  const add = (path: string, message: string): void => {
    const file = pathInWorktree(path);
    if (file === null || /(?:^|\/)node_modules\//.test(file)) return;
    found.set(file, found.has(file) ? `${found.get(file)}\n${message}` : message);
  };
  for (const { file, text: message } of typescriptErrors(text)) add(file, message);
  for (const pattern of [...MISSING, UNREADABLE])
    for (const { index, groups = {} } of text.matchAll(pattern)) {
      const start = text.lastIndexOf('\n', index) + 1;
      const importer = groups.importer ?? '';
      if (importer === '' || found.has(pathInWorktree(importer) ?? '')) continue;
      const [crash = ''] = text.slice(start, start + MOST_CHARS).split(/^Node\.js v\d/m);
      add(importer, crash.split('\n').slice(0, MOST_LINES).join('\n'));
    }
  return found;
}

/**
 * The common parts of a runner that is an npm package: detected by the package or its configuration, started by its name,
 * with test files as arguments, read from a reporter of ours. `flags` are its options without a value.
 */
export function packaged(
  name: RunnerName,
  flags: RegExp,
  more: { packages?: readonly string[]; configuration?: RegExp; programs?: readonly string[] } = {},
) {
  const { packages = [name], configuration, programs = [] } = more;
  return {
    name,
    sign: (project: Project) =>
      dependsOn(project, packages) || (configuration !== undefined && hasFile(project, configuration)),
    usualCommand: async () => name,
    headAt: programNamed(name, `${name}.js`, ...programs),
    select: (call, files) => namedTests(call, files, flags),
    read: (place, output) => readLines(place, output),
  } satisfies Partial<Runner>;
}

/** Restricts a call to those files that are tests; null if there are none. */
export function chosenTests(call: RunnerCall, files: readonly string[], flags: RegExp): CallChange | null {
  const last = files.filter((file) => isTestOf('javascript', file) || isInTestFolder(file));
  return last.length === 0 ? null : { remove: plainArguments(call, flags), last };
}

/** The same, but only for files that the call's own arguments match: others aren't tests, or are compiled first. */
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
/** Follow-up errors: parameters without a type because the missing module would have given it. */
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
    // The message doesn't name the module: accept it if the file imports a changed one.
    return NO_PROPERTY.has(code) && specifiersIn(file).some((found) => isImported(found, existing));
  }

  function specifiersIn(file: string): string[] {
    const path = join(worktree, pathInWorktree(file) ?? '');
    return SOURCE.test(path) ? specifiersOf(manifestText(path, worktree)) : [];
  }
}

/** What a module imports, as written. */
export function specifiersOf(text: string): string[] {
  const found = text.matchAll(/(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"]+)['"]/g);
  return [...found].map(([, specifier = '']) => specifier);
}

const EXTENSIONS = ['js', 'ts', 'tsx', 'jsx', 'mjs', 'cjs', 'mts', 'cts', 'json', 'vue', 'svelte'];
/** Source endings by the ending of the compiled file. */
export const FROM_TYPESCRIPT: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};
/** Usual aliases for the source folder. */
const ALIAS = /^(?:@|~|#|\$lib)\/(.+)$|^#([^/].*)$|^((?:src|app|lib)\/.+)$/;
const OUTPUT = /^(?:dist|build|out|lib|output|compiled)\/(.+)$/;

interface Import {
  /** As written, or the resolved path. */
  specifier: string;
  /** Relative to the worktree or absolute; null if unknown. */
  importer: string | null;
  /** For ES modules, Node resolves imports literally: no ending is added, and no index file is tried. */
  isLiteral: boolean;
}

/** Whether an import refers to one of these paths. */
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
  // An import from the compiler's output folder refers to a TypeScript source.
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
    // Vite prints paths from the project's root.
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
