import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AgentosEvent } from '../src/core/events.ts';
import type { Summary } from '../src/core/summary.ts';
import { createGit } from '../src/git/git.ts';
import { openWorktree } from '../src/git/worktree/open.ts';
import { review } from '../test/support/models.ts';
import { createDesignedRepository } from './support/designed-repository.ts';
import { withFolder } from './support/folder.ts';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const IMPLEMENTER = fileURLToPath(new URL('../test/support/implementers/implementer.sh', import.meta.url));
const FILES = 5_000;
const IDS = ['41', '42', '43', '44', '45', '46'];
const PARALLEL = 3;
const OVERHEAD_LIMIT_MS = 3_000;
const ALONE = 5;
const ALONE_LIMIT_MS = 1_000;
const MANY_FILES = 50_000;
const PAIRS = 7;
const RATIO_LIMIT = 1.2;
const LIMIT_MS = 600_000;

const run = promisify(execFile);

/** What the engine adds to the time of agents and tests, and what a worktree of ours takes longer than git's own. */
export async function implementBench(): Promise<BenchRow[]> {
  const rows = await withFolder(async (folder) => {
    const root = join(folder, 'repository');
    await createDesignedRepository(root, FILES, IDS);
    return [...(await overhead(root, folder)), ...(await alone(folder)), ...(await worktrees(root, folder))];
  });
  return [...rows, ...(await withFolder(manyFiles))];
}

interface Implemented {
  summary: Summary;
  events: AgentosEvent[];
  /** Per item, without its agent and its tests. */
  engineMs: number[];
  othersMs: number[];
}

async function implement(root: string, folder: string, ids: readonly string[], parallel: number): Promise<Implemented> {
  const reviewFile = join(folder, 'review.md');
  await writeFile(reviewFile, review({ verdict: 'APPROVED' }));
  const models = ['--implementer', `command:sh '${IMPLEMENTER}'`, '--reviewer', `command:cat '${reviewFile}'`];
  await run(PROGRAM, ['implement', ...ids, '--parallel', `${parallel}`, ...models], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    timeout: LIMIT_MS,
    maxBuffer: 100e6,
  });
  const runs = join(root, '.agentos', 'runs');
  const runId = (await readdir(runs)).sort().at(-1) ?? '';
  const summary = JSON.parse(await readFile(join(runs, runId, 'summary.json'), 'utf8')) as Summary;
  const lines = (await readFile(join(runs, runId, 'events.jsonl'), 'utf8')).split('\n').filter(Boolean);
  const events = lines.map((line) => JSON.parse(line) as AgentosEvent);
  const othersMs = summary.items.map(({ id }) => timeOfOthers(events, id));
  const engineMs = summary.items.map(({ durationMs }, index) => durationMs - (othersMs[index] ?? Number.NaN));
  return { summary, events, engineMs, othersMs };
}

async function overhead(root: string, folder: string): Promise<BenchRow[]> {
  const { summary, events, engineMs, othersMs } = await implement(root, folder, IDS, PARALLEL);
  const files = FILES.toLocaleString('en');
  return [
    shown(`an item of ${files} files, ${PARALLEL} workers: agent and tests`, inMs(median(othersMs))),
    below('  the engine, median', median(engineMs), OVERHEAD_LIMIT_MS, inMs),
    below('  the engine, slowest', Math.max(...engineMs), OVERHEAD_LIMIT_MS, inMs),
    shown('  of that its worktree, median', inMs(median(summary.items.map(({ id }) => timeOfWorktree(events, id))))),
  ];
}

/** Nothing else runs: what a person waits for. The same by hand is two checkouts' worth of git: made, committed, removed. */
async function alone(folder: string): Promise<BenchRow[]> {
  const root = join(folder, 'alone');
  const ids = Array.from({ length: ALONE }, (_, index) => `${51 + index}`);
  await createDesignedRepository(root, FILES, ids);
  const engineMs: number[] = [];
  const hand: number[] = [];
  for (const id of ids) {
    engineMs.push(...(await implement(root, folder, [id], 1)).engineMs);
    hand.push(await byHand(root, folder, id));
  }
  return [
    below('  the engine, one item alone, median', median(engineMs), ALONE_LIMIT_MS, inMs),
    shown('  the same with git by hand', inMs(median(hand))),
  ];
}

async function byHand(root: string, folder: string, id: string): Promise<number> {
  const directory = join(folder, `by-hand-${id}`);
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  const git = (cwd: string, ...args: string[]): Promise<unknown> => run('git', args, { cwd, env });
  const began = performance.now();
  await git(root, 'worktree', 'add', '--quiet', '-b', `by-hand-${id}`, directory);
  for (const what of ['tests', 'code', 'report']) {
    await writeFile(join(directory, `${what}.js`), `// ${what}\n`);
    await git(directory, 'add', '--all');
    await git(directory, 'commit', '--quiet', '-m', what);
  }
  await git(root, 'worktree', 'remove', directory);
  return performance.now() - began;
}

/** Three at once, in a repository in which making or deleting a worktree takes seconds: nobody waits for another's files. */
async function manyFiles(folder: string): Promise<BenchRow[]> {
  const root = join(folder, 'many');
  const ids = ['61', '62', '63'];
  await createDesignedRepository(root, MANY_FILES, ids);
  const { summary, engineMs } = await implement(root, folder, ids, ids.length);
  const succeeded = summary.items.filter(({ status }) => status === 'succeeded').length;
  return [
    {
      name: `${MANY_FILES.toLocaleString('en')} files, ${ids.length} items at once: succeeded`,
      value: `${succeeded}`,
      target: `${ids.length}`,
      ok: succeeded === ids.length,
    },
    shown('  the engine, median', inMs(median(engineMs))),
  ];
}

/** Of an item: the calls of its writer and its reviewer, and the runs of its tests. */
function timeOfOthers(events: readonly AgentosEvent[], id: string): number {
  return events.reduce((sum, event) => {
    if (event.type !== 'model-answered' && event.type !== 'tests-ran') return sum;
    return event.item === id ? sum + event.durationMs : sum;
  }, 0);
}

/** From the end of the first step to the beginning of the next; there is no set-up in this repository. */
function timeOfWorktree(events: readonly AgentosEvent[], id: string): number {
  const [begun, next] = events.filter(
    (event) =>
      'item' in event &&
      event.item === id &&
      ((event.type === 'step-finished' && event.step === 'begin') ||
        (event.type === 'step-started' && event.step === 'baseline')),
  );
  return begun === undefined || next === undefined ? Number.NaN : Date.parse(next.at) - Date.parse(begun.at);
}

/**
 * In turns, and who begins changes, so that what else the machine does hits both alike. Nothing is removed meanwhile: some
 * file systems are slow to make files for a minute after many were deleted, and that time would be nobody's.
 */
async function worktrees(root: string, folder: string): Promise<BenchRow[]> {
  const base = join(root, '.agentos');
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  const git = createGit(root, env);
  const start = await git.text(['rev-parse', 'HEAD']);
  const byHand = async (n: number): Promise<number> => {
    const directory = join(base, `by-hand-${n}`);
    const began = performance.now();
    await run('git', ['worktree', 'add', '--quiet', '-b', `by-hand-${n}`, directory, start], { cwd: root, env });
    return performance.now() - began;
  };
  const byUs = async (n: number): Promise<number> => {
    const began = performance.now();
    await openWorktree({
      repository: git,
      directory: join(base, 'worktrees', `implement-${n}`),
      branch: `agentos/${n}-bench`,
      start,
      env,
    });
    return performance.now() - began;
  };
  await byHand(0);
  await byUs(0);
  const hand: number[] = [];
  const ours: number[] = [];
  for (let n = 1; n <= PAIRS; n++) {
    if (n % 2 === 0) hand.push(await byHand(n));
    ours.push(await byUs(n));
    if (n % 2 === 1) hand.push(await byHand(n));
  }
  const files = FILES.toLocaleString('en');
  return [
    shown(`a worktree of ${files} files by hand: git worktree add`, inMs(median(hand))),
    shown('  ours', inMs(median(ours))),
    below('  ours over by hand', median(ours) / median(hand), RATIO_LIMIT, (ratio) => `${ratio.toFixed(2)} ×`),
  ];
}
