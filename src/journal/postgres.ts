import { AgentosError } from '../core/errors.ts';
import type { StepStore, StoredStep } from './port.ts';

/** The part of a database that a store needs. */
interface Sql {
  rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

interface JournalPlace {
  repository: string;
  /** `lld-42` */
  key: string;
  /** The claim that its owner holds; absent when it is opened from outside of its workflow. */
  claim?: { item: number; fence: number };
}

/** The steps of an item on PostgreSQL. With a claim, only the machine that holds it can open them, until it loses the claim. */
export function postgresSteps(sql: Sql, { repository, key, claim }: JournalPlace): StepStore {
  const location = `the journal of ${key}`;
  let owned: { journal: number; token: number } | null = null;
  const fenced = (): AgentosError => new AgentosError({ code: 'journal-fenced', file: location });
  const owner = (): { journal: number; token: number } => {
    if (owned === null) throw new TypeError('a journal is opened first');
    return owned;
  };
  return {
    location,
    async open() {
      const [row] = await sql.rows<{ id: number; token: number; isNew: boolean }>(
        // The lock lets a claim that is under way finish first.
        `WITH held AS (SELECT 1 FROM agentos.items WHERE id = $3 AND fence = $4 AND state = 'running' FOR SHARE)
          INSERT INTO agentos.journals AS j (repository, key, token) SELECT $1, $2, 1
            WHERE $3::bigint IS NULL OR EXISTS (SELECT 1 FROM held)
          ON CONFLICT (repository, key) DO UPDATE SET token = j.token + 1
          RETURNING id, token, xmax = 0 AS "isNew"`,
        [repository, key, claim?.item ?? null, claim?.fence ?? null],
      );
      if (row === undefined) throw fenced();
      owned = { journal: row.id, token: row.token };
      if (row.isNew) return [];
      return (
        await sql.rows<StepRow>(`SELECT ${STEP} FROM agentos.steps s WHERE s.journal = $1 ORDER BY s.number`, [row.id])
      ).map(stepOf);
    },
    async put(step) {
      const { journal, token } = owner();
      const written = await sql.rows(
        `WITH owner AS (SELECT id FROM agentos.journals WHERE id = $1 AND token = $2 FOR SHARE)
          INSERT INTO agentos.steps (${COLUMNS})
          SELECT owner.id, ${GIVEN_VALUES} FROM owner, ${given('$3')}
          ON CONFLICT (journal, id) DO UPDATE SET number = excluded.number, starts = excluded.starts,
            started_at = excluded.started_at, finished_at = excluded.finished_at,
            finish_order = excluded.finish_order, result = excluded.result
          RETURNING id`,
        [journal, token, asJson([step])],
      );
      if (written.length === 0) throw fenced();
    },
    async remove() {
      const { journal, token } = owner();
      const removed = await sql.rows('DELETE FROM agentos.journals WHERE id = $1 AND token = $2 RETURNING id', [
        journal,
        token,
      ]);
      if (removed.length > 0) return;
      // If it is gone, an earlier try of ours removed it and the answer was lost.
      const there = await sql.rows('SELECT id FROM agentos.journals WHERE id = $1', [journal]);
      if (there.length > 0) throw fenced();
    },
  };
}

/** The steps of journals by key, without becoming their owner. A journal without steps counts as missing. */
export async function readJournals(
  sql: Sql,
  repository: string,
  keys: readonly string[],
): Promise<Map<string, StoredStep[]>> {
  const rows = await sql.rows<StepRow & { key: string }>(
    `SELECT j.key, ${STEP} FROM agentos.journals j JOIN agentos.steps s ON s.journal = j.id
      WHERE j.repository = $1 AND j.key = ANY($2) ORDER BY s.number`,
    [repository, keys],
  );
  const journals = new Map<string, StoredStep[]>();
  for (const { key, ...row } of rows) journals.set(key, [...(journals.get(key) ?? []), stepOf(row)]);
  return journals;
}

/** Records that this state folder has complete copies. */
export async function noteCopy(sql: Sql, repository: string, keys: readonly string[], checkout: string): Promise<void> {
  await sql.rows('UPDATE agentos.journals SET checkout = $3 WHERE repository = $1 AND key = ANY($2)', [
    repository,
    keys,
    checkout,
  ]);
}

/**
 * Adds the journals of a state folder. A journal that was last copied to that folder is replaced by what the folder has now,
 * even if that is nothing. For a step that is in both, the later result counts.
 */
export async function addJournals(
  sql: Sql,
  { repository, checkout }: { repository: string; checkout: string },
  journals: readonly { key: string; steps: readonly StoredStep[] }[],
): Promise<void> {
  const keys = journals.map(({ key }) => key);
  await sql.rows('DELETE FROM agentos.journals WHERE repository = $1 AND checkout = $2 AND key = ANY($3)', [
    repository,
    checkout,
    keys,
  ]);
  await sql.rows('UPDATE agentos.journals SET checkout = NULL WHERE repository = $1 AND key = ANY($2)', [
    repository,
    keys,
  ]);
  const filled = journals.filter(({ steps }) => steps.length > 0);
  if (filled.length === 0) return;
  await sql.rows(
    'INSERT INTO agentos.journals (repository, key) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING',
    [repository, filled.map(({ key }) => key)],
  );
  for (const { key, steps } of filled) {
    await sql.rows(
      `INSERT INTO agentos.steps AS s (${COLUMNS})
        SELECT j.id, ${GIVEN_VALUES} FROM agentos.journals j, ${given('$3')}
          WHERE j.repository = $1 AND j.key = $2
        ON CONFLICT (journal, id) DO UPDATE SET finished_at = excluded.finished_at, finish_order = excluded.finish_order,
          result = excluded.result, starts = excluded.starts, number = excluded.number
          WHERE excluded.finished_at IS NOT NULL AND (s.finished_at IS NULL OR s.finished_at < excluded.finished_at)`,
      [repository, key, asJson(steps)],
    );
  }
}

const COLUMNS = 'journal, id, name, number, starts, started_at, finished_at, finish_order, result';

/** Steps as a parameter, and the values of their columns. */
const given = (parameter: string): string =>
  `json_to_recordset(${parameter}) AS g(id text, name text, number bigint, starts integer, "startedAt" text,
    "finishedAt" text, "order" bigint, result text)`;
const GIVEN_VALUES = 'g.id, g.name, g.number, g.starts, g."startedAt", g."finishedAt", g."order", g.result';

function asJson(steps: readonly StoredStep[]): string {
  return JSON.stringify(steps.map(({ end, ...step }) => ({ ...step, ...end })));
}

const STEP = `s.id, s.name, s.number, s.starts, s.started_at AS "startedAt", s.finished_at AS "finishedAt",
  s.finish_order AS "order", s.result`;

type End = NonNullable<StoredStep['end']>;
type StepRow = Omit<StoredStep, 'end'> & (End | Record<keyof End, null>);

function stepOf({ finishedAt, order, result, ...step }: StepRow): StoredStep {
  return { ...step, end: finishedAt === null ? null : { finishedAt, order, result } };
}
