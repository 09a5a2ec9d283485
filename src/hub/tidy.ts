import { removeRefsBelow } from '../git/branches.ts';
import type { Database } from './database.ts';
import type { GitBackend } from './git-backend.ts';

/** How long results wait for their submitter. */
const KEEP = `interval '14 days'`;
/** How long collected results are kept for another submitter of the same items. */
const KEEP_RESULTS = `interval '1 hour'`;
const AT_ONCE = 500;

/** Removes files and refs of runs that were collected, and after two weeks their rows. */
export async function tidyHub(database: Database, git: GitBackend): Promise<void> {
  await forgetCollected(database, git);
  await database.rows(
    `DELETE FROM agentos.items i WHERE i.state = 'ended' AND i.is_handled AND i.since < clock_timestamp() - ${KEEP}
      AND NOT EXISTS (SELECT 1 FROM agentos.run_items o JOIN agentos.runs r ON r.id = o.run
        WHERE o.item = i.id AND r.submitted_at > clock_timestamp() - ${KEEP})`,
  );
  await database.rows(
    `DELETE FROM agentos.runs r WHERE r.submitted_at < clock_timestamp() - ${KEEP}
      AND NOT EXISTS (SELECT 1 FROM agentos.items i WHERE i.run = r.id)
      AND NOT EXISTS (SELECT 1 FROM agentos.run_items o WHERE o.run = r.id)`,
  );
  await database.rows(
    `DELETE FROM agentos.machines m WHERE m.revoked_at IS NULL AND m.seen_at < clock_timestamp() - ${KEEP}
      AND NOT EXISTS (SELECT 1 FROM agentos.items i WHERE i.machine = m.id)`,
  );
  await database.rows(`DELETE FROM agentos.pool_events WHERE at < clock_timestamp() - interval '1 day'`);
}

/** Removes the refs of collected runs, and the files of items that all their runs have collected. */
async function forgetCollected(database: Database, git: GitBackend): Promise<void> {
  await database.rows(
    `UPDATE agentos.items i SET result = NULL WHERE i.state = 'ended' AND i.is_handled AND i.result IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM agentos.run_items o JOIN agentos.runs r ON r.id = o.run
        WHERE o.item = i.id AND (r.collected_at IS NULL OR r.collected_at > clock_timestamp() - ${KEEP_RESULTS}))`,
  );
  const runs = await database.rows<{ id: string; repository: string }>(
    `SELECT id, repository FROM agentos.runs WHERE collected_at < clock_timestamp() - ${KEEP_RESULTS}
      AND documents IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM agentos.items i WHERE i.run = runs.id AND (i.state <> 'ended' OR NOT i.is_handled))
      LIMIT ${AT_ONCE}`,
  );
  for (const repository of new Set(runs.map((one) => one.repository))) {
    const prefixes = runs.filter((run) => run.repository === repository).map(({ id }) => `refs/agentos/runs/${id}/`);
    const store = await git.open(repository);
    await removeRefsBelow(store, ...prefixes);
    // Git packs in the background, and only when there is much to pack.
    await store.run(['-c', 'gc.auto=5000', 'gc', '--auto', '--quiet']);
  }
  await database.rows('UPDATE agentos.runs SET documents = NULL WHERE id = ANY($1)', [runs.map(({ id }) => id)]);
}
