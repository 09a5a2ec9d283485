import { createGit, type Git } from '../git.ts';
import type { WorktreePlace } from './place.ts';

export type GitSetting = readonly [name: string, value: string];

/** For checkouts and snapshots, which may be of anything. */
export const LONG_MS = 900_000;

/**
 * Nothing of the user's or of an agent's making is started by our own calls, and no daemon is left behind; the whole
 * commit is checked out even where the user's own checkout is sparse. Two processes write its files, which takes a
 * fifth off the time, also on two cores.
 */
const OUR_SETTINGS: readonly GitSetting[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.splitIndex', 'false'],
  ['core.sparseCheckout', 'false'],
  ['index.sparse', 'false'],
  ['checkout.workers', '2'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
];

/**
 * Git for one worktree. It is told where everything is and never looks for it: with its `.git` file gone, a git that
 * looks would find the user's repository above and act on that.
 */
export function worktreeGit(
  place: WorktreePlace,
  gitDir: string,
  env: Record<string, string>,
  settings: readonly GitSetting[],
  standingIn: string = place.commonDir,
): Git {
  const binding = { gitDir, workTree: place.directory, indexFile: place.indexFile };
  return createGit(standingIn, withSettings(env, [...OUR_SETTINGS, ...settings]), binding);
}

/** Git inside a submodule of a worktree; looked for there and nowhere above. */
export function submoduleGit(directory: string, env: Record<string, string>, settings: readonly GitSetting[]): Git {
  const alone = { ...env, GIT_CEILING_DIRECTORIES: directory.slice(0, directory.lastIndexOf('/')) };
  return createGit(directory, withSettings(alone, [...OUR_SETTINGS, ...settings]));
}

/** As with `-c`, and what git itself starts sees them too. */
function withSettings(env: Record<string, string>, settings: readonly GitSetting[]): Record<string, string> {
  const there = Number(env['GIT_CONFIG_COUNT'] ?? 0) || 0;
  const added = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${there + index}`, name],
    [`GIT_CONFIG_VALUE_${there + index}`, value],
  ]);
  return { ...env, ...Object.fromEntries(added), GIT_CONFIG_COUNT: String(there + settings.length) };
}
