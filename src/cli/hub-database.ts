import { usageError } from '../core/errors.ts';
import { type Database, openDatabase } from '../hub/database.ts';
import { requireSchema } from '../hub/migrations.ts';
import { type DatabaseFlags, databaseOf } from './place.ts';

export function requireDatabase(flags: DatabaseFlags): string {
  const url = databaseOf(flags);
  if (url !== null) return url;
  throw usageError('Which database?', 'Name it with --database postgres://…, or in AGENTOS_DATABASE_URL.');
}

/** For a command that does one thing with the database; `anyVersion`: of whatever schema. */
export async function withDatabase<T>(
  flags: DatabaseFlags,
  work: (database: Database) => Promise<T>,
  { anyVersion = false } = {},
): Promise<T> {
  const database = openDatabase(requireDatabase(flags), { application: 'agentos', connections: 2 });
  try {
    if (!anyVersion) await requireSchema(database);
    return await work(database);
  } finally {
    await database.close();
  }
}
