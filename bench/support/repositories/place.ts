import { readFileSync } from 'node:fs';
import { join, matchesGlob, posix } from 'node:path';
import { type FoundTests, findTests } from '../../../src/testing/detect.ts';
import { folderFiles } from '../../../src/testing/project.ts';
import { testScript } from '../../../src/testing/runners.ts';
import { isRunnableTest } from '../../../src/testing/test-files.ts';
import { type Examples, isTestOfName, type TrivialItem } from './item.ts';
import { itemInJavaScript } from './javascript.ts';
import { itemInOtherLanguage } from './other-languages.ts';

const SETTINGS = { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: 0 };

export interface Place {
  found: FoundTests;
  item: TrivialItem;
}

/** Folders in which nobody puts a test of a plain function, or code that has one. */
const ASIDE =
  /(?:^|\/)(?:fixtures?|__fixtures__|(?<!(?:com|org)\/)examples?|docs?|doc|website|node_modules|vendor|e2e|types?|typings?|benchmarks?|bench|scripts?|tools?|misc|integration|acceptance|smoke|templates?|bin|deno\w*|runtime-tests?|browser|_example|cmd|__mocks__|support|helpers?|fuzz\w*|profil\w*)\//i;
const NO_SOURCE =
  /\.d\.[cm]?ts$|\.config\.|(?:^|\/)(?:setup\.py|conftest\.py|noxfile\.py|build\.rs|build|dist|tests?|testing|spec|__tests__)(?:\/|$)|^\.|\/\./;
const LANGUAGE: readonly RegExp[] = [/\.[cm]?[jt]sx?$/, /\.py$/, /\.go$/, /\.rs$/, /\.rb$/, /\.php$/, /\.java$/];

/** Where a person would put a new function and its tests: beside a test of a plain module, and beside that module. */
export async function placeIn(
  root: string,
  paths: readonly string[],
  isIgnored: (path: string) => boolean,
): Promise<Place | null> {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const all = new Set(paths);
  const tests = paths.filter((path) => isTest(path) && !ASIDE.test(path) && !/\.(?:test-d|d)\.[cm]?ts$/.test(path));
  const inPackages = testsPerPackage(paths, tests);
  const pairs = tests
    .flatMap((test) => pairsOf(test, all, read))
    .toSorted((a, b) => inPackages(b.test) - inPackages(a.test) || rank(a) - rank(b) || a.test.length - b.test.length);
  for (const pair of pairs) {
    const [found] = await findTests(folderFiles(root), SETTINGS, root, [pair.test]).catch(() => []);
    if (found === undefined || !pair.source.startsWith(found.folder)) continue;
    const examples: Examples = { ...pair, testText: read(pair.test), sourceText: read(pair.source), paths, read };
    const way = wayOf(found, pair.test, all);
    if (way === null) continue;
    const isListed = way === 'listed';
    const written = itemInJavaScript(found.name, examples, isListed) ?? itemInOtherLanguage(found.name, examples);
    const item = way === 'imported' && written !== null ? withImporter(written, pair.test, tests, read) : written;
    if (item !== null && ![...Object.keys(item.tests), ...Object.keys(item.code)].some(isIgnored))
      return { found, item };
  }
  return null;
}

const MANIFEST = /(?:^|\/)(?:package\.json|pyproject\.toml|Cargo\.toml|go\.mod)$/;

/** How many tests there are in the package of a test: in a monorepo, a new function goes to one of the main packages. */
function testsPerPackage(paths: readonly string[], tests: readonly string[]): (test: string) => number {
  const folders = paths
    .filter((path) => MANIFEST.test(path) && !ASIDE.test(path) && !NO_SOURCE.test(path))
    .map((path) => posix.dirname(path))
    .filter((folder) => folder !== '.')
    .toSorted((a, b) => b.length - a.length);
  const packageOf = (test: string): string => folders.find((folder) => test.startsWith(`${folder}/`)) ?? '';
  const counts = new Map<string, number>();
  for (const test of tests) counts.set(packageOf(test), (counts.get(packageOf(test)) ?? 0) + 1);
  return (test) => counts.get(packageOf(test)) ?? 0;
}

interface Pair extends Pick<Examples, 'test' | 'source' | 'specifier'> {
  /** The test has no named cases of its own: it asserts at its top, or calls what other files define. */
  isBare?: boolean;
}

const RUST_LIBRARY = /^(?:src\/)?lib\.rs$/;

/** Tests inside of the library have no file of their own in Rust: any source will do. */
function isTest(path: string): boolean {
  return isRunnableTest(path) || RUST_LIBRARY.test(path);
}

function pairsOf(test: string, all: ReadonlySet<string>, read: (path: string) => string): Pair[] {
  const language = LANGUAGE.find((pattern) => pattern.test(test));
  if (language === undefined) return [];
  const isSource = (path: string): boolean =>
    language.test(path) && !isRunnableTest(path) && !ASIDE.test(path) && !NO_SOURCE.test(path);
  if (test.endsWith('.go')) return [{ test, source: test, specifier: null }];
  const library = [...all].find((path) => RUST_LIBRARY.test(path)) ?? 'src/lib.rs';
  if (test.endsWith('.rs')) return [{ test, source: library, specifier: null }];
  if (LANGUAGE[0]?.test(test) !== true) {
    const source = nearest(test, [...all].filter(isSource));
    return source === null ? [] : [{ test, source, specifier: null }];
  }
  const text = read(test);
  const isBare = !/\b(?:tests?|it|describe|suite)\b(?:\.\w+)*\(/i.test(text);
  const imports = text.matchAll(/(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"](\.[^'"]*)['"]/g);
  const pairs = [...imports].flatMap(([, specifier = '']) => {
    const source = resolved(posix.join(posix.dirname(test), specifier), all);
    return source !== null && isSource(source) ? [{ test, source, specifier, isBare }] : [];
  });
  if (pairs.length > 0 || isBare) return pairs;
  // Of a package that its tests import by its name.
  const source = nearest(test, [...all].filter(isSource));
  return source === null ? [] : [{ test, source, specifier: /\.[cm]?tsx?$/.test(source) ? '' : null }];
}

/** Of the same name, else of the same folder below another top, else the first of the sources. */
function nearest(test: string, sources: readonly string[]): string | null {
  const stem = posix
    .basename(test)
    .replace(/\.\w+$/, '')
    .replace(/^test_|_(?:test|spec)$|Test$/g, '');
  const folders = new Set(posix.dirname(test).split('/'));
  const score = (path: string): number =>
    (posix.basename(path).replace(/\.\w+$/, '') === stem ? 10 : 0) +
    path.split('/').filter((part) => folders.has(part)).length +
    (/__\w+__\.py$/.test(path) ? -1 : 0) +
    (path.includes('/') ? 1 : 0);
  return sources.toSorted((a, b) => score(b) - score(a) || a.length - b.length)[0] ?? null;
}

const ENDINGS = [
  '',
  '.js',
  '.ts',
  '.mjs',
  '.cjs',
  '.tsx',
  '.jsx',
  '/index.js',
  '/index.ts',
  '/index.mjs',
  '/index.cjs',
];

function resolved(path: string, all: ReadonlySet<string>): string | null {
  const bare = path.replace(/\/$/, '');
  // What is imported from the compiler's folder is written elsewhere, and in TypeScript.
  const written = [bare, bare.replace(/^(?:build|dist|out)\//, ''), bare.replace(/^(?:build|dist|out)\//, 'src/')];
  const places = [
    ...ENDINGS.map((ending) => `${bare}${ending}`),
    ...written.map((one) => one.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')),
  ];
  return places.map((place) => place.replace(/^\//, '')).find((place) => all.has(place)) ?? null;
}

/** Shallow, in a folder of sources, with the test's name. */
function rank({ test, source, isBare }: Pair): number {
  const stem = posix.basename(source).replace(/\..*$/, '');
  const isNamed = stem !== 'index' && isTestOfName(posix.basename(test), stem);
  const worse = (isNamed ? 0 : 2) + (source.includes('/') ? 0 : 2) + (source.endsWith('x') ? 3 : 0);
  return test.split('/').length + worse + (isBare === true ? 5 : 0);
}

/** With the file changed that imports the neighbouring test, as the script starts no other; null where none does. */
function withImporter(
  item: TrivialItem,
  test: string,
  tests: readonly string[],
  read: (path: string) => string,
): TrivialItem | null {
  const [file = ''] = Object.keys(item.tests);
  for (const importer of tests) {
    const specifierOf = (path: string): string => {
      const relative = posix.relative(posix.dirname(importer), path);
      return relative.startsWith('.') ? relative : `./${relative}`;
    };
    const text = read(importer);
    const statement = new RegExp(
      `^(?:import |require\\()(['"])${specifierOf(test).replace(/[.+()[\]]/g, '\\$&')}\\1\\)?;?\\n`,
      'm',
    ).exec(text);
    if (statement === null) continue;
    const [line] = statement;
    const added = `${line}${line.replace(specifierOf(test), specifierOf(file))}`;
    return { ...item, tests: { ...item.tests, [importer]: text.replace(line, added) } };
  }
  return null;
}

/**
 * Whether the script runs the files in the folder of a test, or only those that it lists by name: then the new tests go into
 * one of these, or `imported`: one of these imports all others. Null: it does not run this test.
 */
function wayOf(
  { name, written, folder }: FoundTests,
  test: string,
  all: ReadonlySet<string>,
): 'added' | 'listed' | 'imported' | null {
  const calls = testScript(written?.script ?? '').calls.filter(({ runner }) => runner === name);
  const words = calls.flatMap((call) => call.words.slice(call.head + 1).map(({ text }) => posix.join(folder, text)));
  const isFolder = (word: string): boolean => [...all].some((path) => path.startsWith(`${word.replace(/\/$/, '')}/`));
  const ignored = calls.flatMap((call) =>
    call.words.filter((_, at) => /^(?:-i|--ignore)$/.test(call.words[at - 1]?.text ?? '')),
  );
  if (ignored.some(({ text }) => new RegExp(text).test(test))) return null;
  const patterns = words.filter((word) => word.includes('*') || (isFolder(word) && !isRunnableTest(word)));
  const listed = words.filter((word) => all.has(word) && isRunnableTest(word));
  // Mocha takes ./test.js for the folder ./test.
  if (name === 'mocha' && words.length === 0 && /^test\.[cm]?js$/.test(test.slice(folder.length))) return 'listed';
  if (patterns.length + listed.length === 0) return 'added';
  if (listed.includes(test)) return 'listed';
  const isMeant = patterns.some((one) => matchesGlob(test, one) || test.startsWith(`${one.replace(/\/$/, '')}/`));
  if (!isMeant && patterns.length === 0 && listed.some((path) => /(?:^|\/)(?:index|all|main)\.[cm]?js$/.test(path)))
    return 'imported';
  // Tests that are compiled first are run from another folder.
  return isMeant || (/\.[cm]?tsx?$/.test(test) && listed.length === 0) ? 'added' : null;
}
