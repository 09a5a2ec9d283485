import { statSync } from 'node:fs';
import { join } from 'node:path';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';
import type { TestCase } from '../port.ts';
import { caseMessage, loadMessage, type PathInWorktree, type Reading, together } from './report.ts';

export interface JunitHints {
  pathInWorktree: PathInWorktree;
  /** Tools put the file name into different attributes; a value that names a file of the worktree is taken as one. */
  isFile: (path: string) => boolean;
  /** Name tests by their class only, because the enclosing suites change with the selection of tests. */
  byClass?: boolean;
}

/** Reads all reports of a run; null if none is readable. */
export function junitReports(
  texts: readonly string[],
  { worktree, pathInWorktree }: { worktree: string; pathInWorktree: PathInWorktree },
  hint: Pick<JunitHints, 'byClass'> = {},
): Reading | null {
  const isFile = (path: string): boolean => isFileIn(worktree, path);
  return together(texts.map((text) => parseJunit(text, { pathInWorktree, isFile, ...hint })));
}

export function isFileIn(worktree: string, path: string): boolean {
  return statSync(join(worktree, path), { throwIfNoEntry: false })?.isFile() === true;
}

/** Null if the text isn't a JUnit report. */
export function parseJunit(xml: string, hints: JunitHints): Reading | null {
  const root = parseXml(xml);
  if (root === null || (root.name !== 'testsuites' && root.name !== 'testsuite')) return null;
  const reading: Reading = { cases: [], loadFailures: [] };
  readSuite(root, { names: [], file: null }, hints, reading);
  return { cases: withoutTearDowns(reading.cases), loadFailures: reading.loadFailures };
}

interface Surroundings {
  names: readonly string[];
  file: string | null;
}

/** Suite names that mean the whole run. */
const NO_NAMES = new Set(['', 'pytest', 'Root Suite', 'jest tests', 'Mocha Tests', 'vitest tests']);

function readSuite(suite: XmlElement, around: Surroundings, hints: JunitHints, reading: Reading): void {
  const name = suite.name === 'testsuite' ? (suite.attributes.name ?? '') : '';
  const file = fileOf(suite.attributes.file ?? suite.attributes.filepath ?? '', hints) ?? fileOf(name, hints);
  const isName = !NO_NAMES.has(name) && fileOf(name, hints) === null;
  const inner = { names: isName ? [...around.names, name] : around.names, file: file ?? around.file };
  for (const child of suite.children) {
    if (child.name === 'testsuite') readSuite(child, inner, hints, reading);
    else if (child.name === 'testcase') readCase(child, inner, hints, reading);
    else if (child.name === 'error')
      reading.loadFailures.push({ file: inner.file, message: reason(child, loadMessage) });
  }
}

function readCase(element: XmlElement, around: Surroundings, hints: JunitHints, reading: Reading): void {
  const { name = '', classname = '' } = element.attributes;
  const file = fileOf(element.attributes.file ?? '', hints) ?? fileOf(classname, hints) ?? around.file;
  const problem = element.children.find((child) => child.name === 'failure' || child.name === 'error');
  const whole = wholeFile(name === '' ? classname : name, file, hints);
  if (problem !== undefined && (whole !== null || isCollection(element, problem))) {
    reading.loadFailures.push({ file: whole ?? file, message: reason(problem, loadMessage) });
    return;
  }
  const isSkipped = element.children.some((child) => child.name === 'skipped');
  reading.cases.push({
    file,
    name: [...suitesOf(classname, around.names, file, hints), name].join(' > '),
    outcome: problem !== undefined ? 'failed' : isSkipped ? 'skipped' : 'passed',
    message: problem === undefined ? null : reason(problem, caseMessage),
  });
}

/** pytest reports a module that it can't collect as a test case. */
function isCollection({ attributes }: XmlElement, problem: XmlElement): boolean {
  if (problem.attributes.message === 'collection failure') return true;
  return attributes.classname === 'pytest' && attributes.name === 'internal';
}

/** Others report such a file as a test case named after it, relative to the worktree or to the folder they ran in. */
function wholeFile(name: string, file: string | null, hints: JunitHints): string | null {
  if (!/\.\w+$/.test(name)) return null;
  const named = fileOf(name, hints);
  if (file === null || named === file) return named;
  return file.endsWith(`/${name.replace(/^\.\//, '')}`) ? file : null;
}

/** The class often repeats the last suite or the file (`tests.test_x.TestClass`). */
function suitesOf(classname: string, names: readonly string[], file: string | null, hints: JunitHints): string[] {
  if (hints.byClass === true && classname !== '') return [classname];
  // node:test sets it to `test` for every test.
  if (classname === '' || classname === 'test' || fileOf(classname, hints) !== null || names.includes(classname))
    return [...names];
  const module = file?.replace(/\.[^./]+$/, '').replaceAll('/', '.');
  if (module !== undefined && (classname === module || classname.startsWith(`${module}.`)))
    return [...names, ...classname.slice(module.length + 1).split('.')].filter((part) => part !== '');
  return [...names, classname];
}

function fileOf(path: string, hints: JunitHints): string | null {
  if (path === '') return null;
  const inside = hints.pathInWorktree(path);
  return inside !== null && hints.isFile(inside) ? inside : null;
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

/** A node is `{'#text': …}`, or `{<name>: [nodes], ':@': {attributes}}`. */
const nodeSchema = z.object({ '#text': z.string().optional(), ':@': z.record(z.string(), z.string()).optional() });
const nodesSchema = z.array(nodeSchema.catchall(z.unknown())).catch([]);

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

function elementsIn(content: unknown): XmlElement[] {
  return nodesSchema.parse(content).flatMap((node) => {
    const name = Object.keys(node).find((key) => key !== '#text' && key !== ':@');
    if (name === undefined) return [];
    const text = nodesSchema.parse(node[name]).map((inner) => inner['#text'] ?? '');
    return [{ name, attributes: node[':@'] ?? {}, children: elementsIn(node[name]), text: text.join('') }];
  });
}
