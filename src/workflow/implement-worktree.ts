import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { boundedLines } from '../core/lines.ts';
import { copyIgnored } from '../git/copy-ignored.ts';
import { branchNameOf } from '../git/worktree/branch.ts';
import { openWorktree, type TreeChange, type Worktree } from '../git/worktree/worktree.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import { detectSetup, runSetup } from '../process/setup.ts';
import { traced } from '../telemetry/tracer.ts';
import type { ImplementParts } from './implement-item.ts';
import type { ItemContext } from './item.ts';

/** Creates the worktree of an item, or takes over what an earlier attempt left, and sets it up once. */
export async function prepareWorktree(item: ItemContext, parts: ImplementParts, start: string): Promise<Worktree> {
  const { paths, id, title, emit } = item;
  const { git, env } = parts;
  const settings = parts.config.implement;
  await mkdir(paths.home('implement', id), { recursive: true });
  const { worktree, isNew, isAtStart, warnings } = await openWorktree({
    repository: git,
    directory: paths.worktree('implement', id),
    branch: branchNameOf(id, title),
    start,
    lockFile: paths.gitQueue,
    env,
  });
  for (const text of warnings) emit({ type: 'notice', text });
  if (paths.work !== paths.base)
    emit({
      type: 'notice',
      text: `the worktree is ${worktree.directory}: not every tool can work below ${paths.base}`,
    });
  const marker = join(paths.home('implement', id), 'set-up.json');
  const command = settings.setup === false ? null : (settings.setup ?? (await detectSetup(worktree.directory)));
  const wanted = `${JSON.stringify({ start, command, copy: settings.copy })}\n`;
  if (!isNew && (await readFile(marker, 'utf8').catch(() => null)) === wanted) return cachedWorktree(worktree);
  const { missing, refused } = await copyIgnored(paths.repository, worktree.directory, settings.copy);
  for (const { path, reason } of refused) emit({ type: 'notice', text: `${path} is not copied: ${reason}` });
  if (missing.length > 0)
    emit({ type: 'notice', text: `implement.copy names what is not there: ${missing.join(', ')}` });
  if (command !== null) await setUp(command, worktree, item, parts);
  await worktree.ignoreMadeBySetup(isNew && command === null && settings.copy.length === 0);
  await writeFileAtomic(marker, wanted);
  return cachedWorktree(worktree, isAtStart && command === null ? await worktree.treeOf(start) : null);
}

async function setUp(
  command: string,
  { directory }: Worktree,
  { signal, emit, mask, onProgress }: ItemContext,
  { itemEnv: env, onGroup, config }: ImplementParts,
): Promise<void> {
  const startedAt = performance.now();
  emit({ type: 'step-started', step: 'set-up', model: null });
  emit({ type: 'notice', text: `set-up: ${command}` });
  const onLine = boundedLines((line) =>
    emit({ type: 'output-line', stream: 'stdout', line: mask(line), of: 'set-up' }),
  );
  const timeoutMs = config.implement.setupTimeoutMs;
  await traced('set-up', {}, () =>
    runSetup({ command, directory, env, timeoutMs, signal, onLine, onProgress, onGroup }),
  );
  const durationMs = performance.now() - startedAt;
  emit({ type: 'step-finished', step: 'set-up', replayed: false, costUsd: 0, durationMs });
}

/**
 * Caches changes and the last diff, and skips a restore when the folder already holds the tree: after a snapshot it does
 * until something runs in it, which never happens without a restore. Files of submodules are not part of a tree, so that
 * with submodules it is always restored. `fresh`: the tree that was just checked out, if nothing has run since.
 */
export function cachedWorktree(worktree: Worktree, fresh: string | null = null): Worktree {
  const changes = new Map<string, Promise<TreeChange[]>>();
  let lastDiff: { key: string; diff: Promise<string> } | null = null;
  let held = fresh;
  return {
    ...worktree,
    async snapshot() {
      held = null;
      const tree = await worktree.snapshot();
      if (!(await worktree.hasSubmodules())) held = tree;
      return tree;
    },
    async restore(tree) {
      const isHeld = held === tree;
      held = null;
      if (!isHeld || (await worktree.isReplaced())) await worktree.restore(tree);
    },
    changes(from, to) {
      const key = `${from} ${to}`;
      const found = changes.get(key) ?? worktree.changes(from, to);
      changes.set(key, found);
      return found;
    },
    // Diffs are long, so only the last one is kept.
    diff(from, to) {
      const key = `${from} ${to}`;
      if (lastDiff?.key !== key) lastDiff = { key, diff: worktree.diff(from, to) };
      return lastDiff.diff;
    },
  };
}
