import { statSync } from 'node:fs';
import { join } from 'node:path';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';
import { listOf, textOf } from '../../core/json.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import type { RunPlace } from '../runner.ts';
import { caseMessage, loadMessage, type Reading, together } from './report.ts';

/** Reads all reports of a run; null if none is readable. */
export function junitReports(texts: readonly string[], place: RunPlace, byClass = false): Reading | null {
  return together(texts.map((text) => parseJunit(text, (path) => fileOfWorktree(path, place), byClass)));
}

/** Null: it does not name a file of the worktree. */
export function fileOfWorktree(
  path: string,
  { worktree, pathInWorktree }: Pick<RunPlace, 'worktree' | 'pathInWorktree'>,
): string | null {
  const inside = path === '' ? null : pathInWorktree(path);
  const isFile = inside !== null && statSync(join(worktree, inside), { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? inside : null;
}

/** Suite names that mean the whole run. */
const NO_NAMES = new Set(['', 'pytest', 'Root Suite', 'jest tests', 'Mocha Tests', 'vitest tests']);

/**
 * Null if the text isn't a JUnit report. Tools put the file name into different attributes: a value for which `fileOf` has a file
 * is taken as one. `byClass`: tests are named by their class only, because the enclosing suites change with the selection of tests.
 */
export function parseJunit(xml: string, fileOf: (path: string) => string | null, byClass = false): Reading | null {
  const root = parseXml(xml);
  if (root === null || (root.name !== 'testsuites' && root.name !== 'testsuite')) return null;
  const cases: TestCase[] = [];
  const loadFailures: LoadFailure[] = [];
  readSuite(root, [], null);
  return { cases: withoutTearDowns(cases), loadFailures };

  function readSuite(
    { name: kind, attributes, children }: XmlElement,
    outer: readonly string[],
    around: string | null,
  ) {
    const name = kind === 'testsuite' ? (attributes.name ?? '') : '';
    const own = fileOf(name);
    const file = fileOf(attributes.file ?? attributes.filepath ?? '') ?? own ?? around;
    const names = NO_NAMES.has(name) || own !== null ? outer : [...outer, name];
    for (const child of children) {
      if (child.name === 'testsuite') readSuite(child, names, file);
      else if (child.name === 'testcase') readCase(child, names, file);
      else if (child.name === 'error') loadFailures.push({ file, message: reason(child, loadMessage) });
    }
  }

  function readCase(element: XmlElement, names: readonly string[], around: string | null): void {
    const { name = '', classname = '', file: given = '' } = element.attributes;
    const file = fileOf(given) ?? fileOf(classname) ?? around;
    const problem = element.children.find((child) => child.name === 'failure' || child.name === 'error');
    const whole = wholeFile(name === '' ? classname : name, file);
    if (problem !== undefined && (whole !== null || isCollection(element, problem))) {
      loadFailures.push({ file: whole ?? file, message: reason(problem, loadMessage) });
      return;
    }
    const isSkipped = element.children.some((child) => child.name === 'skipped');
    cases.push({
      file,
      name: [...suitesOf(classname, names, file), name].join(' > '),
      outcome: problem !== undefined ? 'failed' : isSkipped ? 'skipped' : 'passed',
      message: problem === undefined ? null : reason(problem, caseMessage),
    });
  }

  /** Some report a file as a test case named after it, relative to the worktree or to the folder they ran in. */
  function wholeFile(name: string, file: string | null): string | null {
    if (!/\.\w+$/.test(name)) return null;
    const named = fileOf(name);
    if (file === null || named === file) return named;
    return file.endsWith(`/${name.replace(/^\.\//, '')}`) ? file : null;
  }

  /** The class often repeats the last suite or the file (`tests.test_x.TestClass`). */
  function suitesOf(classname: string, names: readonly string[], file: string | null): readonly string[] {
    if (byClass && classname !== '') return [classname];
    // node:test sets it to `test` for every test.
    if (['', 'test', ...names].includes(classname) || fileOf(classname) !== null) return names;
    const module = file?.replace(/\.[^./]+$/, '').replaceAll('/', '.');
    if (module !== undefined && (classname === module || classname.startsWith(`${module}.`)))
      return [...names, ...classname.slice(module.length + 1).split('.')].filter((part) => part !== '');
    return [...names, classname];
  }
}

/** pytest reports a module that it can't collect as a test case. */
function isCollection({ attributes }: XmlElement, problem: XmlElement): boolean {
  if (problem.attributes.message === 'collection failure') return true;
  return attributes.classname === 'pytest' && attributes.name === 'internal';
}

function reason(element: XmlElement, shorten: (text: string) => string): string {
  const { message = '' } = element.attributes;
  return shorten(element.text.includes(message) ? element.text : `${message}\n${element.text}`);
}

/** pytest lists a test a second time if its fixtures' teardown fails; this merges the two. */
function withoutTearDowns(cases: readonly TestCase[]): TestCase[] {
  const found: TestCase[] = [];
  for (const test of cases) {
    const last = found.at(-1);
    const isSame = last !== undefined && last.file === test.file && last.name === test.name;
    if (isSame && /^failed on teardown\b/.test(test.message ?? ''))
      found[found.length - 1] = last.outcome === 'failed' ? last : test;
    else found.push(test);
  }
  return found;
}

export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** Its own text, without that of its children. */
  text: string;
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // The only option that resolves numeric character references.
  htmlEntities: true,
});

/** Null if the text isn't well-formed XML, such as a truncated report. */
export function parseXml(source: string): XmlElement | null {
  const xml = source.replace(/^\uFEFF/, '');
  try {
    if (XMLValidator.validate(xml) !== true) return null;
    return elementsIn(parser.parse(xml)).find(({ name }) => !name.startsWith('?')) ?? null;
  } catch {
    return null;
  }
}

/** A node is `{'#text': …}`, or `{<name>: [nodes], ':@': {attributes}}`. */
function elementsIn(nodes: unknown): XmlElement[] {
  return listOf(nodes).flatMap((node) => {
    const name = Object.keys(node).find((key) => key !== '#text' && key !== ':@');
    if (name === undefined) return [];
    const attributes = z.record(z.string(), z.string()).catch({}).parse(node[':@']);
    const text = listOf(node[name]).map((inner) => textOf(inner['#text']) ?? '');
    return [{ name, attributes, children: elementsIn(node[name]), text: text.join('') }];
  });
}
