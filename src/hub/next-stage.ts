import { type ItemEnd, itemOfKey, keyOf } from '../core/item.ts';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import type { Database } from './database.ts';
import type { StoredFiles } from './results.ts';
import { designIn } from './run-documents.ts';
import type { RunSettings } from './run-settings.ts';

/** An ended item that the scheduler has not handled yet. */
export interface EndedItem {
  id: number;
  key: string;
  repository: string;
  run: string;
  ending: ItemEnd;
  /** Documents that the item wrote, or null. */
  files: StoredFiles | null;
  /** The runs that contain the item. */
  runs: string[];
}

interface Following {
  item: EndedItem;
  run: string;
}

/** Adds the item's next stage to the run, unless another run added it already. */
export async function nextStage(database: Database, settings: RunSettings, { item, run }: Following): Promise<void> {
  const ended = itemOfKey(item.key);
  const at = settings.stages.findIndex(({ workflow }) => workflow === ended?.workflow);
  const next = settings.stages[at + 1];
  if (ended === null || next === undefined) return;
  const key = keyOf({ workflow: next.workflow, id: ended.id });
  const { files, after, hash } = factsOf(item);
  await database.rows(
    `WITH before AS (
        SELECT i.input, i.paid_usd, o.position FROM agentos.items i JOIN agentos.run_items o ON o.item = i.id
          WHERE i.id = $1 AND o.run = $3),
      there AS (SELECT id FROM agentos.items WHERE repository = $2 AND key = $4 AND state <> 'ended'),
      fresh AS (
        INSERT INTO agentos.items (repository, key, hash, run, state, stage, needs, after, exclusive, ahead, input, since)
          SELECT $2, $4, $5, $3, 'held', $6, $7, $8, $9, true, before.input, clock_timestamp() FROM before
            WHERE NOT EXISTS (SELECT 1 FROM there)
              -- The same end handled a second time, after the hub was killed in between.
              AND NOT EXISTS (SELECT 1 FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item
                WHERE o.run = $3 AND i.key = $4)
          RETURNING id)
      INSERT INTO agentos.run_items (run, item, position)
        SELECT $3, a.id, before.position FROM before, (SELECT id FROM fresh UNION ALL SELECT id FROM there) a
        ON CONFLICT DO NOTHING`,
    [item.id, item.repository, run, key, hash, at + 1, next.needs, after.map((id) => `${next.workflow}-${id}`), files],
  );
}

function factsOf({ key, files }: EndedItem): { files: string[]; after: string[]; hash: string } {
  const text = designIn(key, files ?? {}) ?? '';
  try {
    const facts = designFacts(text);
    return { files: [...facts.files], after: [...facts.after], hash: bodyHash(readFrontMatter(text).body) };
  } catch {
    // The next stage itself refuses an unreadable design.
    return { files: [], after: [], hash: '' };
  }
}
