import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImplementSettings } from '../core/config.ts';
import type { ItemEvent } from '../core/events.ts';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { copyIgnored } from '../git/copy-ignored.ts';
import type { Git } from '../git/git.ts';
import { branchNameOf } from '../git/worktree/branch.ts';
import { openWorktree, type Worktree } from '../git/worktree/worktree.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import { detectSetup, runSetup } from '../process/setup.ts';
import { traced } from '../telemetry/tracer.ts';
import type { PreparedWorktree } from '../workflow/implement.ts';

export interface WorkspaceOptions {
  git: Git;
  paths: Paths;
  id: ItemId;
  title: string;
  /** The commit that a new branch begins at. */
  start: string;
  /** For git itself. */
  env: Record<string, string>;
  /** For what runs in the worktree. */
  itemEnv: Record<string, string>;
  settings: ImplementSettings;
  signal: AbortSignal;
  emit: (event: ItemEvent) => void;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** The worktree of an item, set up once. */
export async function preparedWorktree(options: WorkspaceOptions): Promise<PreparedWorktree> {
  const { git, paths, id, title, start, env, settings, emit } = options;
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
  if (!isNew && (await readFile(marker, 'utf8').catch(() => null)) === wanted) return { worktree, isFresh: false };
  const { missing, refused } = await copyIgnored(paths.repository, worktree.directory, settings.copy);
  for (const { path, reason } of refused) emit({ type: 'notice', text: `${path} is not copied: ${reason}` });
  if (missing.length > 0)
    emit({ type: 'notice', text: `implement.copy names what is not there: ${missing.join(', ')}` });
  if (command !== null) await setUp(command, worktree, options);
  await worktree.ignoreMadeBySetup(isNew && command === null && settings.copy.length === 0);
  await writeFileAtomic(marker, wanted);
  return { worktree, isFresh: isAtStart && command === null };
}

async function setUp(command: string, worktree: Worktree, options: WorkspaceOptions): Promise<void> {
  const { itemEnv, settings, signal, emit, onLine, onProgress, onGroup } = options;
  const startedAt = performance.now();
  emit({ type: 'step-started', step: 'set-up', model: null });
  emit({ type: 'notice', text: `set-up: ${command}` });
  await traced('set-up', {}, () =>
    runSetup({
      command,
      directory: worktree.directory,
      env: itemEnv,
      timeoutMs: settings.setupTimeoutMs,
      signal,
      onLine,
      onProgress,
      onGroup,
    }),
  );
  const durationMs = performance.now() - startedAt;
  emit({ type: 'step-finished', step: 'set-up', replayed: false, costUsd: 0, durationMs });
}
