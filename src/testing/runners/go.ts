import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import { shellWord } from '../../core/lines.ts';
import { manifestText } from '../../process/files.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import { hasFile } from '../project.ts';
import {
  caseMessage,
  createPathInWorktree,
  loadMessage,
  parseGoProfile,
  type Reading,
  textsIn,
} from '../reports/report.ts';
import type { Changes, Runner } from '../runner.ts';
import { optionsMatching, plainArguments } from '../script.ts';
import { isTestOf } from '../test-files.ts';

const FLAGS = /^-(race|v|short|json|cover|failfast)$/;

export const go: Runner = {
  name: 'go',
  worksHidden: true,
  readsStdout: true,
  sign: (project) => hasFile(project, /^go\.(mod|work)$/),

  async usualCommand(_, project) {
    if (hasFile(project, /^go\.mod$/) || !hasFile(project, /^go\.work$/)) return 'go test ./...';
    // Without a module at the top, `./...` matches no package.
    const used = project.texts['go.work']
      .replace(/\/\/.*$/gm, '')
      .matchAll(/^[ \t]*(?:use[ \t]+)?(\.\/?[^\s()]*)[ \t]*$/gm);
    const modules = [...used].map(([, path = '']) => `${path.replace(/\/$/, '')}/...`);
    return ['go test', ...modules.map(shellWord)].join(' ');
  },

  headAt: (names, at) => (names[at] === 'go' && names[at + 1] === 'test' ? at + 1 : null),

  select(call, files) {
    const folders = files.filter((file) => isTestOf('go', file)).map(dirname);
    if (folders.length === 0) return null;
    const last = [...new Set(folders.map((folder) => (folder === '.' ? '.' : `./${folder}`)))];
    return { remove: plainArguments(call, FLAGS), last };
  },

  change(call, index, { folder, coverage }) {
    const unlessGiven = (option: RegExp, ours: string): string[] =>
      optionsMatching(call, option).length > 0 ? [] : [ours];
    const profile = `-coverprofile=${join(folder, `profile-${index}.out`)}`;
    return {
      measures: coverage,
      first: [
        ...unlessGiven(/^--?json$/, '-json'),
        ...(coverage ? unlessGiven(/^--?coverprofile/, profile) : []),
        ...(coverage ? unlessGiven(/^--?coverpkg/, '-coverpkg=./...') : []),
      ],
    };
  },

  async environment({ script: { calls }, worktree, env }) {
    // Ignore a workspace file in a folder above the worktree.
    const isOutside = env.GOWORK === undefined && !existsSync(join(worktree, 'go.work'));
    // If a script such as make hides the command, the variable still reaches it.
    const isHidden = !calls.some(({ runner }) => runner === 'go');
    return {
      env: {
        ...(isOutside ? { GOWORK: 'off' } : {}),
        ...(isHidden ? { GOFLAGS: `${env.GOFLAGS ?? ''} -json`.trim() } : {}),
      },
    };
  },

  async read(place, output) {
    const reading = parseGoEvents(output.stdout, output.stderr);
    if (reading === null) return null;
    const module = createGoModule(place.worktree);
    const folderOf = (importPath: string | null): string | null => {
      const folder = module.folderOf(importPath ?? '');
      return folder !== null && existsSync(join(place.worktree, folder)) ? folder : null;
    };
    const profiles = await textsIn(place.folder, /^profile-.*\.out$/);
    return {
      cases: reading.cases.map((found) => {
        const folder = folderOf(found.file);
        const parts = found.name.split('/');
        const file = folder === null ? null : module.fileOfTest(folder, parts[0] ?? '');
        return { ...found, file, name: [...(file === null ? [found.file] : []), ...parts].join(' > ') };
      }),
      loadFailures: reading.loadFailures.map(({ file, message }) => {
        return { file: folderOf(file), message: loadMessage(message) };
      }),
      coverage: profiles.length === 0 ? null : parseGoProfile(profiles.join('\n'), module.path),
    };
  },

  line(line) {
    const event = goEvent(line);
    if (event === null) return line;
    return event.Output === undefined ? null : event.Output.replace(/\n$/, '');
  },
};

const eventSchema = z.object({
  Action: z.string(),
  Package: z.string().optional(),
  /** In build events, which have no package. */
  ImportPath: z.string().optional(),
  /** A subtest is `TestAdd/two`. */
  Test: z.string().optional(),
  Output: z.string().optional(),
  FailedBuild: z.string().optional(),
});

function goEvent(line: string): z.infer<typeof eventSchema> | null {
  return line.startsWith('{') ? (eventSchema.safeParse(parseJson(line)).data ?? null) : null;
}

const OUTCOMES: Readonly<Record<string, TestCase['outcome']>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };

/**
 * Reads the events of `go test -json`, with import paths of packages in place of files. Up to Go 1.23, a failed build is plain
 * text: a line on stdout, and the compiler's errors on stderr. Null if the command failed before any package.
 */
export function parseGoEvents(stdout: string, stderr: string): Reading | null {
  const cases = new Map<string, TestCase>();
  const output = new Map<string, string>();
  const builds = buildBlocks(stderr);
  /** Packages that failed without a failed test. */
  const failures = new Map<string, string>();
  let isAnything = /no packages to test|matched no packages/.test(`${stdout}\n${stderr}`);
  for (const line of stdout.split('\n')) {
    const broken = /^FAIL\s+(\S+) \[(?:build|setup) failed\]/.exec(line)?.[1];
    if (broken !== undefined) failures.set(broken, (builds.get(broken) ?? [...builds.values()].join('\n')) || stderr);
    const event = goEvent(line);
    isAnything ||= broken !== undefined || event !== null;
    if (event === null) continue;
    const { Action: action, Package: file = event.ImportPath ?? '', Test: name = '', Output: text } = event;
    const key = JSON.stringify([file, name]);
    const said = output.get(key) ?? '';
    const outcome = OUTCOMES[action];
    if (text !== undefined) output.set(key, said + text);
    else if (name !== '' && action === 'run')
      cases.set(key, { file, name, outcome: 'failed', message: 'The test did not finish.' });
    else if (name !== '' && outcome !== undefined)
      cases.set(key, { file, name, outcome, message: outcome === 'failed' ? words(said) : null });
    else if (name === '' && action === 'fail' && event.FailedBuild !== undefined)
      failures.set(file, output.get(JSON.stringify([event.FailedBuild, ''])) ?? said);
    else if (name === '' && action === 'fail' && !failures.has(file)) {
      const isBroken = /\[(?:build|setup) failed\]/.test(said);
      const isTold = [...cases.values()].some((found) => found.file === file && found.outcome === 'failed');
      if (isBroken || !isTold) failures.set(file, isBroken ? (builds.get(file) ?? stderr) : said);
    }
  }
  if (!isAnything) return null;
  const loadFailures = [...failures].map(([file, message]) => ({ file, message }));
  return { cases: [...cases.values()], loadFailures };
}

function words(output: string): string {
  return caseMessage(output.replace(/^[ \t]*(?:=== (?:RUN|PAUSE|CONT|NAME)|--- (?:FAIL|PASS|SKIP):).*\n?/gm, ''));
}

/** The compiler's errors by package. Each block starts with `# example.com/m/a [example.com/m/a.test]`. */
function buildBlocks(stderr: string): Map<string, string> {
  const found = new Map<string, string>();
  let current: string | null = null;
  for (const line of stderr.split('\n')) {
    const header = /^# (\S+)(?: \[(\S+)\.test\])?$/.exec(line);
    if (header !== null) {
      current = header[2] ?? header[1] ?? null;
      if (current !== null && !found.has(current)) found.set(current, '');
    } else if (current !== null) found.set(current, `${found.get(current) ?? ''}${line}\n`);
  }
  return found;
}

const ERROR = /^(?:vet: )?(\S+\.go):\d+(?::\d+)?: (.+)$/gm;
/** An error without a file: `go build example.com/m/a: no non-test Go files in /m/a`. */
const NO_FILES = /^.*\bno non-test Go files in (.+)$/gm;
const MISSING_PACKAGE: readonly RegExp[] = [
  /^no required module provides package (\S+?);/,
  /^package (\S+) is not in (?:GOROOT|std)/,
  /^cannot find (?:package "(\S+)"|module providing package (\S+))/,
  /^could not import (\S+) \(/,
  /^module \S+ (?:provides|does not contain) package (\S+)/,
];
const MISSING_NAME: readonly RegExp[] = [
  /^undefined: (?:(\w+)\.)?\w+$/,
  /\bundefined \(type \**(?:(\w+)\.)?\w+(?:\[.*\])? has no field or method \w+/,
  /^unknown field '?\w+'? in struct literal(?: of type (?:(\w+)\.)?\w+)?/,
];

/** Every error has to be about a name or a package that a changed file could define. */
export function isGoMissing({ message }: LoadFailure, changes: Changes, worktree: string): boolean | null {
  if (!/^(?:vet: )?\S+\.go:\d+|\bno non-test Go files in /m.test(message)) return null;
  const isProduct = (path: string): boolean => path.endsWith('.go') && !path.endsWith('_test.go');
  const added = new Set(changes.added.filter(isProduct).map((path) => posix.dirname(path)));
  const changed = new Set([...added, ...changes.modified.filter(isProduct).map((path) => posix.dirname(path))]);
  const module = createGoModule(worktree);
  const pathInWorktree = createPathInWorktree(worktree);
  // The compiler stops after ten errors in a package.
  const errors = [...message.replace(NO_FILES, '').matchAll(ERROR)].filter(([, , text]) => text !== 'too many errors');
  const empty = [...message.matchAll(NO_FILES)].map(([, path = '']) => pathInWorktree(path.trim()));
  return (
    errors.length + empty.length > 0 &&
    errors.every(([, file = '', text = '']) => isAddedPackage(text) || isName(posix.normalize(file), text)) &&
    empty.every((folder) => added.has(folder ?? ''))
  );

  function isAddedPackage(text: string): boolean {
    const found = MISSING_PACKAGE.map((pattern) => pattern.exec(text)).find((match) => match !== null);
    const path = found?.[1] ?? found?.[2];
    return path !== undefined && added.has(module.folderOf(path) ?? '');
  }

  function isName(file: string, text: string): boolean {
    const found = MISSING_NAME.map((pattern) => pattern.exec(text)).find((match) => match !== null);
    if (found === undefined) return false;
    const [, qualifier] = found;
    if (qualifier === undefined) return changed.has(posix.dirname(file));
    const meant = module.importedAs(file, qualifier);
    if (meant !== null) return changed.has(module.folderOf(meant) ?? '');
    // A file can use a type without importing its package.
    return [...changed].some((folder) => packageName(posix.join(module.path, folder)) === qualifier);
  }
}

/** The name under which a package is imported by default: usually the last part of its path. */
function packageName(path: string): string {
  return posix.basename(path.replace(/\/v\d+$/, '')).replace(/\.v\d+$/, '');
}

/** The Go module in a folder, for mapping the packages in `go test` output to files. */
function createGoModule(worktree: string) {
  const tests = new Map<string, ReadonlyMap<string, string | null>>();
  const path = /^module\s+"?([^\s"]+)/m.exec(textOf('go.mod'))?.[1] ?? '';
  return {
    /** From go.mod; empty if there is none. */
    path,

    /** The folder of a package, relative to the module; null for a package of another module. */
    folderOf(importPath: string): string | null {
      if (path === '') return null;
      if (importPath === path) return '.';
      return importPath.startsWith(`${path}/`) ? importPath.slice(path.length + 1) : null;
    },

    /** The import path behind a package name in a file; null if the file doesn't import it. */
    importedAs(file: string, name: string): string | null {
      const imports = textOf(file).matchAll(/^(?:import)?[ \t]*(?:([\w.]+)[ \t]+)?["`]([^"`\n]+)["`][ \t]*$/gm);
      const found = [...imports].find(([, alias, imported = '']) => (alias ?? packageName(imported)) === name);
      return found?.[2] ?? null;
    },

    /** The file of a package that contains a test; null if it is not exactly one. */
    fileOfTest(folder: string, test: string): string | null {
      const known = tests.get(folder) ?? testsIn(folder);
      tests.set(folder, known);
      return known.get(test) ?? null;
    },
  };

  function testsIn(folder: string): ReadonlyMap<string, string | null> {
    const found = new Map<string, string | null>();
    for (const name of readdirSync(join(worktree, folder)).filter((entry) => entry.endsWith('_test.go'))) {
      const file = posix.join(folder, name);
      for (const [, test = ''] of textOf(file).matchAll(/^func ((?:Test|Example|Fuzz|Benchmark)\w*)\s*\(/gm))
        found.set(test, found.has(test) ? null : file);
    }
    return found;
  }

  function textOf(file: string): string {
    return manifestText(join(worktree, file), worktree);
  }
}
