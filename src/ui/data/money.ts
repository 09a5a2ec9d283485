import { stat } from 'node:fs/promises';
import { addUsage } from '../../core/money.ts';
import { outlookOf } from '../../core/progress.ts';
import type { Spending } from '../../core/timeline.ts';
import { runIds } from '../../run/history/run-files.ts';
import { knownKeys, readKeysFile } from '../../run/keys-file.ts';
import type { Project } from '../../run/project.ts';
import type { Money } from '../api.ts';
import type { Runs } from './runs.ts';

/** The newest runs matter most, and a page must not take seconds. */
const MOST_RUNS = 100;
const MOST_BYTES = 64 << 20;
const MOST_ITEMS = 200;

/** The costs of one run. */
interface RunMoney {
  run: Money['runs'][number];
  spending: readonly Spending[];
  items: readonly { id: string; title: string; costUsd: number }[];
}

/** The costs of the newest runs. Runs that have ended are read once. */
export function createMoney(project: Project, runs: Runs): { read(nowMs: number): Promise<Money> } {
  const { paths, config } = project;
  const ended = new Map<string, RunMoney>();

  const moneyOf = async (runId: string): Promise<RunMoney | null> => {
    const known = ended.get(runId);
    if (known !== undefined) return known;
    const brief = await runs.brief(runId);
    const state = brief && (await runs.folded(runId))?.state;
    if (!brief || !state) return null;
    const { workflow, startedAt } = brief;
    const money = {
      run: { runId, workflow, startedAt, costUsd: state.costUsd },
      spending: state.timeline?.spending ?? [],
      items: [...state.items.values()].flatMap(({ id, title, costUsd }) => (costUsd ? [{ id, title, costUsd }] : [])),
    };
    if (brief.state !== 'running') ended.set(runId, money);
    return money;
  };

  return {
    async read(nowMs) {
      const all = await runIds(paths);
      const found: RunMoney[] = [];
      const outlooks: Money['outlooks'] = [];
      let bytes = 0;
      let read = 0;
      for (const runId of all.slice(0, MOST_RUNS)) {
        if (!ended.has(runId)) bytes += (await stat(paths.run(runId).events).catch(() => null))?.size ?? 0;
        if (bytes > MOST_BYTES && read > 0) break;
        read += 1;
        const money = await moneyOf(runId);
        if (money !== null) found.push(money);
        const isRunning = !ended.has(runId) && money !== null;
        const folded = isRunning ? await runs.folded(runId) : null;
        const outlook = folded && outlookOf(folded.state, nowMs);
        if (outlook) outlooks.push({ ...outlook, runId });
      }
      return {
        spending: added(found.flatMap(({ spending }) => spending)),
        items: dearest(found),
        runs: found.map(({ run }) => run),
        outlooks,
        keys: knownKeys(config.keys, await readKeysFile(paths.keys), nowMs),
        unreadRuns: all.length - read,
      };
    },
  };
}

/** Summed by hour, role and model, the earliest first. */
function added(rows: readonly Spending[]): Spending[] {
  const sums = new Map<string, Spending>();
  for (const row of rows) {
    const key = [row.hour, row.role, row.model].join('\0');
    const before = sums.get(key);
    if (before === undefined) sums.set(key, { ...row });
    else {
      before.calls += row.calls;
      before.costUsd += row.costUsd;
      before.unpriced += row.unpriced;
      before.usage = addUsage(before.usage, row.usage);
    }
  }
  return [...sums.values()].sort((a, b) => a.hour.localeCompare(b.hour));
}

function dearest(runs: readonly RunMoney[]): Money['items'] {
  const items = new Map<string, Money['items'][number]>();
  // The newest run has the current title.
  for (const { id, title, costUsd } of runs.flatMap((run) => run.items)) {
    const before = items.get(id);
    items.set(id, { id, title: before?.title || title, costUsd: (before?.costUsd ?? 0) + costUsd });
  }
  return [...items.values()].sort((a, b) => b.costUsd - a.costUsd).slice(0, MOST_ITEMS);
}
