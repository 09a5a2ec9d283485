import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AgentosEvent } from '../src/core/events.ts';
import { parseItemId } from '../src/core/ids.ts';
import { createDirectorySource } from '../src/source/directory.ts';
import { approvedLld } from '../src/workflow/approved-documents.ts';
import { commandWriting } from '../test/support/languages/repository.ts';
import { ISSUE, lldFor, review } from '../test/support/models.ts';
import { type ByHand, openByHand } from './support/repositories/by-hand.ts';
import type { TrivialItem } from './support/repositories/item.ts';
import { placeIn } from './support/repositories/place.ts';
import type { BenchRow } from './support/row.ts';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const PROGRAM = join(PROJECT, 'bin', 'agentos');
const LIMIT_MS = 3_600_000;
const SHARE = 0.9;

const run = promisify(execFile);
/** As in a person's shell: `npm run` puts our own packages in front. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))),
  PATH: (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter),
};

/**
 * An honest trivial item, a new pure function and its tests in the repository's own style, in a copy of each repository of a
 * folder. Shows which get through as they are, and whether the tests are counted as their own runner counts them by hand.
 */
export async function repositoriesBench([folder = '', ...only] = process.argv.slice(3)): Promise<BenchRow[]> {
  if (folder === '') throw new Error('Say where the repositories are: npm run bench -- repositories <folder> [names…]');
  process.env['PATH'] = env.PATH;
  const byHand = await openByHand(folder);
  const rows: BenchRow[] = [];
  for (const name of (await readdir(folder)).toSorted().filter((one) => only.length === 0 || only.includes(one))) {
    const tried = await tryRepository(join(folder, name), name, byHand).catch((error: unknown) => ({
      through: false,
      says: `the bench failed: ${String(error).split('\n')[0] ?? ''}`,
    }));
    if (tried === null) continue;
    process.stderr.write(`  ${name}: ${tried.says}\n`);
    const isCounted = tried.through !== null;
    rows.push({ name, value: tried.says, target: isCounted ? 'through' : '–', ok: tried.through !== false });
  }
  const counted = rows.filter(({ target }) => target === 'through');
  const through = counted.filter(({ ok }) => ok).length;
  const value = `${through} of ${counted.length} whose tests run by hand`;
  return [...rows, { name: 'got through', value, target: '90 %', ok: through >= counted.length * SHARE }];
}

interface Tried {
  /** Null: its tests don't run by hand either. */
  through: boolean | null;
  says: string;
}

/** Null: no repository. */
async function tryRepository(
  source: string,
  name: string,
  byHand: Awaited<ReturnType<typeof openByHand>>,
): Promise<Tried | null> {
  const place = await mkdtemp(join(tmpdir(), 'agentos-repository-'));
  const root = join(place, 'repository');
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 100e6 }).trim();
  try {
    if (!(await clone(source, root))) return null;
    git('config', 'user.name', 'Bench');
    git('config', 'user.email', 'bench@localhost');
    const commit = git('rev-parse', 'HEAD');
    const isIgnored = (path: string): boolean =>
      spawnSync('git', ['check-ignore', '-q', path], { cwd: root }).status === 0;
    const paths = git('ls-files', '-z')
      .split('\0')
      .filter((path) => path !== '');
    const chosen = await placeIn(root, paths, isIgnored);
    const own = join(place, 'by-hand');
    await clone(source, own);
    const hand = await byHand.seen(name, {
      clone: own,
      folder: chosen?.found.folder ?? '',
      runner: chosen?.found.name ?? null,
      commit,
    });
    await rm(own, { recursive: true, force: true, maxRetries: 3 });
    if (!(hand.passed ?? 0))
      return { through: null, says: `does not run by hand: ${hand.says?.split('\n').at(-1) ?? ''}` };
    if (chosen === null) return { through: false, says: 'its tests are not understood' };
    const { found, item } = chosen;
    await design(root, item, paths, commit);
    const tried = await implement(root, place, item, hand);
    return { ...tried, says: `${found.name}, ${tried.says}` };
  } finally {
    // What is kept of an item that failed is outside of the repository.
    for (const what of [['--discard', '42', '--yes'], ['--caches']])
      await run(PROGRAM, ['clean', ...what], { cwd: root, env }).catch(() => null);
    await rm(place, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function clone(source: string, to: string): Promise<boolean> {
  const from = (await readdir(source).catch((): string[] => [])).includes('repo') ? join(source, 'repo') : source;
  return await run('git', ['clone', '--quiet', from, to]).then(
    async () => (await readdir(to)).length > 1,
    () => false,
  );
}

async function design(root: string, item: TrivialItem, paths: readonly string[], baseCommit: string): Promise<void> {
  const rows = Object.keys({ ...item.code, ...item.tests }).map(
    (path) => `| \`${path}\` | ${paths.includes(path) ? 'Modify' : 'Add'} | Its part |`,
  );
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

async function implement(root: string, place: string, { tests, code }: TrivialItem, byHand: ByHand): Promise<Tried> {
  await writeFile(join(place, 'review.md'), review({ verdict: 'APPROVED' }));
  // Whoever writes in a repository lets its linter put the style right.
  const own = Object.keys({ ...tests, ...code }).map((path) => `'${path}'`);
  const fixed = `for it in ${own.join(' ')}; do [ -f "$it" ] && node_modules/.bin/eslint --fix "$it"; done >/dev/null 2>&1`;
  const models = [
    '--implementer',
    `${await commandWriting(place, { tests: [tests], code: [code] })} && { ${fixed}; true; }`,
    '--reviewer',
    `command:cat '${join(place, 'review.md')}'`,
  ];
  const bounds = ['--max-retries', '0', '--timeout', '1h', '--global-timeout', '1h'];
  const ended = await run(PROGRAM, ['implement', '42', '--json', ...bounds, ...models], {
    cwd: root,
    env,
    timeout: LIMIT_MS,
    maxBuffer: 500e6,
  }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code?: number; stdout?: string }) => ({ code: error.code ?? 1, stdout: error.stdout ?? '' }),
  );
  const lines = ended.stdout.split('\n').filter((line) => line.startsWith('{'));
  const events = lines.map((line) => JSON.parse(line) as AgentosEvent);
  // The last: tests that need a build run a second time.
  const ran = events.findLast((event) => event.type === 'tests-ran' && event.step === 'baseline');
  const end = events.find((event) => event.type === 'item-finished');
  const passed = ran?.type === 'tests-ran' ? ran.counts.passed : null;
  const counts = `${Object.keys(tests)[0]}: ${passed ?? '?'} passed before, ${byHand.passed} by hand`;
  if (ended.code === 0) return { through: passed === byHand.passed, says: counts };
  const why =
    end?.type === 'item-finished'
      ? `${end.status}: ${JSON.stringify(end.error ?? end.reason)}`
      : `exit code ${ended.code}`;
  return { through: false, says: `${counts}; ${why.slice(0, 600)}` };
}
