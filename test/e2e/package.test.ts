import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROJECT } from '../support/program.ts';

/*
 * The package as somebody gets it: packed, installed into an empty project without a network, used from there.
 */

const run = promisify(execFile);
const BIN = join(PROJECT, 'node_modules', '.bin');

let folder: string;
let project: string;
let home: string;
let packed: string[];

function inProject(command: string, args: string[], cwd = project): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: `${BIN}${delimiter}${process.env['PATH'] ?? ''}`,
    HOME: home,
    npm_config_cache: join(folder, 'npm-cache'),
    npm_config_update_notifier: 'false',
  };
  return run(command, args, { cwd, env, maxBuffer: 32 * 1024 * 1024 });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentos package-ü '));
  project = join(folder, 'project');
  home = join(folder, 'home');
  for (const path of [project, home]) await mkdir(path);
  const { stdout } = await inProject(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
    PROJECT,
  );
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  packed = files.map(({ path }) => path);
  await writeFile(join(project, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }\n');
  await inProject('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('the package holds what is built, the documents and the examples, and nothing of this machine', async () => {
  const others = packed.filter((path) => !/^(dist|docs|examples)\//.test(path));
  expect(others.sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  expect(packed.filter((path) => /\.(test\.ts|map|tsbuildinfo|built)$/.test(path))).toEqual([]);
  expect(packed).toEqual(expect.arrayContaining(['dist/index.js', 'dist/worker.js', 'dist/types/index.d.ts']));

  const installed = join(project, 'node_modules', 'agentos');
  const names = (await readdir(join(project, 'node_modules'))).filter((name) => !name.startsWith('.'));
  expect(names).toEqual(['agentos']);
  for (const path of packed) {
    // Where worktrees go if the repository's own path won't do.
    const text = (await readFile(join(installed, path), 'utf8')).replaceAll('/var/tmp/agentos-', '');
    for (const place of [join(PROJECT, '/'), join(tmpdir(), 'agentos')]) expect(text.includes(place), path).toBe(false);
  }
});

test('the installed command runs', async () => {
  const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8')) as { version: string };
  const { stdout } = await inProject(join(project, 'node_modules', '.bin', 'agentos'), ['--version']);
  expect(stdout.trim()).toBe(version);
});

test('the example runs in the project, keeps its state there and leaves the home directory alone', async () => {
  await cp(join(project, 'node_modules', 'agentos', 'examples', 'library'), join(project, 'example'), {
    recursive: true,
  });
  const { stdout } = await inProject('node', ['run.mjs'], join(project, 'example'));
  const lines = stdout.split('\n');
  expect(lines).toContain('[2026-03] Barbara owes 1700');
  expect(lines.slice(-5, -1)).toEqual([
    '2026-01  succeeded  {"total":1080,"receipt":"receipt-2026-01"}',
    '2026-02  succeeded  {"total":770,"receipt":"receipt-2026-02"}',
    '2026-03  succeeded  {"total":1700,"receipt":"receipt-2026-03"}',
    '2026-04  succeeded  {"total":360,"receipt":"receipt-2026-04"}',
  ]);
  expect(await readFile(join(project, 'example', '.invoices', '.gitignore'), 'utf8')).toBe('*\n');
  expect(await readdir(home)).toEqual([]);
});

const TASK = `
import { type BatchTask, PermanentError, type Task } from 'agentos';

export const half: BatchTask<{ of: number }, number> = async ({ input, step, log, heartbeat, signal }) => {
  if (input.of % 2 === 1) throw new PermanentError(\`\${input.of} has no half\`);
  log('halving');
  heartbeat();
  signal.throwIfAborted();
  const value: number = await step('halve', { of: input.of }, () => input.of / 2);
  return value;
};

export const withJournal: Task = async ({ id, journal }) => {
  const { value, replayed } = await journal.step({ name: 'only', inputs: { id } }, async () => 'a value');
  return { status: 'succeeded', reason: \`\${value}, \${replayed}\`, outputs: [] };
};
`;

const PROGRAM = `
import { AgentosError, type BatchEvent, type BatchResult, MAX_PARALLEL, OutputPrefixer, ParallelCoordinator, runBatch,
  sinkOf, workerScript } from 'agentos';

const events: BatchEvent[] = [];
const result: BatchResult<number> = await runBatch<{ of: number }, number>({
  items: [{ id: 'even', input: { of: 4 } }, { id: 'odd', input: { of: 5 } }],
  task: { module: new URL('./half.ts', import.meta.url), export: 'half' },
  parallel: MAX_PARALLEL,
  baseDir: './state',
  onEvent: (event) => events.push(event),
  output: null,
});
const values: (number | null)[] = result.items.map((item) => item.result);
// @ts-expect-error: the input is not what the task takes
const wrong = () => runBatch<{ of: number }>({ items: [{ id: 'a', input: 'text' }], task: { module: import.meta.url } });
// @ts-expect-error: there is no such option
const misspelt = () => runBatch({ items: [], task: { module: import.meta.url }, timeout: 5 });

const coordinator = new ParallelCoordinator({
  task: { module: new URL('./half.ts', import.meta.url).href, export: 'withJournal' },
  parallel: 1,
  worker: { script: workerScript(), env: {}, cwd: '.', compileCache: null },
  maxRetries: 0, timeoutMs: 10_000, idleTimeoutMs: 10_000, globalTimeoutMs: null, haltAfter: null,
  onEvent: () => undefined,
  runTag: 'consumer',
});
const ends = await coordinator.run([{ id: 'x', checkpoint: './x.db', input: null }]);
const prefixer: OutputPrefixer = new OutputPrefixer({ ...sinkOf(process.stdout), colour: false });
prefixer.line('program', JSON.stringify({
  values,
  error: result.items[1]?.error?.message,
  events: events.filter((event) => event.type === 'notice').map((event) => event.text),
  ended: ends.map((end) => \`\${end.status}: \${end.reason}\`),
}));
coordinator.stop(new AgentosError({ code: 'interrupted', signal: 'nobody' }));
export { misspelt, wrong };
`;

test('a program in TypeScript compiles against the published types alone, and runs as it is', async () => {
  await writeFile(join(project, 'half.ts'), TASK);
  await writeFile(join(project, 'program.ts'), PROGRAM);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'es2024',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(PROJECT, 'node_modules', '@types')],
  };
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['half.ts', 'program.ts'] }),
  );
  const checked = await inProject('tsc', ['--pretty', 'false']).catch((error: { stdout: string }) => error);
  expect(checked.stdout).toBe('');

  const { stdout } = await inProject('node', ['program.ts']);
  expect(stdout).toBe(
    `[program] ${JSON.stringify({
      values: [2, null],
      error: 'Its task failed: 5 has no half',
      events: ['halving'],
      ended: ['succeeded: a value, false'],
    })}\n`,
  );
});
