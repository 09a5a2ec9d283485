import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oldNodeMessage } from '../../src/cli/version.ts';
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
let tarball: string;

function inProject(command: string, args: string[], cwd = project): Promise<{ stdout: string; stderr: string }> {
  return inFolder(command, args, cwd, BIN);
}

/** With this folder as the first that programs are looked for in. */
function inFolder(
  command: string,
  args: string[],
  cwd: string,
  first: string,
): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: `${first}${delimiter}${process.env['PATH'] ?? ''}`,
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
  tarball = join(folder, filename);
  await writeFile(join(project, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }\n');
  await inProject('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('the package holds what is built, the documents and the examples, and nothing of this machine', async () => {
  const others = packed.filter((path) => !/^(dist|docs|examples)\//.test(path));
  expect(others.sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  expect(packed.filter((path) => /\.(test\.ts|map|tsbuildinfo|built)$|^dist\/compiled/.test(path))).toEqual([]);
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

test('every link in its documents leads to a file of the package', async () => {
  const broken: string[] = [];
  for (const document of packed.filter((path) => path.endsWith('.md') && !path.startsWith('examples/demo/'))) {
    const text = (await readFile(join(PROJECT, document), 'utf8')).replace(/```[\s\S]*?```|`[^`\n]*`/g, '');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = join(dirname(document), target);
      if (!packed.some((file) => file === path || file.startsWith(join(path, '/'))))
        broken.push(`${document}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test('the installed command runs', async () => {
  const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8')) as { version: string };
  const { stdout } = await inProject(join(project, 'node_modules', '.bin', 'agentos'), ['--version']);
  expect(stdout.trim()).toBe(version);
});

test('npx runs the tour without an installation, in any folder', { timeout: 120_000 }, async () => {
  const empty = join(folder, 'empty folder');
  await mkdir(empty);
  const { stdout } = await inProject(
    'npm',
    ['exec', '--yes', '--offline', `--package=${tarball}`, '--', 'agentos', 'demo'],
    empty,
  );
  expect(stdout).toContain('Total: 2 items (2 succeeded)');
  expect(await readdir(empty)).toEqual(['agentos-demo']);
  expect(await readdir(home)).toEqual([]);
});

test('CommonJS can require the library', async () => {
  const { stdout } = await inProject('node', ['-p', 'typeof require("agentos").runBatch']);
  expect(stdout.trim()).toBe('function');
});

test('compiled code is kept in the package alone, and a package that can not be written to works without', async () => {
  const repository = join(folder, 'repository');
  const installed = join(project, 'node_modules', 'agentos');
  const cache = join(installed, 'dist', 'compiled');
  await mkdir(join(repository, 'issues'), { recursive: true });
  await writeFile(join(repository, 'issues', '1.md'), '# Add one\n\n## Acceptance criteria\n- `one()` returns 1.\n');
  await inProject('git', ['init', '--quiet', '.'], repository);
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost'];
  await inProject('git', [...identity, 'commit', '--quiet', '--allow-empty', '-m', 'Start'], repository);
  const program = join(project, 'node_modules', '.bin', 'agentos');
  const failing = ['--drafter', 'command:false', '--reviewer', 'command:false', '--max-retries', '0'];
  await expect(inProject(program, ['lld', '1', ...failing], repository)).rejects.toMatchObject({ code: 1 });
  expect((await readdir(cache)).length).toBeGreaterThan(0);
  expect(await readdir(join(repository, '.agentos'))).not.toContain('compile-cache');
  expect(await readdir(home)).toEqual([]);

  await rm(cache, { recursive: true });
  // A file in its place, so that not even root can make the folder.
  await writeFile(cache, '');
  const { stdout } = await inProject(program, ['--version']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
  await rm(cache);
});

const ABSENT = 'there is no Node on the PATH that is older than what the package needs';

describe('on a Node that is too old', () => {
  const old = oldNode();

  const ended = (args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    run(old?.path ?? '', args, { cwd: project, env: { PATH: '/usr/bin:/bin', HOME: home } }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    );
  const refusal = { code: 2, stdout: '', stderr: `${oldNodeMessage(old?.version ?? '')}\n` };

  test('every command says what is needed, in one line', async ({ skip }) => {
    if (old === null) skip(ABSENT);
    const cli = join(project, 'node_modules', 'agentos', 'dist', 'cli.js');
    for (const args of [['--version'], ['--help'], ['doctor'], ['lld', '1'], ['check', 'x.md'], ['no-such-command']]) {
      expect(await ended([cli, ...args])).toEqual(refusal);
    }
  });

  test('so does the library', async ({ skip }) => {
    if (old === null) skip(ABSENT);
    for (const code of ["import { runBatch } from 'agentos'; await runBatch({});", "await import('agentos');"]) {
      expect(await ended(['--input-type=module', '--eval', code])).toEqual(refusal);
    }
  });
});

/** A Node on the PATH that is older than what the package needs, if there is one. */
function oldNode(): { path: string; version: string } | null {
  for (const path of (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, 'node'))) {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    const version = stdout?.trim();
    if (version && oldNodeMessage(version) !== null) return { path, version };
  }
  return null;
}

const OUTSIDE = 'node-of-the-machine';
const REPORT =
  "import { appendFileSync } from 'node:fs'; appendFileSync('said', `${process.title} ${process.argv[1]}\\n`);";

test('in a fresh clone the scripts run on the Node that they install, at the first try', async () => {
  const clone = join(folder, 'clone');
  const machine = join(folder, 'machine');
  for (const path of ['scripts', 'bench']) await mkdir(join(clone, path), { recursive: true });
  await mkdir(machine);
  await cp(join(PROJECT, 'package.json'), join(clone, 'package.json'));
  // What the machine has is recognised by its title; it is what the shell finds first, and remembers.
  await writeFile(join(machine, 'node'), `#!/bin/sh\nexec "${process.execPath}" --title=${OUTSIDE} "$@"\n`, {
    mode: 0o755,
  });
  await writeFile(
    join(clone, 'scripts', 'ready.mjs'),
    `import { mkdirSync, symlinkSync } from 'node:fs';
     mkdirSync('node_modules/.bin', { recursive: true });
     symlinkSync(${JSON.stringify(process.execPath)}, 'node_modules/.bin/node');
     ${REPORT}`,
  );
  for (const script of ['scripts/build.mjs', 'scripts/check.mjs', 'bench/main.ts'])
    await writeFile(join(clone, script), REPORT);
  for (const [name, script] of [
    ['build', 'scripts/build.mjs'],
    ['check', 'scripts/check.mjs'],
    ['bench', 'bench/main.ts'],
  ] as const) {
    await rm(join(clone, 'node_modules'), { recursive: true, force: true });
    await rm(join(clone, 'said'), { force: true });
    await inFolder('npm', ['run', '--silent', name], clone, machine);
    const [first = '', second = ''] = (await readFile(join(clone, 'said'), 'utf8')).trim().split('\n');
    expect(first).toContain(`${OUTSIDE} `);
    expect(second).toContain(script);
    expect(second, name).not.toContain(OUTSIDE);
  }
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
      error: 'Its task failed: 5 has no half.',
      events: ['halving'],
      ended: ['succeeded: a value, false'],
    })}\n`,
  );
});
