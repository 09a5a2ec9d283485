import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TestSettings } from '../../core/config.ts';
import { detectTests } from '../detect.ts';
import type { TestRun } from '../port.ts';
import { isMissingCode } from '../runners.ts';

let base = '';
let directory = '';

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'agentos report-'));
  directory = join(base, 'work tree');
});
afterEach(async () => {
  await rm(base, { recursive: true });
});

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

async function run(settings: Partial<TestSettings>): Promise<TestRun> {
  const { PATH = '', HOME = '' } = process.env;
  const suite = await detectTests({
    directory,
    settings: { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: 60_000, ...settings },
    env: { PATH: `${dirname(process.execPath)}:${PATH}`, HOME },
    scratch: join(base, 'scratch'),
    onLine: () => undefined,
    onProgress: () => undefined,
    onGroup: () => undefined,
  });
  return await suite.run({ signal: new AbortController().signal });
}

/** Of each file that could not be loaded, whether that is only for what these changes bring. */
function excused(found: TestRun): Record<string, boolean> {
  const changes = { added: ['src/new.js', 'src/new.mjs'], modified: ['src/old.mjs'] };
  return Object.fromEntries(
    found.loadFailures.map((failure) => [failure.file, isMissingCode(failure, changes, directory)]),
  );
}

const FILES = {
  'out/.keep': '',
  'src/old.mjs': 'export const old = 1;',
  'src/between.mjs': "export { b } from './new.mjs';",
  'test/common.test.cjs': "const test = require('node:test'); const { b } = require('../src/new'); test('010', b);",
  'test/module.test.mjs': "import test from 'node:test'; import { b } from '../src/new.mjs'; test('020', b);",
  'test/name.test.mjs': "import test from 'node:test'; import { b } from '../src/old.mjs'; test('030', b);",
  'test/indirect.test.mjs': "import test from 'node:test'; import { b } from '../src/between.mjs'; test('040', b);",
  'test/typo.test.mjs': "import test from 'node:test'; import { b } from '../src/mew.mjs'; test('050', b);",
  'test/syntax.test.mjs': "import test from 'node:test'; test('060', () => {",
  'test/good.test.mjs':
    "import test from 'node:test'; test('070', () => {}); test('080', () => { throw new Error('x'); });",
};
const EXCUSED = {
  'test/common.test.cjs': true,
  'test/module.test.mjs': true,
  'test/name.test.mjs': true,
  'test/indirect.test.mjs': true,
  'test/typo.test.mjs': false,
  'test/syntax.test.mjs': false,
};
const JUNIT =
  '--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination=out/junit.xml';

test.each<[string, string, Partial<TestSettings>, Record<string, boolean>]>([
  [
    'JUnit in a file, with the errors on standard output',
    `node --test ${JUNIT}`,
    { runner: 'junit', report: 'out/junit.xml' },
    // What is printed names the file between, not the test.
    { ...EXCUSED, 'test/indirect.test.mjs': false },
  ],
  ['TAP on standard output', 'node --test --test-reporter=tap', { runner: 'tap' }, EXCUSED],
  ['TAP of a hidden call', 'sh hidden.sh', { runner: 'tap', report: 'out/a.tap' }, EXCUSED],
])(
  'node:test, %s: files that can not be loaded are told from tests, with the reason',
  async (_, command, settings, expected) => {
    await write({
      ...FILES,
      'hidden.sh': 'node --test --test-reporter=tap --test-reporter-destination=out/a.tap',
    });
    const found = await run({ command, ...settings });
    expect(found).toMatchObject({ outcome: 'failed', command });
    expect(excused(found)).toEqual(expected);
    expect(found.cases.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['070', 'passed'],
      ['080', 'failed'],
    ]);
    const typo = found.loadFailures.find(({ file }) => file === 'test/typo.test.mjs');
    expect(typo?.message).toContain('mew.mjs');
    expect(typo?.message).not.toContain('new.mjs');
  },
);

test.each<[string, Partial<TestSettings>]>([
  [`cd part && node --test ${JUNIT}`, { runner: 'junit', report: 'part/out/junit.xml' }],
  ['cd part && node --test --test-reporter=tap', { runner: 'tap' }],
])('a file is known by its place though the tool was started in another folder: %s', async (command, settings) => {
  await write({
    'part/out/.keep': '',
    'part/test/a.test.mjs': "import test from 'node:test'; import { b } from '../../src/new.mjs'; test('020', b);",
  });
  const found = await run({ command, ...settings });
  expect(excused(found)).toEqual({ 'part/test/a.test.mjs': true });
  expect(found.cases).toEqual([]);
});

test('a failed case with the name of a file is the file, with all that was printed where nothing tells more', async () => {
  const xml = (name: string) =>
    `<testsuites><testcase name="${name}"><failure message="test failed"/></testcase></testsuites>`;
  await write({ 'test/a.test.mjs': '', 'make.sh': `echo "$1" > r.xml; seq 1 300; echo why >&2; exit 1` });
  for (const name of ['test/a.test.mjs', './test/a.test.mjs', join(directory, 'test/a.test.mjs')]) {
    const found = await run({ command: `sh make.sh '${xml(name)}'`, runner: 'junit', report: 'r.xml' });
    expect(found.loadFailures.map(({ file }) => file)).toEqual(['test/a.test.mjs']);
    expect(found.loadFailures[0]?.message).toMatch(/^102\n[^]*\n300\nwhy$/);
  }
});

test('the only file that can not be loaded has what was printed as its reason', async () => {
  await write({
    'test/a.spec.js': "describe('x', () => {});",
    'make.sh': `echo '<testsuites><testcase name="test/a.spec.js"><error/></testcase></testsuites>' > r.xml; echo why >&2; exit 1`,
  });
  const found = await run({ command: 'sh make.sh', runner: 'junit', report: 'r.xml' });
  expect(found.loadFailures).toEqual([{ file: 'test/a.spec.js', message: 'why' }]);
});

test('a report outside of the worktree, or behind a link out of it, is neither read nor removed; a pipe is not waited for', async () => {
  const xml = '<testsuites><testcase name="x"/></testsuites>';
  const outside = join(base, 'outside');
  await mkdir(outside);
  await write({ 'make.sh': `echo '${xml}' > "$1"; mkfifo pipe.xml; exit 0` });
  await symlink(outside, join(directory, 'linked'));
  for (const [report, file] of [
    [`${outside}/**`, join(outside, 'a.xml')],
    ['../outside/b.xml', join(outside, 'b.xml')],
    ['linked/c.xml', 'linked/c.xml'],
    ['pipe.xml', join(outside, 'd.xml')],
  ] as const) {
    const { outcome } = await run({ command: `sh make.sh '${file}'`, runner: 'junit', report });
    expect([report, outcome]).toEqual([report, 'no-report']);
  }
  expect((await readdir(outside)).sort()).toEqual(['a.xml', 'b.xml', 'c.xml', 'd.xml']);
});
