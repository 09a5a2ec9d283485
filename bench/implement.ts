import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AgentosEvent } from '../src/core/events.ts';
import type { Summary } from '../src/core/summary.ts';
import { createGit } from '../src/workspace/git.ts';
import { openWorktree } from '../src/workspace/worktree.ts';
import { review } from '../test/support/models.ts';
import { createDesignedRepository } from './support/designed-repository.ts';
import { withFolder } from './support/folder.ts';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const IMPLEMENTER = fileURLToPath(new URL('../test/support/implementers/implementer.mjs', import.meta.url));
const FILES = 5_000;
const IDS = ['41', '42', '43', '44', '45', '46'];
const PARALLEL = 3;
const OVERHEAD_LIMIT_MS = 3_000;
const PAIRS = 7;
const RATIO_LIMIT = 1.2;
const LIMIT_MS = 600_000;

const run = promisify(execFile);

/** What the engine adds to the time of agents and tests, and what a worktree of ours takes longer than git's own. */
export function implementBench(): Promise<BenchRow[]> {
  return withFolder(async (folder) => {
    const root = join(folder, 'repository');
    await createDesignedRepository(root, FILES, IDS);
    return [...(await overhead(root, folder)), ...(await worktrees(root, folder))];
  });
}

async function overhead(root: string, folder: string): Promise<BenchRow[]> {
  const reviewFile = join(folder, 'review.md');
  await writeFile(reviewFile, review({ verdict: 'APPROVED' }));
  const models = ['--implementer', `command:node '${IMPLEMENTER}'`, '--reviewer', `command:cat '${reviewFile}'`];
  await run(PROGRAM, ['implement', '--all', '--parallel', `${PARALLEL}`, ...models], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    timeout: LIMIT_MS,
    maxBuffer: 100e6,
  });
  const runs = join(root, '.agentos', 'runs');
  const [runId = ''] = await readdir(runs);
  const summary = JSON.parse(await readFile(join(runs, runId, 'summary.json'), 'utf8')) as Summary;
  const lines = (await readFile(join(runs, runId, 'events.jsonl'), 'utf8')).split('\n').filter(Boolean);
  const events = lines.map((line) => JSON.parse(line) as AgentosEvent);
  const items = summary.items.map(({ id, durationMs }) => ({ durationMs, others: timeOfOthers(events, id) }));
  const own = items.map(({ durationMs, others }) => durationMs - others);
  return [
    shown(
      `an item of ${FILES.toLocaleString('en')} files, ${PARALLEL} workers: agent and tests`,
      inMs(median(items.map(({ others }) => others))),
    ),
    below('  the engine, median', median(own), OVERHEAD_LIMIT_MS, inMs),
    below('  the engine, slowest', Math.max(...own), OVERHEAD_LIMIT_MS, inMs),
    shown('  of that its worktree, median', inMs(median(summary.items.map(({ id }) => timeOfWorktree(events, id))))),
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
      lockFile: join(base, 'locks', 'git-worktree.lock'),
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
