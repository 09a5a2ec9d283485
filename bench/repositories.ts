import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import type { AgentosEvent } from '../src/core/events.ts';
import type { GateCounts } from '../src/core/gate.ts';
import { parseItemId } from '../src/core/ids.ts';
import { createDirectorySource } from '../src/source/directory.ts';
import { type FoundTests, findTests } from '../src/testing/detect.ts';
import { folderFiles } from '../src/testing/project.ts';
import { isRunnableTest } from '../src/testing/test-files.ts';
import { approvedLld } from '../src/workflow/approved-lld.ts';
import { ISSUE, lldFor, review } from '../test/support/models.ts';
import type { BenchRow } from './support/row.ts';
import { type TrivialItem, trivialItem } from './support/trivial-item.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const IMPLEMENTER = fileURLToPath(new URL('../test/support/implementers/from-plan.mjs', import.meta.url));
const LIMIT_MS = 1_200_000;
const SHARE = 0.9;
const SETTINGS = { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: LIMIT_MS };

const run = promisify(execFile);

/**
 * An honest trivial item, a new pure function and its tests in the repository's own style, in a copy of each repository of a
 * folder. Shows which get through as they are, and whether the tests are counted as their own runner counts them.
 */
export async function repositoriesBench(folder = process.argv[3] ?? ''): Promise<BenchRow[]> {
  if (folder === '') throw new Error('Say where the repositories are: npm run bench -- repositories <folder>');
  const names = (await readdir(folder)).toSorted();
  const rows: BenchRow[] = [];
  for (const name of names) {
    const found = await tryRepository(join(folder, name)).catch((error: unknown) => ({
      through: false,
      says: String(error).split('\n')[0] ?? '',
    }));
    if (found === null) continue;
    process.stderr.write(`  ${name}: ${found.says}\n`);
    rows.push({ name, value: found.says, target: 'through', ok: found.through });
  }
  const through = rows.filter(({ ok }) => ok).length;
  const share = `${through} of ${rows.length}`;
  return [...rows, { name: 'got through', value: share, target: '90 %', ok: through >= rows.length * SHARE }];
}

interface Tried {
  through: boolean;
  says: string;
}

/** Null: no repository. */
async function tryRepository(source: string): Promise<Tried | null> {
  const place = await mkdtemp(join(tmpdir(), 'agentos-repository-'));
  const root = join(place, 'repository');
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 100e6 }).trim();
  try {
    const from = (await readdir(source).catch((): string[] => [])).includes('repo') ? join(source, 'repo') : source;
    await run('git', ['clone', '--quiet', from, root]).catch(() => null);
    const files = await readdir(root).catch((): string[] => []);
    if (files.length === 0) return null;
    git('config', 'user.name', 'Bench');
    git('config', 'user.email', 'bench@localhost');
    const paths = git('ls-files', '-z').split('\0');
    const chosen = await examplesIn(root, paths);
    if (chosen === null) return { through: false, says: 'no test of a known style' };
    const { found, item } = chosen;
    await design(root, item, git('rev-parse', 'HEAD'));
    const { code, events } = await implement(root, place, item);
    const counts = events.find((event) => event.type === 'tests-ran' && event.step === 'baseline');
    const baseline = counts?.type === 'tests-ran' ? counts.counts : null;
    const end = events.find((event) => event.type === 'item-finished');
    const why =
      end?.type === 'item-finished' ? `${end.status}: ${JSON.stringify(end.error ?? end.reason)}` : `exit code ${code}`;
    if (code !== 0) return { through: false, says: `${found.name}: ${why.slice(0, 200)}` };
    return { through: true, says: `${found.name}, ${await compared(root, found, baseline)}` };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** A test that a runner is known for, and code that it may be about. */
async function examplesIn(
  root: string,
  paths: readonly string[],
): Promise<{ found: FoundTests; item: TrivialItem } | null> {
  const isExample = (path: string): boolean =>
    /(?:^|\/)(?:fixtures?|examples?|docs?|node_modules|e2e|types?)\//.test(path);
  const tests = paths.filter((path) => isRunnableTest(path) && !isExample(path) && !/\.(?:test-d|d)\.ts$/.test(path));
  for (const test of tests.toSorted((a, b) => a.split('/').length - b.split('/').length)) {
    const found = await findTests(folderFiles(root), SETTINGS, root, [test]).catch(() => null);
    if (found === null) continue;
    const testText = await readFile(join(root, test), 'utf8');
    const extension = test.endsWith('.py') ? /\.py$/ : /\.[cm]?[jt]sx?$/;
    const isCode = (path: string): boolean =>
      path.startsWith(found.folder) &&
      extension.test(path) &&
      !isRunnableTest(path) &&
      !isExample(path) &&
      !/\.d\.[cm]?ts$|\.config\.|(?:^|\/)(?:scripts?|bench\w*|setup\.py|conftest\.py|tests?|tools|build)(?:\/|$)|^\./.test(
        path,
      );
    // Many projects let git ignore all but a few names at the top.
    const inSource = (path: string): number => (/(?:^|\/)(?:src|lib)\//.test(path) ? 0 : path.includes('/') ? 1 : 2);
    const sources = paths.filter(isCode).toSorted((a, b) => inSource(a) - inSource(b) || a.length - b.length);
    const item = trivialItem(found.name, { test, testText, source: sources[0] ?? test });
    if (item !== null) return { found, item };
  }
  return null;
}

async function design(root: string, { tests, code }: TrivialItem, baseCommit: string): Promise<void> {
  const rows = [...Object.keys(code), ...Object.keys(tests)].map((path) => `| \`${path}\` | Add | Its part |`);
  const body = lldFor('42')
    .replace(/\| `src\/item-42\.js`[^\n]*\n\| `test\/item-42\.test\.js`[^\n]*/, rows.join('\n'))
    .replace(/`src\/item-42\.js` and `test\/item-42\.test\.js` are added/, 'All files are in place');
  await mkdir(join(root, 'issues'), { recursive: true });
  await mkdir(join(root, 'docs', 'lld'), { recursive: true });
  await writeFile(join(root, 'issues', '42.md'), ISSUE);
  const issue = await createDirectorySource(join(root, 'issues')).read(parseItemId('42'));
  const by = { drafter: 'command:x', reviewer: 'command:y', recorded: false, rounds: 1, baseCommit };
  await writeFile(join(root, 'docs', 'lld', 'LLD-42.md'), approvedLld(body, issue, by));
}

async function implement(root: string, place: string, { tests, code }: TrivialItem) {
  const plan = join(place, 'plan.json');
  await writeFile(plan, JSON.stringify({ tests: [tests], code: [code] }));
  await writeFile(join(place, 'review.md'), review({ verdict: 'APPROVED' }));
  const models = [
    '--implementer',
    `command:'${process.execPath}' '${IMPLEMENTER}' '${plan}'`,
    '--reviewer',
    `command:cat '${join(place, 'review.md')}'`,
  ];
  const ended = await run(PROGRAM, ['implement', '42', '--json', '--max-retries', '0', ...models], {
    cwd: root,
    timeout: LIMIT_MS,
    maxBuffer: 500e6,
  }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code?: number; stdout?: string }) => ({ code: error.code ?? 1, stdout: error.stdout ?? '' }),
  );
  const lines = ended.stdout.split('\n').filter((line) => line.startsWith('{'));
  return { code: ended.code, events: lines.map((line) => JSON.parse(line) as AgentosEvent) };
}

/** How runners say in words how many tests passed. */
const PASSED =
  /(\d+) passing|Tests?:?\s+(?:\d+ \w+[,|]? *)*?(\d+) passed|^[ #ℹ]*pass(?:ed)?:? +(\d+)|(\d+) passed|Passed: +(\d+)|(\d+) tests? passed/m;

/** The same tests by hand, in the words of their own runner. */
async function compared(root: string, { folder, written }: FoundTests, ours: GateCounts | null): Promise<string> {
  if (written === null || ours === null) return `${ours?.passed ?? '?'} tests passed`;
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: 'ignore' });
  const cwd = posix.join(root, folder);
  const { stdout } = await run('sh', ['-c', `${written.command} 2>&1 || true`], { cwd, maxBuffer: 500e6 });
  const by = PASSED.exec(stripVTControlCharacters(stdout))
    ?.slice(1)
    .find((count) => count !== undefined);
  if (by === undefined) return `${ours.passed} tests passed; by hand it does not say`;
  return `${ours.passed} tests passed, ${by} by hand`;
}
